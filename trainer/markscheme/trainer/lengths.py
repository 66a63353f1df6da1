"""Rows of like length together, so that one long completion does not pad all the others.

TRL pads every completion of a generation to the longest. Where rows do not depend on each other the same gradient comes
of narrower tensors: rows are sorted into the micro-batches of an optimiser step, and each micro-batch, as each chunk of
the log-probability passes, is cut to its own longest completion. Advantages are there by then: groups may be parted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from accelerate.logging import get_logger
from torch import Tensor

from markscheme.trainer import culling
from markscheme.verifiers.errors import TrainerConfigError

if TYPE_CHECKING:
    from markscheme.trainer.grpo import ProcessGRPOTrainer

logger = get_logger(__name__)

Passes = Callable[..., tuple[Tensor, Tensor | None, Tensor | None]]


def check(trainer: ProcessGRPOTrainer) -> None:
    """Say whether rows can change their micro-batch.

    Raises:
        TrainerConfigError: the model takes images, whose tensors are not one row a completion.
    """
    if trainer._is_vlm:
        raise TrainerConfigError(
            "batch_by_length=True does not know the images of a vision-language model: turn it off."
        )
    if reasons := _ties(trainer):
        logger.warning(
            f"batch_by_length=True leaves rows in TRL's micro-batches and only cuts their padding, because of "
            f"{' and '.join(reasons)}: there the gradient depends on which rows stand together."
        )


def arranged(trainer: ProcessGRPOTrainer) -> list[dict[str, Any]]:
    """The generation's micro-batches with rows sorted, the longest first, and each cut to its own longest.

    A row stays in its optimiser step: rows change places within blocks of as many micro-batches as divide both a
    generation and the accumulation, so that every block lies in one step. Each block's sum of losses is the same for
    losses that are a mean over rows, since micro-batches keep their size, and for those that are divided by a number
    that the batch carries. With ties between rows (see ``check``) nothing is moved.
    """
    batches = trainer._buffered_inputs or []
    sort = not _ties(trainer)
    size = math.gcd(len(batches), trainer.args.gradient_accumulation_steps) if sort else 1
    arranged = []
    for start in range(0, len(batches), size):
        block = _joined(batches[start : start + size])
        rows = torch.arange(len(block["completion_ids"]), device=block["completion_ids"].device)
        if sort:
            rows = block["completion_mask"].sum(1).argsort(descending=True, stable=True)
        for chunk in rows.chunk(size):
            kept = culling.keep(block, chunk, trainer.pad_to_multiple_of)
            # a view would keep the columns that were cut, in memory and in checkpoints
            arranged.append({k: v.clone() if isinstance(v, Tensor) else v for k, v in kept.items()})
    return arranged


def cut_passes(
    passes: Passes,
    multiple: int | None,
    model: Any,
    input_ids: Tensor,
    attention_mask: Tensor,
    logits_to_keep: int,
    batch_size: int,
    **more: Any,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Log-probabilities (B, T) without gradient, of as many chunks as TRL makes, each cut to its longest completion.

    Beyond its chunk's longest completion a row has 0, the log-probability that TRL gives to what is masked.
    """
    lengths = attention_mask[:, -logits_to_keep:].sum(1)
    out: Tensor | None = None
    for rows in torch.split(lengths.argsort(descending=True, stable=True), batch_size):
        width = max(1, int(lengths[rows].max()))
        width = min(logits_to_keep, -(-width // (multiple or 1)) * (multiple or 1))
        stop = input_ids.size(1) - logits_to_keep + width
        cut = input_ids[rows, :stop], attention_mask[rows, :stop], width
        logps, _, _ = passes(model, *cut, batch_size=batch_size, **more)
        out = logps.new_zeros(len(input_ids), logits_to_keep) if out is None else out
        out[rows, :width] = logps
    assert out is not None  # noqa: S101 - there is at least one row
    return out, None, None


def _ties(trainer: ProcessGRPOTrainer) -> list[str]:
    """What makes a row's gradient depend on the rows beside it."""
    known = culling.MEAN_OF_ROWS + culling.MEAN_OF_BATCH
    ties = {
        f"loss_type={trainer.loss_type!r} (divided by the tokens of a micro-batch)": trainer.loss_type not in known,
        f"top_entropy_quantile={trainer.top_entropy_quantile} (a threshold of the micro-batch)": (
            trainer.top_entropy_quantile < 1
        ),
        "an entropy bonus (a mean over the tokens of a micro-batch)": trainer.args.entropy_coef != 0
        or trainer.args.use_adaptive_entropy,
        "the router's auxiliary loss": trainer.aux_loss_enabled,
    }
    return [reason for reason, holds in ties.items() if holds]


def _joined(batches: list[dict[str, Any]]) -> dict[str, Any]:
    first = batches[0]
    return {
        key: torch.cat([batch[key] for batch in batches]) if isinstance(value, Tensor) and value.dim() else value
        for key, value in first.items()
    }
