"""Watching the steps that a policy writes: how many, how long, and how many are no steps at all.

A judge of steps is hacked through their form before it is hacked through their content: more steps where each one
pays, fewer where each one risks, the same step again, steps that say nothing. Each of these shows in counts first.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markscheme.verifiers.errors import DataError


class StepDriftWarning(UserWarning):
    """The policy's steps have changed in form; the message holds the figures and what to look at."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of one completion.

    Attributes:
        steps: how many it has.
        tokens: its length.
        guarded: how many of the steps were stopped by a guard.
        unscored: how many have no score.
    """

    steps: int
    tokens: int
    guarded: int = 0
    unscored: int = 0


class StepMonitor:
    """Keeps moving means of the steps' form, and warns once about each way in which they drift.

    The first ``warm_up`` completions set the baseline. After them the exponential moving means are compared with it.
    Safe to call from several threads; in a distributed run each process watches its own completions.

    Args:
        warm_up: completions that set the baseline.
        decay: of the moving means, for each completion.
        factor: warn when the mean number of steps, or of tokens, is this many times the baseline's, or one such part.
        guarded: warn when more than this share of steps are stopped by guards.

    Raises:
        DataError: a setting out of range.
    """

    def __init__(self, *, warm_up: int = 256, decay: float = 0.99, factor: float = 2.0, guarded: float = 0.2) -> None:
        if warm_up < 1 or not 0 < decay < 1 or factor <= 1 or not 0 < guarded <= 1:
            raise DataError(
                "expected warm_up >= 1, 0 < decay < 1, factor > 1 and 0 < guarded <= 1, got "
                f"{warm_up}, {decay}, {factor} and {guarded}"
            )
        self.warm_up = warm_up
        self.decay = decay
        self.factor = factor
        self.guarded = guarded
        self.seen = 0
        self.baseline: dict[str, float] = {}
        self.means: dict[str, float] = {}
        self._told: set[str] = set()
        self._lock = threading.Lock()

    def watch(self, shapes: Sequence[Shape], log: Callable[[str, float], object] | None = None) -> dict[str, float]:
        """Take a batch of completions in.

        Args:
            shapes: of the completions.
            log: called with the name and value of each figure, as TRL's ``log_metric``.

        Returns:
            The batch's figures: ``steps/count`` and ``steps/tokens`` (means a completion), ``steps/tokens_per_step``,
            ``steps/guarded`` and ``steps/unscored`` (shares of all steps).
        """
        if not shapes:
            return {}
        steps = sum(shape.steps for shape in shapes)
        figures = {
            "steps/count": steps / len(shapes),
            "steps/tokens": sum(shape.tokens for shape in shapes) / len(shapes),
            "steps/tokens_per_step": sum(shape.tokens for shape in shapes) / max(steps, 1),
            "steps/guarded": sum(shape.guarded for shape in shapes) / max(steps, 1),
            "steps/unscored": sum(shape.unscored for shape in shapes) / max(steps, 1),
        }
        for name, value in figures.items():
            if log is not None:
                log(name, value)
        with self._lock:
            found = self._drift(figures, len(shapes))
        for message in found:
            warnings.warn(message, StepDriftWarning, stacklevel=3)
        return figures

    def _drift(self, figures: dict[str, float], count: int) -> list[str]:
        watched = {name: figures[name] for name in ("steps/count", "steps/tokens", "steps/guarded")}
        if self.seen < self.warm_up:
            share = count / (self.seen + count)
            for name, value in watched.items():
                before = self.baseline.get(name, value)
                self.baseline[name] = before + share * (value - before)
            self.means = dict(self.baseline)
            self.seen += count
            return []
        self.seen += count
        kept = self.decay**count
        self.means = {name: kept * self.means[name] + (1 - kept) * value for name, value in watched.items()}
        return [message for kind, message in self._symptoms() if not self._known(kind)]

    def _symptoms(self) -> list[tuple[str, str]]:
        found = []
        for name, what, more, fewer in (
            (
                "steps/count",
                "steps",
                "a sum of step rewards pays for more steps (credit='min', 'delta' or 'clip' bound it)",
                "a minimum over steps pays for fewer (look at whether several steps are written as one)",
            ),
            (
                "steps/tokens",
                "tokens",
                "look at whether steps are repeated or padded",
                "look at whether reasoning is left out",
            ),
        ):
            now, before = self.means[name], self.baseline[name]
            if before and now >= self.factor * before:
                found.append((f"{name}+", f"{_change(what, before, now)}: {more}"))
            elif before and now <= before / self.factor:
                found.append((f"{name}-", f"{_change(what, before, now)}: {fewer}"))
        if self.means["steps/guarded"] > self.guarded:
            share = 100 * self.means["steps/guarded"]
            found.append(
                ("guarded", f"{share:.0f} % of the policy's steps are empty, repeated or very short: look at samples")
            )
        return found

    def _known(self, kind: str) -> bool:
        known = kind in self._told
        self._told.add(kind)
        return known


def _change(what: str, before: float, now: float) -> str:
    return f"completions had {before:.1f} {what} at first and have {now:.1f} now"
