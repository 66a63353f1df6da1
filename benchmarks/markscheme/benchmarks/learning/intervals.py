"""Intervals and tests for the mean over a few seeds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import NamedTuple

import torch


class Interval(NamedTuple):
    """A mean and the ends of its interval."""

    mean: float
    low: float
    high: float


def student_quantile(p: float, freedom: int) -> float:
    """Return the quantile of Student's t with ``freedom`` degrees of freedom, for 0.5 <= p < 1."""
    if not 0.5 <= p < 1 or freedom < 1:
        raise ValueError(f"expected 0.5 <= p < 1 and freedom >= 1, got p={p}, freedom={freedom}")
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(math.pi) / 2

    def below(angle: float, pieces: int = 400) -> float:
        # With t = sqrt(freedom) tan(angle) the density becomes cos(angle) ** (freedom - 1), on a short range.
        width = angle / pieces
        heights = [math.cos(width * at) ** (freedom - 1) for at in range(pieces + 1)]
        total = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
        return 0.5 + math.exp(log_scale) * total * width / 3

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < p else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def bootstrap(values: Sequence[float], *, level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> Interval:
    """Return the mean of independent values and its bootstrap interval.

    The percentile interval is too narrow for a handful of values; this is the *expanded* one (T. Hesterberg, "What
    teachers should know about the bootstrap", The American Statistician 69 (2015) 371-386, section 3.3): its tail is
    Φ(-√(n/(n-1)) t), with t Student's quantile, so that normal data get the width of Student's interval. For paired
    arms pass the differences.

    Raises:
        ValueError: fewer than two values.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"an interval needs at least 2 values, got {n}")
    tail = NormalDist().cdf(-math.sqrt(n / (n - 1)) * student_quantile((1 + level) / 2, n - 1))
    drawn = torch.randint(n, (resamples, n), generator=torch.Generator().manual_seed(seed))
    means = torch.tensor(values, dtype=torch.float64)[drawn].mean(dim=1)
    ends = torch.quantile(means, torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return Interval(fmean(values), ends[0], ends[1])


def sign_flip_p(differences: Sequence[float]) -> float:
    """Return the exact two-sided p-value of paired differences under random signs (Fisher's randomisation test).

    It enumerates the 2ⁿ ways to flip them; the smallest value that n pairs can give is 2 / 2ⁿ.

    Raises:
        ValueError: none, or more than 16 (65,536 ways).
    """
    if not 1 <= len(differences) <= 16:
        raise ValueError(f"expected 1 to 16 differences, got {len(differences)}")
    observed = abs(math.fsum(differences)) * (1 - 1e-12)
    ways = itertools.product((1, -1), repeat=len(differences))
    sums = [abs(math.fsum(s * d for s, d in zip(signs, differences, strict=True))) for signs in ways]
    return sum(total >= observed for total in sums) / len(sums)
