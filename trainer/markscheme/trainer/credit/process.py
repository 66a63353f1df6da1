"""Process supervision: a reward for each step."""

# Tensors are named with their shapes: P prompts (groups), G completions of one, B = P·G, K steps, T tokens, N = G·K.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from markscheme.trainer.credit.statistics import Std, check_statistics, equal_in_group, group_count, normalize_in_group
from markscheme.trainer.credit.steps import StepEnds, StepRewards, StepTable, step_table
from markscheme.verifiers.errors import CreditError

Credit = Literal["sum", "min", "delta", "clip"]
CREDITS = ("sum", "min", "delta", "clip")


def process_advantages(
    step_rewards: StepRewards,
    step_ends: StepEnds,
    group_size: int,
    length: int,
    *,
    credit: Credit = "sum",
    std: Std = "sample",
    eps: float = 1e-4,
    tau: float = 0.1,
    eta: float = 0.5,
    lengths: Sequence[int] | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    """Advantages of tokens from rewards of steps; a token has the value of the step in which it lies.

    - ``"sum"`` (DeepSeekMath, arXiv 2402.03300, §4.1.3): r̃ = (r - mean(R)) / (std(R) + ε) over all steps R of the
      group, Â_t = Σ r̃_j over the steps j that end at or after t. It pays for more steps: see ``step_count_baseline``.
    - ``"min"`` (PURE, 2504.15275): w = softmax(-r/τ) over a completion's steps, R_k = Σ_{j≥k} w_j r_j.
    - ``"delta"`` (2410.15115): the differences r_j - r_{j+1} telescope, so that R_k = r_k.
    - ``"clip"`` (2410.15115): R_k = Σ_{j≥k} (min(r_j, η) - η).

    The last three transform raw rewards into returns R_k, bounded or never above 0, and normalise the returns over the
    group's steps.

    A step whose reward is None is left out of statistics and sums: its tokens have the value of the next step that has
    a reward. Tokens past the last scored step, and completions without one, get 0. A group with at most one scored
    step, or whose rewards or returns are all the same, gets exact 0.

    Args:
        step_rewards: B lists of rewards; None for a step without one, or in place of a list for no steps.
        step_ends: B lists of the 0-based index, in the completion, of each step's last token.
        group_size: G, completions of one prompt, side by side.
        length: T, tokens to which completions are padded.
        credit: the form.
        std: ``"sample"`` (N-1), ``"population"`` (N) or ``"none"`` (centre only).
        eps: added to the standard deviation.
        tau: τ of ``"min"``, in units of reward.
        eta: η of ``"clip"``, in units of reward.
        lengths: each completion's own length, to check that no step ends in its padding.
        dtype: of the result; sums and statistics are float64.
        device: of the result.

    Returns:
        (B, length) advantages.

    Raises:
        CreditError: bad rewards, ends, sizes or options; names the row and the fix.
    """
    check_statistics(std, eps)
    _check_form(credit, tau, eta)
    groups = group_count(len(step_rewards), group_size)
    steps = step_table(step_rewards, step_ends, length, lengths=lengths).without_unscored(length)
    shape = (groups, group_size * steps.rewards_BK.size(1))
    rewards_PN, scored_PN = steps.rewards_BK.view(shape), steps.scored_BK.view(shape)
    if credit == "sum":
        normalized_PN = normalize_in_group(rewards_PN, scored_PN, std, eps)
        values_BK = sum_to_go(normalized_PN.view_as(steps.rewards_BK))
    else:
        returns_BK = _returns(steps, credit, tau, eta)
        values_PN = normalize_in_group(returns_BK.view(shape), scored_PN, std, eps)
        # Equal rewards say nothing of any step, though the returns of "min" and "clip" still fall from step to step.
        dead_P1 = equal_in_group(rewards_PN, scored_PN).unsqueeze(1)
        values_BK = values_PN.masked_fill(dead_P1, 0.0).view_as(steps.rewards_BK)
    return steps.to_tokens(values_BK.to(dtype), length, device=device)


def step_count_baseline(process: Tensor, step_rewards: StepRewards, step_ends: StepEnds) -> Tensor:
    """What ``credit="sum"`` pays for the number of steps alone; subtract it.

    With n_t scored steps that end at or after token t and m_t their mean normalised reward, Â_t = n_t m_t. The baseline
    is b_t = (n_t - 1) m_t, the pay of every such step but one at their common rate: Â_t - b_t = m_t, whatever their
    number. No baseline that completions share at a step index, at a token position or by leave-one-out does this, since
    it leaves the difference of two completions as it was; ``docs/credit.md`` has the derivation. As it depends on the
    completion's own steps it changes the objective, from the total to the mean of the step rewards, and is meant to.

    Args:
        process: (B, T) advantages of ``process_advantages(…, credit="sum")``.
        step_rewards: as given there.
        step_ends: as given there.

    Returns:
        (B, T) to subtract from ``process``.

    Raises:
        CreditError: shapes that do not fit, bad rewards or ends.
    """
    if process.dim() != 2 or process.size(0) != len(step_rewards):
        raise CreditError(f"process of shape {tuple(process.shape)}: expected ({len(step_rewards)}, T), a row a list.")
    length = process.size(1)
    steps = step_table(step_rewards, step_ends, length).without_unscored(length)
    left_BK = sum_to_go(steps.scored_BK.to(torch.float64))
    left_BT = steps.to_tokens(left_BK.to(process.dtype), length, device=process.device)
    return process - process / left_BT.clamp(min=1)


def sum_to_go(values_BK: Tensor) -> Tensor:
    """Σ_{j≥k} v_j in each row."""
    return values_BK.flip(1).cumsum(1).flip(1)


def _check_form(credit: str, tau: float, eta: float) -> None:
    if credit not in CREDITS:
        known = ", ".join(f'"{name}"' for name in CREDITS)
        raise CreditError(
            f"credit={credit!r}: expected one of {known}; first-error credit is first_error_advantages()."
        )
    if not 0 < tau < math.inf:
        raise CreditError(f"tau={tau!r}: expected a finite temperature above 0, as PURE's 0.1.")
    if not math.isfinite(eta):
        raise CreditError(f"eta={eta!r}: expected a finite reward, as 0.5.")


def _returns(steps: StepTable, credit: Credit, tau: float, eta: float) -> Tensor:
    if credit == "delta":
        return steps.rewards_BK
    if credit == "clip":
        return sum_to_go((steps.rewards_BK.clamp(max=eta) - eta).masked_fill(~steps.scored_BK, 0.0))
    logits_BK = (-steps.rewards_BK / tau).masked_fill(~steps.scored_BK, -math.inf)
    weights_BK = logits_BK.softmax(dim=1).masked_fill(~steps.scored_BK, 0.0)  # a row without steps is NaN before
    return sum_to_go(weights_BK * steps.rewards_BK)
