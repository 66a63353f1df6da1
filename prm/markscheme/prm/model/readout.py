"""How the logit of each step is read from a model's output.

Every head ends in one number a step, z, the log-odds that the step is right, so that the losses, the scorer and the
metrics know nothing of heads. Shapes: B rows, T tokens, S steps of the row with the most, V entries of the vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional

from markscheme.prm.model.pooling import soft_min

if TYPE_CHECKING:
    from torch import Tensor

PAD = -1
"""What fills the place of a step that a row does not have."""


@dataclass(slots=True)
class StepBatch:
    """Encoded solutions as tensors.

    A row is one solution, or several where they are packed: then ``position_ids`` begin again at each, and
    ``attention_mask`` is None, from which transformers builds attention that stays within each.
    """

    input_ids: Tensor  # (B, T)
    attention_mask: Tensor | None  # (B, T), None where rows are packed
    position_ids: Tensor | None  # (B, T), None where rows are not packed
    step_positions: Tensor  # (B, S): the token at which a step is read; PAD where there is no step
    step_starts: Tensor  # (B, S): the step's first token
    step_stops: Tensor  # (B, S): one past the step's last token of text
    states: Tensor | None = None  # (B, T, H): hidden states of a frozen backbone, computed before

    def inputs(self) -> dict[str, Tensor]:
        """What a model's forward takes."""
        named = {"input_ids": self.input_ids, "attention_mask": self.attention_mask, "position_ids": self.position_ids}
        if self.states is not None:
            named["states"] = self.states
        return {name: value for name, value in named.items() if value is not None}

    def to(self, device: torch.device | str) -> StepBatch:
        """The batch on a device."""
        moved = {one.name: getattr(self, one.name) for one in fields(self)}
        held: dict[str, Any] = {name: value if value is None else value.to(device) for name, value in moved.items()}
        return StepBatch(**held)

    @property
    def known(self) -> Tensor:
        """Where there is a step. (B, S), bool."""
        return self.step_positions != PAD


class Readout(Protocol):
    """From a batch to step logits."""

    def __call__(self, model: nn.Module, batch: StepBatch) -> Tensor:
        """Run the model once and return z. (B, S), float32; 0 where there is no step."""
        ...

    def settings(self) -> dict[str, Any]:
        """What ``readout_from`` needs to make it again."""
        ...


@dataclass(frozen=True, slots=True)
class TokenReadout:
    """A token-classification head's logits at each step's position.

    One output is z itself; of two, z = l₁ - l₀ with class 1 the right step.
    """

    def __call__(self, model: nn.Module, batch: StepBatch) -> Tensor:
        """See `Readout`."""
        logits = _take(model(**batch.inputs(), use_cache=False).logits, batch.step_positions).float()  # (B, S, C)
        z = logits[..., 0] if logits.shape[-1] == 1 else logits[..., 1] - logits[..., 0]
        return z.masked_fill(~batch.known, 0.0)

    def settings(self) -> dict[str, Any]:
        """See `Readout`."""
        return {"kind": "token"}


