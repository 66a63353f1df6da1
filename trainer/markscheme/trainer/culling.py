"""Rows without gradient left out of the forward and backward pass.

A completion whose advantages are all exactly 0 adds nothing to the gradient of a loss that is a weighted sum of
advantages (β = 0, no entropy bonus, no auxiliary loss): without it, and with the loss rescaled to the full batch's
normaliser, the gradient is the same.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from trl import GRPOTrainer

from markscheme.trainer.config import refuse_culling
from markscheme.verifiers.errors import TrainerConfigError

MEAN_OF_ROWS = ("grpo", "sapo", "dr_grpo", "luspo")
"""Losses divided by the number of rows."""
MEAN_OF_TOKENS = ("bnpo",)
"""Losses divided by the number of the rows' tokens."""
MEAN_OF_BATCH = ("dapo", "cispo", "vespo")
"""Losses divided by a number that the batch carries: they need no rescaling."""


def check_model(trainer: GRPOTrainer, *, inexact: bool) -> None:
    """See that nothing in the model ties rows to each other or gives a row without advantage a gradient.

    Raises:
        TrainerConfigError: dropout is on, an auxiliary loss is added, the loss is unknown, or the model takes images.
    """
    if trainer.loss_type not in MEAN_OF_ROWS + MEAN_OF_TOKENS + MEAN_OF_BATCH or trainer._is_vlm:
        what = "the images of a vision-language model" if trainer._is_vlm else f"loss_type={trainer.loss_type!r}"
        raise TrainerConfigError(f"cull_zero_variance=True does not know {what}: turn it off.")
    dropout = {
        f"{name or type(module).__name__}.{key}={value}"
        for name, module in trainer.model.named_modules()
        for key, value in vars(module).items()
        if isinstance(value, float) and value > 0 and ("drop" in key or (key == "p" and isinstance(module, nn.Dropout)))
    }
    reasons = [f"dropout ({sorted(dropout)[0]}; {_without(sorted(dropout)[0])})"] if dropout else []
    if trainer.aux_loss_enabled:
        reasons.append("the router's auxiliary loss (router_aux_loss_coef)")
    if reasons and not inexact:
        refuse_culling(reasons)


def _without(dropout: str) -> str:
    """How to turn a dropout off: TRL's setting reaches torch's modules, not numbers such as attention_dropout."""
    name = dropout.partition("=")[0].rpartition(".")[2]
    return "disable_dropout=True turns it off" if name == "p" else f"set {name}=0.0 in the model's configuration"


def rows_to_keep(inputs: dict[str, Any], trainer: GRPOTrainer) -> Tensor | None:
    """The rows of the batch that are trained on, in order; None for all of them.

    Every rank keeps as many as the rank with the most live rows, since TRL gathers one value a row: a rank with fewer
    fills up with its shortest dead rows. At least one is kept, so that every rank has a backward pass.
    """
    advantages, mask = inputs["advantages"], loss_mask(inputs)
    live = ((advantages.view(len(mask), -1) != 0) & mask.bool()).any(1)  # (B,)
    most = int(trainer.accelerator.gather(live.sum()).max())
    if (kept := max(1, most)) >= len(live):
        return None
    order = torch.where(live, -1, inputs["completion_mask"].sum(1)).argsort(stable=True)
    return order[:kept].sort().values


def keep(inputs: dict[str, Any], rows: Tensor, multiple: int | None) -> dict[str, Any]:
    """The batch of these rows, its completions cut to the longest of them (rounded up to ``multiple``).

    Prompts are padded on the left and stay as wide as they are: with absolute positions a cut would move them.
    """
    batch, length = inputs["completion_ids"].shape
    kept = {k: v[rows] if isinstance(v, Tensor) and v.dim() and len(v) == batch else v for k, v in inputs.items()}
    used = kept["completion_mask"].any(0).nonzero()
    width = int(used.max()) + 1 if len(used) else 1
    width = min(length, -(-width // (multiple or 1)) * (multiple or 1))
    return {
        k: v[:, :width] if isinstance(v, Tensor) and v.dim() == 2 and v.size(1) == length and "prompt" not in k else v
        for k, v in kept.items()
    }


def rescaling(loss_type: str, inputs: dict[str, Any], kept: dict[str, Any]) -> float | Tensor:
    """The factor from the kept rows' loss to the whole batch's."""
    if loss_type in MEAN_OF_ROWS:
        return len(kept["completion_ids"]) / len(inputs["completion_ids"])
    if loss_type in MEAN_OF_TOKENS:
        return loss_mask(kept).sum().clamp(min=1) / loss_mask(inputs).sum().clamp(min=1)
    return 1.0


def loss_mask(inputs: dict[str, Any]) -> Tensor:
    """1 on the tokens that the policy wrote and that are trained on: (B, T)."""
    mask: Tensor = inputs["completion_mask"]
    return mask * inputs["tool_mask"] if inputs.get("tool_mask") is not None else mask
