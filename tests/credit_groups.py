"""Hypothesis strategies: groups of completions with ragged steps."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

Draw = Callable[..., Any]

DEEP = os.environ.get("MARKSCHEME_HYPOTHESIS") == "deep"
law = settings(
    max_examples=1000 if DEEP else 60,
    derandomize=not DEEP,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@dataclass(frozen=True)
class Groups:
    """Completions in groups, with rewards of their steps and of their answers."""

    step_rewards: list[list[float | None]]
    step_ends: list[list[int]]
    rewards: list[float | None]
    size: int
    length: int

    @property
    def steps(self) -> tuple[list[list[float | None]], list[list[int]], int, int]:
        """The positional arguments of ``process_advantages``."""
        return self.step_rewards, self.step_ends, self.size, self.length

    def mapped(self, change: Callable[[float], float]) -> Groups:
        """With another reward for each step and each answer that has one."""
        steps = [[None if r is None else change(r) for r in row] for row in self.step_rewards]
        return replace(self, step_rewards=steps, rewards=[None if r is None else change(r) for r in self.rewards])

    def ordered(self, order: list[int]) -> Groups:
        """With the completions in another order."""
        return replace(
            self,
            step_rewards=[self.step_rewards[i] for i in order],
            step_ends=[self.step_ends[i] for i in order],
            rewards=[self.rewards[i] for i in order],
        )


# Steps of 1/64 keep sums exact enough that a shift or a scale by a power of two loses no bits.
SCORES = st.integers(-64, 64).map(lambda n: n / 64)
HUNDREDTHS = st.integers(0, 100).map(lambda n: n / 100)
RIGHT_OR_WRONG = st.sampled_from([0.0, 1.0])


def _with_none(scores: st.SearchStrategy[float]) -> st.SearchStrategy[float | None]:
    return st.one_of(scores, scores, scores, st.none())


@st.composite
def groups(draw: Draw, *, exact: bool = True, max_groups: int = 3, max_size: int = 4, max_steps: int = 5) -> Groups:
    """Up to three groups of up to four completions; steps ragged, absent or without a score.

    ``exact``: only rewards whose sums and shifts are exact in float64.
    """
    size, length = draw(st.integers(1, max_size)), draw(st.integers(max_steps, 12))
    scores = draw(st.sampled_from([SCORES, RIGHT_OR_WRONG] if exact else [SCORES, RIGHT_OR_WRONG, HUNDREDTHS]))
    rewards, steps, ends = [], [], []
    for _ in range(size * draw(st.integers(1, max_groups))):
        places = draw(st.lists(st.integers(0, length - 1), max_size=max_steps, unique=True))
        ends.append(sorted(places))
        steps.append([draw(_with_none(scores)) for _ in places])
        rewards.append(draw(_with_none(scores)))
    return Groups(steps, ends, rewards, size, length)


@st.composite
def orders_within_groups(draw: Draw, some: Groups) -> list[int]:
    """A permutation of the completions that keeps each in its group."""
    order: list[int] = []
    for first in range(0, len(some.rewards), some.size):
        order += draw(st.permutations(range(first, first + some.size)))
    return order
