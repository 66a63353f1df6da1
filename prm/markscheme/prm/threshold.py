"""Choosing the threshold τ below which a step counts as wrong, on a named set."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markscheme.prm.metrics.prmbench import UNMODIFIED
from markscheme.prm.metrics.processbench import first_errors
from markscheme.prm.metrics.scores import Scores, checked, harmonic, mean, padded, percent
from markscheme.prm.schema import StepSample, is_right
from markscheme.verifiers.errors import DataError

_BOTH = "solutions with and without an error are needed to choose a threshold on"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold and where it comes from.

    Attributes:
        value: a step counts as wrong when its score is below it.
        f1: ProcessBench's F1 at it, or PRMBench's PRMScore, in percent, on the set that chose it: an upper bound there.
        data: that set.
        n: solutions of it.
    """

    value: float
    f1: float
    data: str
    n: int


def choose_threshold(samples: Sequence[StepSample], scores: Sequence[Scores], data: str) -> Threshold:
    """Return the threshold with the highest ProcessBench F1 (the mean over subsets) on a set.

    A prediction changes only where the threshold passes a score that is smaller than all before it, so every different
    outcome is tried, in n log n. Of thresholds that do equally well the one in the widest gap between scores is taken,
    in its middle.

    Args:
        samples: solutions whose first error is known, with and without one.
        scores: a score a step of each.
        data: the set's name.

    Raises:
        DataError: no subset has solutions both with and without an error.
        StepDataError: labels do not tell the first error, or scores do not fit; it lists the rows.
    """
    golds = first_errors(samples)
    checked(samples, scores)
    counts = _Counts([sample.subset or sample.source for sample in samples], golds)
    starts: dict[float, list[int]] = {}
    ends: dict[float, list[int]] = {}
    for row, (sample, gold, found) in enumerate(zip(samples, golds, scores, strict=True)):
        low, high = hits(padded(found, len(sample.steps)), gold)
        if low < high:
            starts.setdefault(low, []).append(row)
            ends.setdefault(high, []).append(row)
    counts.add(starts.get(-math.inf, ()), 1)
    best, value, width, low = -1.0, 0.5, 0.0, 0.0
    for high in sorted({edge for edge in (*starts, *ends) if 0 <= edge <= 1} | {1.0}):
        f1 = counts.f1()  # of every threshold in (low, high]
        if f1 is None:
            raise DataError(f"{data}: {_BOTH}")
        if f1 > best + _SAME or (f1 > best - _SAME and high - low > width):
            middle = (low + high) / 2
            best, value, width = max(best, f1), middle if middle > low else high, high - low
        counts.add(starts.get(high, ()), 1)
        counts.add(ends.get(high, ()), -1)
        low = high
    return Threshold(value, best, data, len(samples))


def choose_step_threshold(samples: Sequence[StepSample], scores: Sequence[Scores], data: str) -> Threshold:
    """Return the threshold with the highest PRMScore over all steps of a set (`prm_bench`'s total).

    Arguments as `choose_threshold`; steps after an error count too, unlabelled ones do not.

    Raises:
        DataError: no step is labelled right, or none wrong.
        StepDataError: scores do not fit; it lists the rows.
    """
    checked(samples, scores)
    kept = [place for place, sample in enumerate(samples) if sample.kind != UNMODIFIED]
    pairs = [
        (score, is_right(value))
        for place in kept
        for value, score in zip(samples[place].targets, padded(scores[place], len(samples[place].steps)), strict=True)
        if value is not None
    ]
    right = sum(good for _, good in pairs)
    wrong = len(pairs) - right
    if not right or not wrong:
        raise DataError(f"{data}: right and wrong steps are needed to choose a threshold on")
    # Below every score nothing is flagged, but that a step without a score counts as judged wrongly.
    kept_right = sum(good and not math.isnan(score) for score, good in pairs)
    found_wrong, best, value, width, low = 0, -1.0, 0.5, 0.0, 0.0
    at: dict[float, list[bool]] = {}
    for score, good in pairs:
        if not math.isnan(score):
            at.setdefault(score, []).append(good)
    for high in sorted({*at, 1.0}):
        called_right = kept_right + wrong - found_wrong
        sound, flawed = _f1(kept_right, right, called_right), _f1(found_wrong, wrong, len(pairs) - called_right)
        prmscore = (sound + flawed) / 2  # of every threshold in (low, high]
        if prmscore > best + _SAME or (prmscore > best - _SAME and high - low > width):
            middle = (low + high) / 2
            best, value, width = max(best, prmscore), middle if middle > low else high, high - low
        flagged = at.get(high, [])
        kept_right -= sum(flagged)
        found_wrong += len(flagged) - sum(flagged)
        low = high
    return Threshold(value, best, data, len(kept))


def _f1(hits: int, gold: int, predicted: int) -> float:
    return 200 * hits / (gold + predicted)


def require_both_groups(samples: Sequence[StepSample], data: str) -> None:
    """Raise where no threshold could be chosen on a set, whatever the scores: before a judge has worked for it.

    Raises:
        DataError: no subset has solutions both with and without an error.
        StepDataError: labels do not tell the first error; it lists the rows.
    """
    groups = {
        (sample.subset or sample.source, gold == -1)
        for sample, gold in zip(samples, first_errors(samples), strict=True)
    }
    if not any((name, not right) in groups for name, right in groups):
        raise DataError(f"{data}: {_BOTH}")


def hits(found: Scores, gold: int) -> tuple[float, float]:
    """Return the thresholds at which a solution's prediction is right, as ``low < τ <= high``; none when low >= high.

    Args:
        found: a score a step, NaN where there is none.
        gold: the first wrong step, -1 for none.
    """
    before = found if gold == -1 else found[:gold]
    if any(map(math.isnan, before)):
        return math.inf, -math.inf
    low = -math.inf if gold == -1 else found[gold]
    return (math.inf if math.isnan(low) else low), min(before, default=math.inf)


_SAME = 1e-9
"""F1 this close, in percent, is the same F1."""


class _Counts:
    """How many predictions are right, subset by subset and group by group."""

    def __init__(self, names: Sequence[str], golds: Sequence[int]) -> None:
        self._groups = [(name, int(gold != -1)) for name, gold in zip(names, golds, strict=True)]
        self._sizes = Counter(self._groups)
        self._right: Counter[tuple[str, int]] = Counter()
        self._names = list(dict.fromkeys(names))

    def add(self, rows: Iterable[int], change: int) -> None:
        for row in rows:
            self._right[self._groups[row]] += change

    def f1(self) -> float | None:
        return mean([harmonic(self._share(name, 1), self._share(name, 0)) for name in self._names])

    def _share(self, name: str, error: int) -> float | None:
        return percent(self._right[name, error], self._sizes[name, error])
