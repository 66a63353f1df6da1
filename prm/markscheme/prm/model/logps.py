"""Log-probabilities of given tokens under a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from markscheme.prm.model.readout import AFTER_THE_HEAD

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def token_logps(model: PreTrainedModel, ids: torch.Tensor, mask: torch.Tensor, chunk: int = 1024) -> torch.Tensor:
    """Return log π of each token but the first, given those before it.

    Args:
        model: a causal language model.
        ids: (B, T).
        mask: of what is real (B, T).
        chunk: tokens whose vocabulary is looked at at once: bounds memory.

    Returns:
        (B, T-1), float32, on the device of ``ids``; meaningless where ``mask`` is 0.
    """
    held = {"input_ids": ids.to(model.device), "attention_mask": mask.to(model.device), "use_cache": False}
    chosen = ids[:, 1:].to(model.device)
    if any(getattr(model.config, name, None) is not None for name in AFTER_THE_HEAD):
        return _of(model(**held).logits[:, :-1], chosen).to(ids.device)
    hidden = model.base_model(**held)[0]
    head: Any = model.get_output_embeddings()
    pieces = [
        _of(head(hidden[:, start:stop]), chosen[:, start:stop])
        for start, stop in ((at, min(at + chunk, chosen.shape[1])) for at in range(0, chosen.shape[1], chunk))
    ]
    return torch.cat(pieces, dim=1).to(ids.device)


def _of(logits: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Log-probabilities (B, T) of chosen tokens (B, T) by logits (B, T, V)."""
    logits = logits.float()
    return logits.gather(-1, chosen[..., None])[..., 0] - logits.logsumexp(-1)