@dataclass(frozen=True, slots=True)
class LMReadout:
    """Two tokens' logits of a language model: z = l(good) - l(bad).

    Args:
        good: the token that says right.
        bad: the token that says wrong.
        shift: added to a step's position. 0 reads at the step's tag (Math-Shepherd: the tag's own output tells); -1
            reads where the position's token is predicted (RLHFlow: the position holds "+").
    """

    good: int
    bad: int
    shift: int = 0

    def __call__(self, model: nn.Module, batch: StepBatch) -> Tensor:
        """See `Readout`. No more goes through the vocabulary than has to."""
        positions = torch.where(batch.known, batch.step_positions + self.shift, PAD)
        picked = self._two(model, batch, positions).float()
        return (picked[..., 0] - picked[..., 1]).masked_fill(~batch.known, 0.0)

    def _two(self, model: nn.Module, batch: StepBatch, positions: Tensor) -> Tensor:
        """The two tokens' logits at positions (B, S). (B, S, 2)."""
        pair = [self.good, self.bad]
        head = None if torch.is_grad_enabled() else plain_head(model)
        if head is not None:  # two columns of the vocabulary, at the steps alone
            hidden = _take(_unwrapped(model).base_model(**batch.inputs(), use_cache=False)[0], positions)
            return functional.linear(hidden, head.weight[pair], None if head.bias is None else head.bias[pair])
        if "logits_to_keep" not in inspect.signature(_unwrapped(model).forward).parameters:
            return _take(model(**batch.inputs(), use_cache=False).logits[..., pair], positions)
        columns = torch.unique(positions[batch.known])  # those that some row reads
        if not len(columns):
            columns = positions.new_zeros(1)
        logits = model(**batch.inputs(), use_cache=False, logits_to_keep=columns).logits  # (B, columns, V)
        places = torch.searchsorted(columns, positions.clamp_min(0)).clamp_max(len(columns) - 1)
        return _take(logits[..., pair], places)

    def settings(self) -> dict[str, Any]:
        """See `Readout`."""
        return {"kind": "lm", "good": self.good, "bad": self.bad, "shift": self.shift}


@dataclass(frozen=True, slots=True)
class SpanReadout:
    """The soft minimum of a token head's logits over each step's tokens: a step is as right as its worst token.

    Args:
        temperature: of the soft minimum, in logits.
    """

    temperature: float = 1.0

    def __call__(self, model: nn.Module, batch: StepBatch) -> Tensor:
        """See `Readout`."""
        logits = model(**batch.inputs()).logits[..., 0].float()  # (B, T)
        index = torch.arange(logits.shape[1], device=logits.device)
        inside = (index >= batch.step_starts[..., None]) & (index < batch.step_stops[..., None])  # (B, S, T)
        z = soft_min(logits[:, None, :].expand(inside.shape), inside, self.temperature)
        return z.masked_fill(~batch.known, 0.0)

    def settings(self) -> dict[str, Any]:
        """See `Readout`."""
        return {"kind": "span", "temperature": self.temperature}


def readout_from(settings: Mapping[str, Any]) -> Readout:
    """Make a read-out from its settings."""
    kinds: dict[str, type[TokenReadout] | type[LMReadout] | type[SpanReadout]] = {
        "token": TokenReadout,
        "lm": LMReadout,
        "span": SpanReadout,
    }
    rest = {name: value for name, value in settings.items() if name != "kind"}
    readout: Readout = kinds[settings["kind"]](**rest)
    return readout


def _take(values: Tensor, positions: Tensor) -> Tensor:
    """Values (B, T, C) at positions (B, S), as (B, S, C); at absent steps, whatever stands first."""
    index = positions.clamp_min(0)[..., None].expand(*positions.shape, values.shape[-1])
    return values.gather(1, index)


AFTER_THE_HEAD = ("final_logit_softcapping", "logit_scale", "logits_scaling")
"""Settings by which an architecture (Gemma, Cohere, Granite) changes logits behind its head."""


def plain_head(model: nn.Module) -> nn.Linear | None:
    """A language model's head, where it may be applied by itself; None where only the model's own forward will do.

    That is where the architecture changes logits behind it, an adapter sits in it, or the model is wrapped or spread
    over processes, so that its parts must not be called one by one.
    """
    if hasattr(model, "module") or (dist.is_available() and dist.is_initialized()):
        return None
    base = _unwrapped(model)
    head = base.get_output_embeddings()
    changed = any(getattr(base.config, name, None) is not None for name in AFTER_THE_HEAD)
    return head if type(head) is nn.Linear and not changed else None


def _unwrapped(model: nn.Module) -> Any:
    """The model below what wraps it."""
    base: Any = model
    while hasattr(base, "module"):
        base = base.module
    return base.get_base_model() if hasattr(base, "get_base_model") else base
