"""What judges give, checked: a score a step, NaN or nothing where a step could not be scored."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markscheme.prm.schema import StepSample
from markscheme.verifiers.errors import DataError, StepDataError

Scores = Sequence[float]
"""The scores of one solution's steps, in [0, 1]; NaN, or missing from the end, where a step has none."""


def checked(samples: Sequence[StepSample], scores: Sequence[Scores]) -> None:
    """Raise where scores do not belong to the samples.

    Raises:
        DataError: their numbers differ.
        StepDataError: a solution has more scores than steps, or a score outside [0, 1]; it lists every one.
    """
    if len(samples) != len(scores):
        raise DataError(f"expected the scores of {len(samples)} solutions, got {len(scores)}")
    bad = []
    for row, (sample, found) in enumerate(zip(samples, scores, strict=True)):
        outside = [score for score in found if not (math.isnan(score) or 0 <= score <= 1)]
        if len(found) > len(sample.steps):
            bad.append((row, sample.id, f"the judge gave {len(found)} scores for {len(sample.steps)} steps"))
        elif outside:
            bad.append((row, sample.id, f"the judge gave the score {outside[0]}: expected a probability in [0, 1]"))
    if bad:
        raise StepDataError(bad, "scores", places={row: samples[row].place for row, _, _ in bad})


def padded(found: Scores, steps: int) -> list[float]:
    """Scores for all steps: NaN for those missing from the end."""
    return [*found, *[math.nan] * (steps - len(found))]


def first_below(found: Scores, steps: int, threshold: float) -> int | None:
    """Return the first step whose score is below the threshold, and -1 for none.

    Returns:
        None where that cannot be told: a step without a score comes before any that is below.
    """
    for i, score in enumerate(padded(found, steps)):
        if math.isnan(score):
            return None
        if score < threshold:
            return i
    return -1


def percent(hits: int, n: int) -> float | None:
    """A share in percent; None of nothing."""
    return 100 * hits / n if n else None


def harmonic(one: float | None, two: float | None) -> float | None:
    """The harmonic mean; None where either is, 0 where both are 0."""
    if one is None or two is None:
        return None
    return 2 * one * two / (one + two) if one + two else 0.0


def mean(values: Sequence[float | None]) -> float | None:
    """The unweighted mean of those that are there; None of nothing."""
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None
