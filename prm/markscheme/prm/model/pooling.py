"""Soft minimum: one number for many, led by the smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def soft_min(values: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """Σ softmax(-v/τ)·v over the last dimension, as PURE weighs steps (2504.15275, equation 5).

    It lies between the minimum (τ → 0) and the mean (τ → ∞).

    Args:
        values: (…, N).
        mask: (…, N), bool: which count.
        temperature: τ > 0, in the values' unit.

    Returns:
        (…): 0 where nothing counts.
    """
    lowest = torch.finfo(values.dtype).min
    weights = torch.softmax((-values / temperature).masked_fill(~mask, lowest), dim=-1)
    return (weights * values).masked_fill(~mask, 0.0).sum(-1)
