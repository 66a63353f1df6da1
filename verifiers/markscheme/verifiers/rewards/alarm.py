"""An alarm for rewards that look broken: they teach nothing, and training goes on as if all were well."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markscheme.verifiers.rewards.causes import (
    Seen,
    sample,
    shorten,
    why_broken,
    why_constant,
    why_undecided,
    why_unreadable,
)
from markscheme.verifiers.verdict import Outcome, Verdict

_SHARP = 4.0  # a rise is sharp when the rate is this many times the rate before the window …
_SHARP_RATE = 0.03  # … and at least this much higher


class RewardAlarm(UserWarning):
    """Rewards look broken. The message holds the figures, a sample and the likely cause."""


@dataclass(frozen=True, slots=True)
class _Symptom:
    """One thing that is wrong with the window: its kind, the figures, the rewards that show it, the likely cause."""

    kind: str
    figures: str
    shown_by: list[Seen]
    cause: Callable[[], str]


class BrokenVerifierAlarm:
    """Watches a sliding window of rewards and warns, once, when they look broken.

    It warns (``RewardAlarm``) when, over the window,

    - rewards are constant (among those that are not None);
    - most completions are UNREADABLE;
    - UNDECIDED or BROKEN verdicts are many, or their rate rises sharply over that of all rewards before.

    Each kind of symptom is told once, and again only after a whole window of new rewards without it. Safe to call
    from several threads. In a distributed run each process watches its own rewards.

    Args:
        window: rewards in the window.
        min_filled: rewards that must have been seen before anything is judged; the whole window by default.
        unreadable: rate of UNREADABLE, in [0, 1], from which it warns.
        unscored: rate of UNDECIDED, or of BROKEN, in [0, 1], from which it warns.
        reading: the reading contract in use, for the advice; None when there is none.
        thinking: whether the verifier was told that the prompt opens a ``<think>`` block, for the advice.
        name: what is watched, for the message.

    Attributes:
        messages: every warning given so far.

    Raises:
        ValueError: a window or a rate out of range.
    """

    def __init__(
        self,
        window: int = 256,
        *,
        min_filled: int | None = None,
        unreadable: float = 0.8,
        unscored: float = 0.1,
        reading: str | None = None,
        thinking: bool = False,
        name: str = "rewards",
    ) -> None:
        self.min_filled = window if min_filled is None else min_filled
        if not 2 <= self.min_filled <= window:
            raise ValueError(f"expected 2 <= min_filled <= window, not {self.min_filled} and {window}")
        if not (0 < unreadable <= 1 and 0 < unscored <= 1):
            raise ValueError(f"rates must lie in (0, 1], not unreadable={unreadable} and unscored={unscored}")
        self.window = window
        self.unreadable = unreadable
        self.unscored = unscored
        self.reading = reading
        self.thinking = thinking
        self.name = name
        self.messages: list[str] = []
        self._seen: deque[Seen] = deque(maxlen=window)
        self._total = 0  # rewards ever seen
        self._left = 0  # rewards that have left the window …
        self._left_unscored = 0  # … and how many of them were UNDECIDED or BROKEN
        self._told_at: dict[str, int] = {}  # kind → the total when it was last seen after having been told
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def observe(
        self,
        verdicts: Sequence[Verdict],
        completions: Sequence[str],
        golds: Sequence[str],
        rewards: Sequence[float | None] | None = None,
    ) -> str | None:
        """Add a batch. Return the message of the warning that it set off, or None.

        Args:
            verdicts: one a completion.
            completions: what was judged.
            golds: the gold text of each.
            rewards: one a completion, where they differ from the verdicts' scores.

        Raises:
            ValueError: the sequences differ in length.
        """
        scores = [verdict.score for verdict in verdicts] if rewards is None else rewards
        with self._lock:
            for verdict, reward, completion, gold in zip(verdicts, scores, completions, golds, strict=True):
                self._add(Seen(verdict, reward, shorten(completion), gold))
            message = self._judge()
            if message is not None:
                self.messages.append(message)
        if message is not None:
            warnings.warn(message, RewardAlarm, stacklevel=2)
        return message

    def memory(self) -> dict[str, Any]:
        """Return, as JSON values, what a resumed run needs: the counts, and what was told. The window is not kept."""
        with self._lock:
            return {
                "total": self._total,
                "left": self._left + len(self._seen),
                "left_unscored": self._left_unscored + sum(map(_unscored, self._seen)),
                "told_at": dict(self._told_at),
                "messages": list(self.messages),
            }

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``, with an empty window."""
        with self._lock:
            self._seen.clear()
            self._total, self._left = memory["total"], memory["left"]
            self._left_unscored = memory["left_unscored"]
            self._told_at, self.messages = dict(memory["told_at"]), list(memory["messages"])

    def _add(self, one: Seen) -> None:
        if len(self._seen) == self.window:
            self._left += 1
            self._left_unscored += _unscored(self._seen[0])
        self._seen.append(one)
        self._total += 1

    def _judge(self) -> str | None:
        if len(self._seen) < self.min_filled:
            return None
        symptoms = self._symptoms()
        kinds = {symptom.kind for symptom in symptoms}
        for kind, total in list(self._told_at.items()):
            if kind not in kinds and self._total - total >= self.window:
                del self._told_at[kind]
        fresh = [symptom for symptom in symptoms if symptom.kind not in self._told_at]
        # What was told stays told for as long as it lasts; a consequence of it needs no telling of its own.
        self._told_at.update(dict.fromkeys(kinds, self._total))
        return self._message(fresh[0], [symptom.figures for symptom in symptoms]) if fresh else None

    def _symptoms(self) -> list[_Symptom]:
        """Return what is wrong with the window, the gravest first."""
        window = list(self._seen)
        by_outcome = {outcome: [one for one in window if one.verdict.outcome is outcome] for outcome in Outcome}
        broken, undecided = by_outcome[Outcome.BROKEN], by_outcome[Outcome.UNDECIDED]
        unreadable = by_outcome[Outcome.UNREADABLE]
        size = len(window)
        found: list[_Symptom] = []
        if len(broken) >= self.unscored * size:
            found.append(_Symptom("broken", f"{len(broken)} BROKEN", broken, lambda: why_broken(broken)))
        if len(undecided) >= self.unscored * size:
            found.append(
                _Symptom("undecided", f"{len(undecided)} UNDECIDED", undecided, lambda: why_undecided(undecided))
            )
        if not found:
            found.extend(self._rise(broken, undecided, size))
        if len(unreadable) >= self.unreadable * size:
            found.append(
                _Symptom(
                    "unreadable",
                    f"{len(unreadable)} UNREADABLE",
                    unreadable,
                    lambda: why_unreadable(unreadable, self.reading, thinking=self.thinking),
                )
            )
        return found + self._constant(window)

    def _rise(self, broken: list[Seen], undecided: list[Seen], size: int) -> list[_Symptom]:
        """Return a sharp rise of the unscored rate over that of all rewards before the window, if there is one."""
        unscored = len(broken) + len(undecided)
        if self._left < self.window:
            return []
        before = self._left_unscored / self._left
        if unscored / size < max(_SHARP * before, before + _SHARP_RATE):
            return []
        figures = f"{unscored} UNDECIDED or BROKEN, a rate of {unscored / size:.1%} after {before:.1%} before"
        shown_by, cause = (broken, why_broken) if len(broken) > len(undecided) else (undecided, why_undecided)
        return [_Symptom("rise", figures, shown_by, lambda: cause(shown_by))]

    def _constant(self, window: list[Seen]) -> list[_Symptom]:
        scored = [one for one in window if one.reward is not None]
        if 2 * len(scored) < self.min_filled or len({one.reward for one in scored}) != 1:
            return []
        reward = scored[0].reward or 0.0
        return [
            _Symptom(
                "constant",
                f"all {len(scored)} rewards {reward:g}",
                scored,
                lambda: why_constant(reward, scored, self.reading, thinking=self.thinking),
            )
        ]

    def _message(self, symptom: _Symptom, figures: list[str]) -> str:
        one = symptom.shown_by[-1]
        return (
            f"{self.name} look broken: of the last {len(self._seen)} completions: {'; '.join(figures)}.\n"
            f"  likely cause: {symptom.cause()}\n"
            f"  sample completion: {sample(one.completion)}\n"
            f"  its gold: {sample(one.gold)}\n"
            f"  its verdict: {one.verdict.outcome} ({one.verdict.reason}): {sample(one.verdict.detail)}"
        )


def _unscored(one: Seen) -> bool:
    return one.verdict.outcome in (Outcome.UNDECIDED, Outcome.BROKEN)
