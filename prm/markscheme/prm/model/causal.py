"""The language model's own head as the judge: two tokens of its vocabulary say right and wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from transformers import AutoConfig, AutoModelForCausalLM

from markscheme.prm.model.token import refuse_encoders, refuse_missing
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def lm_model(folder: str | Path, *, dtype: torch.dtype | str = "auto", **kwargs: Any) -> PreTrainedModel:
    """Load a causal language model with its head.

    Raises:
        DataError: not a causal model, or weights are missing.
    """
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    refuse_encoders(config, folder)
    loader: Any = AutoModelForCausalLM
    model, info = loader.from_pretrained(folder, config=config, dtype=dtype, output_loading_info=True, **kwargs)
    refuse_missing(folder, info)
    return cast("PreTrainedModel", model)


def last_token(tokenizer: PreTrainedTokenizerBase, text: str) -> int:
    """The id of a text that is one token, with or without the space before it: the last of its encoding.

    Raises:
        DataError: it is more than one token.
    """
    ids = cast("list[int]", tokenizer.encode(text, add_special_tokens=False))
    if not ids or str(tokenizer.decode(ids[-1:])).strip() != text.strip():
        raise DataError(f"{text!r} is not one token of this tokenizer but {len(ids)}; choose another tag")
    return ids[-1]
