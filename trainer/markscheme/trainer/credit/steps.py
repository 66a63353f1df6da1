"""Ragged lists of steps as padded tensors, checked."""

# Tensors are named with their shapes: P prompts (groups), G completions of one, B = P·G, K steps, T tokens, N = G·K.

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from markscheme.verifiers.errors import CreditError

StepRewards = Sequence[Sequence[float | None] | None]
StepEnds = Sequence[Sequence[int] | None]


@dataclass(frozen=True)
class StepTable:
    """The steps of B completions, padded to K ≥ 1 columns.

    Attributes:
        rewards_BK: float64; 0 where there is no score.
        scored_BK: the step is there and has a reward.
        ends_BK: 0-based index of the step's last token; the completions' common length where there is no step.
    """

    rewards_BK: Tensor
    scored_BK: Tensor
    ends_BK: Tensor

    def without_unscored(self, length: int) -> StepTable:
        """Only steps with a reward: the tokens of one without fall to the next that has one."""
        # A stable sort moves the scored steps to the front and keeps their order.
        width = max(1, int(self.scored_BK.sum(dim=1).max())) if self.scored_BK.numel() else 1
        order_BK = torch.argsort((~self.scored_BK).to(torch.int8), dim=1, stable=True)[:, :width]
        scored_BK = self.scored_BK.gather(1, order_BK)
        ends_BK = self.ends_BK.gather(1, order_BK).masked_fill(~scored_BK, length)
        return StepTable(self.rewards_BK.gather(1, order_BK), scored_BK, ends_BK)

    def to_tokens(self, values_BK: Tensor, length: int, *, device: torch.device | str | None = None) -> Tensor:
        """The value of the step in which each token lies, (B, length); 0 past the last step's end."""
        steps_BT = self.step_of_token(length, device=device)
        padded_BK = torch.nn.functional.pad(values_BK.to(device), (0, 1))
        return padded_BK.gather(1, steps_BT)

    def step_of_token(self, length: int, *, device: torch.device | str | None = None) -> Tensor:
        """Which step each token lies in: the first that ends at or after it. (B, length)."""
        ends_BK = self.ends_BK.to(device)
        tokens_BT = torch.arange(length, device=ends_BK.device).repeat(ends_BK.size(0), 1)
        return torch.searchsorted(ends_BK, tokens_BT)


def step_table(
    step_rewards: StepRewards, step_ends: StepEnds, length: int, *, lengths: Sequence[int] | None = None
) -> StepTable:
    """Check the steps of each completion and pad them.

    Args:
        step_rewards: per completion a list of rewards, None for a step without one; None for no steps.
        step_ends: per completion the 0-based index of each step's last token, strictly increasing.
        length: T, the tokens to which completions are padded.
        lengths: if given, each completion's own length, below which its ends must stay.

    Raises:
        CreditError: ragged lists, NaN or infinite rewards, ends out of range or out of order; names the row.
    """
    if len(step_rewards) != len(step_ends):
        raise CreditError(
            f"step_rewards has {len(step_rewards)} completions and step_ends {len(step_ends)}: give both for every one."
        )
    if lengths is not None and len(lengths) != len(step_ends):
        raise CreditError(f"lengths has {len(lengths)} completions and step_ends {len(step_ends)}.")
    width = max((len(row) for row in step_rewards if row is not None), default=0) or 1
    rewards, scored, ends = [], [], []
    for row, (row_rewards, row_ends) in enumerate(zip(step_rewards, step_ends, strict=True)):
        values = [_reward(reward, row, step) for step, reward in enumerate(() if row_rewards is None else row_rewards)]
        tokens = length if lengths is None else min(length, int(lengths[row]))
        places = _ends(() if row_ends is None else row_ends, row, tokens)
        if len(values) != len(places):
            raise CreditError(
                f"completion {row}: {len(values)} step rewards and {len(places)} step ends; "
                "give each step both, and None for a step without a reward."
            )
        missing = width - len(values)
        rewards.append([0.0 if value is None else value for value in values] + [0.0] * missing)
        scored.append([value is not None for value in values] + [False] * missing)
        ends.append(places + [length] * missing)
    shape = (len(rewards), width)
    return StepTable(
        torch.tensor(rewards, dtype=torch.float64).view(shape),
        torch.tensor(scored, dtype=torch.bool).view(shape),
        torch.tensor(ends, dtype=torch.long).view(shape),
    )


def _reward(reward: float | None, row: int, step: int) -> float | None:
    if reward is None:
        return None
    try:
        value = float(reward)
    except (TypeError, ValueError) as error:
        raise CreditError(f"completion {row}, step {step}: reward {reward!r} is no number.") from error
    if not math.isfinite(value):
        raise CreditError(f"completion {row}, step {step}: reward {value}; a step without a reward is None.")
    return value


def _ends(ends: Sequence[int], row: int, length: int) -> list[int]:
    places: list[int] = []
    for step, end in enumerate(ends):
        try:
            place = operator.index(end)
        except TypeError as error:
            raise CreditError(f"completion {row}, step {step}: end {end!r} is no token index.") from error
        if not 0 <= place < length:
            raise CreditError(
                f"completion {row}, step {step}: ends at token {place}, outside its {length} tokens; an end is the "
                "0-based index, counted in the completion, of the step's last token."
            )
        if places and place <= places[-1]:
            raise CreditError(
                f"completion {row}, step {step}: ends at token {place}, the step before it at {places[-1]}; "
                "ends must rise strictly."
            )
        places.append(place)
    return places
