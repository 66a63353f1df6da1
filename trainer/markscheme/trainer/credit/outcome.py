"""Outcome supervision: one reward a completion."""

# Tensors are named with their shapes: P prompts (groups), G completions of one, B = P·G, K steps, T tokens, N = G·K.

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from markscheme.trainer.credit.statistics import Std, check_statistics, equal_in_group, group_count
from markscheme.verifiers.errors import CreditError

Rewards = Tensor | Sequence[float | None]


def outcome_advantages(rewards: Rewards, group_size: int, *, std: Std = "sample", eps: float = 1e-4) -> Tensor:
    """Â_i = (r_i - mean(r)) / (std(r) + ε) in each group (DeepSeekMath, arXiv 2402.03300, §4.1.2).

    With the defaults, and wherever a group's rewards differ, every bit is what TRL 1.16 computes for
    ``scale_rewards="group"``; with ``std="none"`` what it computes for ``"none"``. Where max == min the advantage is
    exact 0, where TRL's is the rounding error of the mean, magnified: up to 6e-4 for a constant reward of 0.7.

    Args:
        rewards: (B,) floats. No reward is None in a list and NaN in a tensor (TRL's form): it stays out of the
            statistics and gets 0. A list becomes float32, as in TRL; a tensor keeps its type, half precision apart, and
            the arithmetic is in that type: pass float64 where rewards differ little beside their size.
        group_size: G, completions of one prompt.
        std: ``"sample"`` divides by N-1 (TRL), ``"population"`` by N, ``"none"`` only centres (Dr. GRPO, 2503.20783).
        eps: added to the standard deviation.

    Returns:
        (B,) advantages.

    Raises:
        CreditError: an infinite reward, a NaN in a list, or B is no multiple of G.
    """
    check_statistics(std, eps)
    rewards_B = reward_tensor(rewards)
    groups = group_count(rewards_B.numel(), group_size)
    rewards_PG = rewards_B.view(groups, group_size)
    if not groups:
        return rewards_B
    # The order of operations is TRL's, so that no bit differs.
    mean_P1 = torch.nanmean(rewards_PG, dim=1, keepdim=True)
    advantages_PG = rewards_PG - mean_P1
    if std != "none":
        advantages_PG = advantages_PG / (_nanstd(rewards_PG, mean_P1, sample=std == "sample") + eps)
    dead_P1 = zero_variance_groups(rewards_B, group_size).unsqueeze(1)
    return torch.where(advantages_PG.isfinite() & ~dead_P1, advantages_PG, 0.0).reshape(-1)


def zero_variance_groups(rewards: Rewards, group_size: int) -> Tensor:
    """Which groups teach nothing: all their rewards are the same, max == min.

    Rewards that are missing (None, NaN) do not count; a group with one reward or none is such a group too. The test is
    on the rewards: the standard deviation of eight rewards of 0.7 is not 0 in float32.

    Returns:
        (groups,) booleans.

    Raises:
        CreditError: as ``outcome_advantages``.
    """
    rewards_B = reward_tensor(rewards)
    rewards_PG = rewards_B.view(group_count(rewards_B.numel(), group_size), group_size)
    return equal_in_group(rewards_PG, ~rewards_PG.isnan())


def reward_tensor(rewards: Rewards) -> Tensor:
    """One reward a completion as a float tensor (B,), NaN where there is none.

    Raises:
        CreditError: not one-dimensional, no numbers, infinite, or NaN in a list.
    """
    rewards_B = rewards if isinstance(rewards, Tensor) else _from_list(rewards)
    if rewards_B.dim() != 1:
        raise CreditError(f"rewards of shape {tuple(rewards_B.shape)}: expected one reward a completion, shape (B,).")
    if rewards_B.dtype not in (torch.float32, torch.float64):
        rewards_B = rewards_B.float()
    infinite = rewards_B.isinf()
    if infinite.any():
        row = int(infinite.nonzero()[0])
        raise CreditError(f"completion {row}: reward {float(rewards_B[row])}; expected a finite number, or none.")
    return rewards_B.detach()


def _from_list(rewards: Sequence[float | None]) -> Tensor:
    values = []
    for row, reward in enumerate(rewards):
        try:
            value = math.nan if reward is None else float(reward)
        except (TypeError, ValueError) as error:
            raise CreditError(f"completion {row}: reward {reward!r} is no number.") from error
        if reward is not None and math.isnan(value):
            raise CreditError(f"completion {row}: reward nan; a completion without a reward is None.")
        values.append(value)
    return torch.tensor(values, dtype=torch.float32)


def _nanstd(rewards_PG: Tensor, mean_P1: Tensor, *, sample: bool) -> Tensor:
    variance_P1 = torch.nanmean((rewards_PG - mean_P1) ** 2, dim=1, keepdim=True)
    if sample:
        count_P1 = (~rewards_PG.isnan()).sum(dim=1, keepdim=True).to(rewards_PG.dtype)
        variance_P1 = variance_P1 * (count_P1 / (count_P1 - 1))
    return torch.sqrt(variance_P1)
