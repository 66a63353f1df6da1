"""The alarm for rewards that come without verdicts."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from markscheme.verifiers.rewards.alarm import RewardAlarm
from markscheme.verifiers.rewards.causes import sample, shorten


class PlainAlarm:
    """Watches the rewards of a function that gives no verdicts: it warns when they never differ, or never come.

    Args:
        name: what is watched, for the message.
        window: rewards in a row that must be equal, or None, for a warning. Each of the two is told once, and again
            only after it has ended.

    Attributes:
        messages: every warning given so far.
    """

    def __init__(self, name: str, window: int = 256) -> None:
        if window < 2:
            raise ValueError(f"expected window >= 2, not {window}")
        self.name = name
        self.window = window
        self.messages: list[str] = []
        self._seen: deque[float] = deque(maxlen=window)
        self._silent = 0
        self._told: set[str] = set()

    def observe(self, rewards: Iterable[float | None], completions: Sequence[str]) -> str | None:
        """Add a batch. Return the message of the warning that it set off, or None.

        Args:
            rewards: any number; None and nan are no reward.
            completions: what they were given for; the last is the sample in the message.
        """
        for reward in rewards:
            if reward is None or math.isnan(reward):
                self._silent += 1
            else:
                self._silent = 0
                self._seen.append(float(reward))
        constant = len(self._seen) == self.window and len(set(self._seen)) == 1
        found: dict[str, str] = {}
        if self._silent >= self.window:
            found["silent"] = f"{self._silent} in a row are None: is the column there that it needs?"
        if constant:
            found["constant"] = f"the last {self.window} are all {self._seen[-1]:g}: nothing can be learnt from them"
        fresh = [figures for kind, figures in found.items() if kind not in self._told]
        self._told = set(found)
        if not fresh:
            return None
        shown = f"\n  sample completion: {sample(shorten(completions[-1]))}" if completions else ""
        message = f"{self.name} look broken: {'; '.join(fresh)}{shown}"
        self.messages.append(message)
        warnings.warn(message, RewardAlarm, stacklevel=3)
        return message

    def memory(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON values."""
        return {
            "seen": list(self._seen),
            "silent": self._silent,
            "told": sorted(self._told),
            "messages": list(self.messages),
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``."""
        self._seen = deque(memory["seen"], maxlen=self.window)
        self._silent, self._told = memory["silent"], set(memory["told"])
        self.messages = list(memory["messages"])


def numbers(rewards: Any) -> list[float | None] | None:
    """Rewards as numbers; None where they are none, which the trainer says with the row and the fix."""
    try:
        return [None if reward is None else float(reward) for reward in rewards]
    except (TypeError, ValueError):
        return None


def numbers_of_steps(steps: Any) -> list[float | None] | None:
    """The rewards of all completions' steps, None for a completion without any; as `numbers`."""
    try:
        return numbers([reward for one in steps for _, reward in one or [(0, None)]])
    except (TypeError, ValueError):
        return None
