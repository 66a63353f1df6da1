"""Groups, and their mean and standard deviation."""

# Tensors are named with their shapes: P prompts (groups), G completions of one, B = P·G, K steps, T tokens, N = G·K.

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from markscheme.verifiers.errors import CreditError

Std = Literal["sample", "population", "none"]
STDS = ("sample", "population", "none")


def check_statistics(std: str, eps: float) -> None:
    """Refuse an unknown divisor or a bad ε.

    Raises:
        CreditError: ``std`` is none of the three, or ``eps`` is negative or not finite.
    """
    if std not in STDS:
        raise CreditError(f'std={std!r}: expected "sample" (N-1, as TRL), "population" (N) or "none" (centre only).')
    if not 0 <= eps < float("inf"):
        raise CreditError(f"eps={eps!r}: expected a finite number of at least 0, as 1e-4.")


def group_count(completions: int, group_size: int) -> int:
    """Number of groups.

    Raises:
        CreditError: ``completions`` is no multiple of ``group_size``.
    """
    if isinstance(group_size, bool) or not isinstance(group_size, int) or group_size < 1:
        raise CreditError(f"group_size={group_size!r}: expected a whole number of at least 1 (num_generations).")
    if completions % group_size:
        raise CreditError(
            f"{completions} completions do not divide into groups of {group_size}: the last group, from row "
            f"{completions - completions % group_size}, has {completions % group_size}. Pass the completions of all "
            "ranks (gather first), group by group."
        )
    return completions // group_size


def equal_in_group(values_PN: Tensor, mask_PN: Tensor) -> Tensor:
    """Whether a group's values are all the same, max == min; true for none or one value. Shape (groups,)."""
    highest = values_PN.masked_fill(~mask_PN, float("-inf")).amax(dim=1)
    lowest = values_PN.masked_fill(~mask_PN, float("inf")).amin(dim=1)
    return highest <= lowest


def normalize_in_group(values_PN: Tensor, mask_PN: Tensor, std: Std, eps: float) -> Tensor:
    """(v - mean) / (std + ε) over the masked values of each row; exact 0 off the mask and where max == min.

    Args:
        values_PN: float64, one row a group.
        mask_PN: which values count.
        std: the divisor, N-1 for ``"sample"``, N for ``"population"``; ``"none"`` only centres.
        eps: added to the standard deviation.
    """
    if not values_PN.size(1):
        return values_PN
    live_PN = mask_PN & ~equal_in_group(values_PN, mask_PN).unsqueeze(1)
    count_P1 = mask_PN.sum(dim=1, keepdim=True).to(values_PN.dtype)
    mean_P1 = values_PN.masked_fill(~mask_PN, 0.0).sum(dim=1, keepdim=True) / count_P1.clamp(min=1)
    centred_PN = (values_PN - mean_P1).masked_fill(~live_PN, 0.0)
    if std == "none":
        return centred_PN
    divisor_P1 = (count_P1 - 1 if std == "sample" else count_P1).clamp(min=1)
    std_P1 = (centred_PN.square().sum(dim=1, keepdim=True) / divisor_P1).sqrt()
    return torch.where(live_PN, centred_PN / (std_P1 + eps), 0.0)
