"""When a reward has stopped rising, told apart from its noise.

A logged reward is a mean over a few dozen prompts, so that it moves by several percent from one step to the next
whatever the policy does, and "improved by less than 0.1 % over 5 steps" is soon true of a run that rises all the time.
`SlopeRule` asks what the observations can tell: it stops only when even the upper end of the slope's confidence
interval means less than 0.1 % in 5 steps. `LiteralRule` is the plain rule.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from markscheme.trainer.trend import Ema, fit

Finding = Literal["plateau", "falling"]

_FALL = 5.0  # standard errors below zero from which a slope counts as falling: it is asked at every step
_RATIO = math.sqrt(2.0)  # one window's length over that of the next shorter


class Rule(Protocol):
    """Says when observations have stopped rising."""

    def observe(self, value: float) -> Finding | None:
        """Take one observation in; return what is found, or None to go on."""
        ...

    def explain(self) -> str:
        """Return the figures of the last observation, in words."""
        ...

    def memory(self) -> dict[str, Any]:
        """Return what going on later needs, as JSON values."""
        ...

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``."""
        ...


@dataclass(frozen=True, slots=True)
class Trend:
    """The line that was judged by.

    Attributes:
        window: observations it is fitted to.
        level: their mean.
        slope: the change an observation.
        upper: the upper end of the slope's confidence interval.
        least: the slope that is asked for.
    """

    window: int
    level: float
    slope: float
    upper: float
    least: float


