"""First-error credit: an outcome advantage that spares what came before the first wrong step."""

# Tensors are named with their shapes: P prompts (groups), G completions of one, B = P·G, K steps, T tokens, N = G·K.

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from markscheme.trainer.credit.outcome import Rewards, outcome_advantages, reward_tensor, zero_variance_groups
from markscheme.trainer.credit.statistics import Std
from markscheme.trainer.credit.steps import StepEnds, StepRewards, StepTable, step_table
from markscheme.verifiers.errors import CreditError


def first_error_advantages(
    rewards: Rewards,
    step_rewards: StepRewards,
    step_ends: StepEnds,
    group_size: int,
    length: int,
    *,
    threshold: float = 0.5,
    outcome_threshold: float = 0.5,
    prefix_credit: float = 0.0,
    flawed_weight: float = 0.5,
    std: Std = "sample",
    eps: float = 1e-4,
    lengths: Sequence[int] | None = None,
) -> Tensor:
    """The outcome advantage of each token, told where the first wrong step is.

    After VPPO (arXiv 2601.18984), P-GRPO (2508.05170) and FAPO (2510.22543). With Â_i of ``outcome_advantages``, and a
    step wrong when its reward is below ``threshold``:

    - a wrong completion (reward below ``outcome_threshold``) with a wrong step: ``prefix_credit`` before that step,
      min(Â_i, 0) from its first token on, padding and a truncated tail included;
    - a right completion with a wrong step: ``flawed_weight`` · Â_i where Â_i > 0, else Â_i;
    - any other completion: Â_i, as outcome supervision. A step without a reward (None) is not wrong.

    A completion without a reward, and every completion of a group where max == min, gets exact 0.

    Args:
        rewards: (B,) outcome rewards, as ``outcome_advantages``.
        step_rewards: B lists, as ``process_advantages``.
        step_ends: B lists, as ``process_advantages``.
        group_size: G.
        length: T.
        threshold: steps below it are wrong.
        outcome_threshold: completions below it are wrong.
        prefix_credit: the advantage of the tokens before the first wrong step of a wrong completion.
        flawed_weight: scales the advantage of a right completion that holds a wrong step.
        std: as ``outcome_advantages``.
        eps: as ``outcome_advantages``.
        lengths: each completion's own length, to check that no step ends in its padding.

    Returns:
        (B, length) advantages, of the type and on the device of ``rewards``.

    Raises:
        CreditError: bad rewards, ends, sizes or options; names the row and the fix.
    """
    options = {"threshold": threshold, "outcome_threshold": outcome_threshold, "prefix_credit": prefix_credit}
    for name, value in {**options, "flawed_weight": flawed_weight}.items():
        if not math.isfinite(value):
            raise CreditError(f"{name}={value!r}: expected a finite number.")
    rewards_B = reward_tensor(rewards)
    if len(step_rewards) != rewards_B.numel():
        raise CreditError(f"{rewards_B.numel()} outcome rewards and step rewards of {len(step_rewards)} completions.")
    outcome_B = outcome_advantages(rewards_B, group_size, std=std, eps=eps)
    steps = step_table(step_rewards, step_ends, length, lengths=lengths)
    start_B = _first_error(steps, threshold, length).to(outcome_B.device)  # length where no step is wrong

    erring_B = start_B < length
    live_B = ~zero_variance_groups(rewards_B, group_size).repeat_interleave(group_size) & ~rewards_B.isnan()
    blamed_B = live_B & erring_B & (rewards_B < outcome_threshold)
    flawed_B = live_B & erring_B & (rewards_B >= outcome_threshold) & (outcome_B > 0)

    whole_B = torch.where(flawed_B, flawed_weight * outcome_B, outcome_B)
    whole_B = torch.where(blamed_B, whole_B.clamp(max=0.0), whole_B)
    tokens_T = torch.arange(length, device=outcome_B.device)
    spared_BT = blamed_B.unsqueeze(1) & (tokens_T < start_B.unsqueeze(1))
    return torch.where(spared_BT, prefix_credit, whole_B.unsqueeze(1))


def _first_error(steps: StepTable, threshold: float, length: int) -> Tensor:
    """(B,) the first token of each completion's first wrong step; ``length`` where none is wrong."""
    wrong_BK = steps.scored_BK & (steps.rewards_BK < threshold)
    starts_BK = torch.nn.functional.pad(steps.ends_BK[:, :-1] + 1, (1, 0))
    return starts_BK.masked_fill(~wrong_BK, length).amin(dim=1)
