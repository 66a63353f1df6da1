"""One score for a solution from the scores of its steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from markscheme.verifiers.errors import DataError

Aggregation = Literal["last", "min", "product", "mean", "softmin"]


def aggregate(scores: Sequence[float], how: Aggregation = "min", temperature: float = 0.1) -> float:
    """Aggregate the scores of one solution's steps.

    Args:
        scores: one a step.
        how: ``last``, ``min``, ``product``, ``mean``, or ``softmin``: Σ softmax(-s/τ)·s (PURE, 2504.15275).
        temperature: τ of softmin.

    Returns:
        The score; NaN where some step has none (the solution was cut off), since what is missing may be the worst.

    Raises:
        DataError: no steps, or an unknown aggregation.
    """
    if not scores:
        raise DataError("a solution without steps has no score")
    if any(math.isnan(score) for score in scores):
        return math.nan
    if how == "last":
        return scores[-1]
    if how == "min":
        return min(scores)
    if how == "product":
        return math.prod(scores)
    if how == "mean":
        return math.fsum(scores) / len(scores)
    if how == "softmin":
        lowest = min(scores)
        weights = [math.exp((lowest - score) / temperature) for score in scores]
        total = math.fsum(weights)
        return math.fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / total
    raise DataError(f"aggregation: expected one of {', '.join(get_args(Aggregation))}, got {how!r}")