@dataclass(slots=True)
class SlopeRule:
    """Stops when the upper confidence bound of the slope is below the improvement that is asked for.

    After each observation a line is fitted to the last W ones, for every W = ``min_window``·√2^k up to ``max_window``.
    With b its slope, s the standard error (`trend.fit`), z the normal quantile of ``confidence``, and δ =
    ``min_improvement``·level/``patience``, the slope that brings ``min_improvement`` in ``patience`` observations:

    - the shortest window with z·s ≤ δ is judged by: its noise cannot hide a slope of 2δ. While there is none, nothing
      stops;
    - that window shows a *plateau* when b + z·s < δ;
    - any window of at least 2·``min_window`` shows *falling* when b + 5·s < 0.

    A finding stops when it holds at ``patience`` observations in a row, none of them among the first ``warmup``.

    Args:
        min_improvement: the relative improvement in ``patience`` observations below which a run counts as flat.
        patience: the observations that this is measured over, and for which a finding must hold.
        confidence: one-sided, in (0.5, 1).
        warmup: observations among which nothing stops.
        min_window: the shortest window.
        max_window: the longest; older observations are forgotten.
        scale: the level that the improvement is relative to. None: the window's mean. Give the rewards' range (1.0)
            where the mean may be near zero or negative.

    Raises:
        ValueError: an argument out of range.
    """

    min_improvement: float = 0.001
    patience: int = 5
    confidence: float = 0.99
    warmup: int = 50
    min_window: int = 20
    max_window: int = 640
    scale: float | None = None
    trend: Trend | None = field(default=None, init=False)
    _values: deque[float] = field(init=False, repr=False)
    _windows: NDArray[np.int64] = field(init=False, repr=False)
    _z: float = field(init=False, repr=False)
    _count: int = field(default=0, init=False)
    _held: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        _check(self.min_improvement, self.patience, self.warmup)
        if not 0.5 < self.confidence < 1.0:
            raise ValueError(f"expected 0.5 < confidence < 1, not {self.confidence}")
        if not 8 <= self.min_window <= self.max_window:
            raise ValueError(f"expected 8 <= min_window <= max_window, not {self.min_window} and {self.max_window}")
        if self.scale is not None and self.scale <= 0:
            raise ValueError(f"expected a scale above 0, such as the rewards' range, not {self.scale}")
        steps = int(math.log(self.max_window / self.min_window, _RATIO) + 1e-9) + 1
        self._windows = np.unique([round(self.min_window * _RATIO**k) for k in range(steps)])
        self._z = NormalDist().inv_cdf(self.confidence)
        self._values = deque(maxlen=self.max_window)

    def observe(self, value: float) -> Finding | None:
        """Take one observation in; return what has now held long enough, or None to go on."""
        self._values.append(value)
        self._count += 1
        found = self._judge()
        self._held = self._held + 1 if found is not None and self._count > self.warmup else 0
        return found if self._held >= self.patience else None

    def _judge(self) -> Finding | None:
        windows = self._windows[self._windows <= len(self._values)]
        if len(windows) == 0:
            return None
        lines = fit(np.fromiter(self._values, float), windows)
        levels = np.abs(lines.levels) if self.scale is None else np.full(len(windows), self.scale)
        least = self.min_improvement * levels / self.patience
        margin = self._z * lines.errors
        falling = np.flatnonzero((lines.slopes + _FALL * lines.errors < 0) & (windows >= 2 * self.min_window))
        resolved = np.flatnonzero(margin <= least)
        at = int([*falling[:1], *resolved[:1], len(windows) - 1][0])
        level, slope = float(lines.levels[at]), float(lines.slopes[at])
        self.trend = Trend(int(windows[at]), level, slope, slope + float(margin[at]), float(least[at]))
        if len(falling):
            return "falling"
        return "plateau" if len(resolved) and self.trend.upper < self.trend.least else None

    def explain(self) -> str:
        """Return the figures of the last observation, in words."""
        if self.trend is None:
            return f"{self._count} observations are too few for a window"
        t = self.trend
        return (
            f"over the last {t.window} observations (mean {t.level:.4g}) the slope is {t.slope:.2e} an observation, at "
            f"most {t.upper:.2e} at {self.confidence:.1%} confidence, where {self.min_improvement:.2%} in "
            f"{self.patience} observations is {t.least:.2e}"
        )

    def memory(self) -> dict[str, Any]:
        """Return what going on later needs, as JSON values."""
        return {"values": list(self._values), "count": self._count, "held": self._held}

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``."""
        self._values = deque(memory["values"], maxlen=self.max_window)
        self._count, self._held = memory["count"], memory["held"]


@dataclass(slots=True)
class LiteralRule:
    """Stops when the average has risen by less than ``min_improvement`` over the last ``patience`` observations.

    With e_t the average of `Ema` after t observations: at the first t > max(``warmup``, ``patience``) with e_t -
    e_{t-patience} < ``min_improvement``·|e_{t-patience}|. It takes no account of noise, which moves the average more
    than that: it soon stops a run that rises (docs/training.md has the figures). `SlopeRule` is what to use.

    Args:
        min_improvement: the relative improvement.
        patience: the observations it is measured over.
        warmup: observations among which nothing stops.
        alpha: the average's weight of the past.

    Raises:
        ValueError: an argument out of range.
    """

    min_improvement: float = 0.001
    patience: int = 5
    warmup: int = 0
    alpha: float = 0.9
    _ema: Ema = field(init=False)
    _averages: deque[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check(self.min_improvement, self.patience, self.warmup)
        self._ema = Ema(self.alpha)
        self._averages = deque(maxlen=self.patience + 1)

    def observe(self, value: float) -> Finding | None:
        """Take one observation in; return what is found, or None to go on."""
        self._averages.append(self._ema.add(value))
        if self._ema.count <= max(self.warmup, self.patience):
            return None
        before, now = self._averages[0], self._averages[-1]
        return "plateau" if now - before < self.min_improvement * abs(before) else None

    def explain(self) -> str:
        """Return the figures of the last observation, in words."""
        before, now = self._averages[0], self._averages[-1]
        return (
            f"the average went from {before:.4g} to {now:.4g} over the last {self.patience} observations, where "
            f"{self.min_improvement:.2%} is asked for (no account is taken of noise)"
        )

    def memory(self) -> dict[str, Any]:
        """Return what going on later needs, as JSON values."""
        return {"averages": list(self._averages), "moment": self._ema.moment, "count": self._ema.count}

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``."""
        self._averages = deque(memory["averages"], maxlen=self.patience + 1)
        self._ema = Ema(self.alpha, memory["moment"], memory["count"])


def _check(min_improvement: float, patience: int, warmup: int) -> None:
    if min_improvement <= 0:
        raise ValueError(f"expected min_improvement > 0, a fraction such as 0.001, not {min_improvement}")
    if patience < 1 or warmup < 0:
        raise ValueError(f"expected patience >= 1 and warmup >= 0, not {patience} and {warmup}")
