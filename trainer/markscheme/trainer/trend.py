"""The average and the line that a run's rewards are read by."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MOST_CORRELATED = 0.95  # the correction of the standard error has no bound as this goes to 1


@dataclass(slots=True)
class Ema:
    """An exponential moving average without the bias towards zero of its first steps.

    m_t = α·m_{t-1} + (1 - α)·x_t with m_0 = 0, and the value is m_t / (1 - α^t): the mean of x_1 … x_t with weights
    α^{t-i}, so that the first value is x_1 itself (the correction that Adam makes, arXiv 1412.6980 §3).

    Attributes:
        alpha: the weight of the past, in [0, 1).
        moment: m_t.
        count: t.

    Raises:
        ValueError: ``alpha`` is out of range.
    """

    alpha: float = 0.9
    moment: float = 0.0
    count: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha < 1.0:
            raise ValueError(f"expected 0 <= alpha < 1, the weight of the past, not {self.alpha}")

    def add(self, value: float) -> float:
        """Take one observation in; return the average."""
        self.moment = self.alpha * self.moment + (1.0 - self.alpha) * value
        self.count += 1
        return self.value

    @property
    def value(self) -> float:
        """The average; nan before the first observation."""
        return self.moment / (1.0 - self.alpha**self.count) if self.count else math.nan


@dataclass(frozen=True, slots=True)
class Lines:
    """Least-squares lines over the last observations, one an entry of ``windows``.

    Attributes:
        windows: how many observations each is fitted to. (K,)
        levels: the observations' means. (K,)
        slopes: the change an observation. (K,)
        errors: the slopes' standard errors. (K,)
    """

    windows: NDArray[np.int64]
    levels: Floats
    slopes: Floats
    errors: Floats


def fit(values: Floats, windows: NDArray[np.int64]) -> Lines:
    """Fit a line to the last W values, for each W in ``windows``, in time linear in ``len(values)``.

    Rewards of consecutive steps are correlated (the policy wanders, prompts come in an order), which makes the usual
    standard error too small. It is multiplied by √((1 + ρ)/(1 - ρ)), ρ the residuals' correlation at lag one, corrected
    for its bias of -(2 + 4ρ)/W under a fitted line and held in [0, 0.95].

    Args:
        values: the observations, the oldest first; at least ``max(windows)``.
        windows: lengths, each at least 3.
    """
    back = values[::-1] - values.mean()  # the newest first: a window is a prefix, and its sums are prefix sums
    place = np.arange(len(back), dtype=float)
    last = windows - 1
    size = windows.astype(float)
    total, tilted = np.cumsum(back)[last], np.cumsum(place * back)[last]
    squares = np.cumsum(back * back)[last]
    spread = size * (size * size - 1.0) / 12.0
    mean = total / size
    slope = (tilted - (size - 1.0) / 2.0 * total) / spread  # towards the past
    residual = np.maximum(squares - size * mean * mean - slope * slope * spread, 0.0)
    variance = residual / (size - 2.0) / spread
    rho = _correlation(back, windows, mean - slope * (size - 1.0) / 2.0, slope, (total, tilted, residual))
    inflated = np.sqrt(variance * (1.0 + rho) / (1.0 - rho))
    return Lines(windows, mean + values.mean(), -slope, inflated)


def _correlation(
    back: Floats, windows: NDArray[np.int64], start: Floats, slope: Floats, sums: tuple[Floats, Floats, Floats]
) -> Floats:
    """Return the residuals' correlation at lag one about the lines ``start + slope·i``, corrected for its bias."""
    total, tilted, residual = sums
    size = windows.astype(float)
    first, final = back[0], back[windows - 1]
    pairs = np.cumsum(back[:-1] * back[1:])[windows - 2]
    line_then_value = (start - slope) * (total - first) + slope * tilted
    value_then_line = (start + slope) * (total - final) + slope * (tilted - (size - 1.0) * final)
    ones, twos = (size - 2.0) * (size - 1.0) / 2.0, (size - 2.0) * (size - 1.0) * (2.0 * size - 3.0) / 6.0
    lines = (size - 1.0) * start * (start + slope) + slope * (2.0 * start + slope) * ones + slope * slope * twos
    lagged = pairs - line_then_value - value_then_line + lines
    rho = np.divide(lagged, residual, out=np.zeros_like(lagged), where=residual > 0)
    corrected: Floats = np.clip(rho + (2.0 + 4.0 * rho) / size, 0.0, _MOST_CORRELATED)
    return corrected
