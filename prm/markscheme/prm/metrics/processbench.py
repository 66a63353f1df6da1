"""ProcessBench (2412.06559): does a judge find the first wrong step, and leave right solutions alone?

A judge's prediction is the first step whose score is below the threshold, or -1 when none is. ``acc_error`` is the
share of solutions with an error for which that is the very step, ``acc_correct`` the share of solutions without one for
which it is -1, F1 their harmonic mean. A solution that was cut off before anything was flagged has no prediction: a
miss in either group. The headline is the unweighted mean over subsets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from markscheme.prm.metrics.scores import Scores, checked, first_below, harmonic, mean, percent
from markscheme.prm.schema import StepSample
from markscheme.verifiers.errors import StepDataError

DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class SubsetResult:
    """One subset's figures, in percent; None of an empty group.

    Attributes:
        name: of the subset.
        n: solutions.
        n_error: of these, those with a wrong step.
        n_correct: of these, those without one.
        acc_error: first wrong step found, of those with one.
        acc_correct: left alone, of those without one.
        f1: the harmonic mean of the two; 0 when both are 0.
        truncated: solutions without a prediction, because they were cut off before anything was flagged.
    """

    name: str
    n: int
    n_error: int
    n_correct: int
    acc_error: float | None
    acc_correct: float | None
    f1: float | None
    truncated: int


@dataclass(frozen=True, slots=True)
class FlawedSlice:
    """Solutions that reach the right answer by a wrong step: what an outcome reward cannot see.

    Attributes:
        n: such solutions, among those whose final answer is known.
        acc_error: the first wrong step found, in percent.
        flagged: some step flagged, in percent.
    """

    n: int
    acc_error: float | None
    flagged: float | None


@dataclass(frozen=True, slots=True)
class ProcessBenchResult:
    """The figures of one judge. ``acc_error``, ``acc_correct`` and ``f1`` are unweighted means over the subsets.

    Attributes:
        subsets: in order of first appearance.
        threshold: the score below which a step counts as wrong.
        threshold_from: what chose it: "default", "given", "checkpoint", or the name of the data.
        flawed: the right-answer, wrong-process slice.
        last_smallest: percent of solutions whose smallest score is on the last step; see `last_smallest`.
    """

    subsets: tuple[SubsetResult, ...]
    threshold: float
    threshold_from: str
    flawed: FlawedSlice
    last_smallest: float | None

    @property
    def n(self) -> int:
        """Solutions in all subsets."""
        return sum(subset.n for subset in self.subsets)

    @property
    def truncated(self) -> int:
        """Solutions without a prediction, in all subsets."""
        return sum(subset.truncated for subset in self.subsets)

    @property
    def acc_error(self) -> float | None:
        """In percent."""
        return mean([subset.acc_error for subset in self.subsets])

    @property
    def acc_correct(self) -> float | None:
        """In percent."""
        return mean([subset.acc_correct for subset in self.subsets])

    @property
    def f1(self) -> float | None:
        """The headline, in percent. A subset that lacks a group has no F1 and is left out of the mean."""
        return mean([subset.f1 for subset in self.subsets])

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return {
            "n": self.n,
            "acc_error": self.acc_error,
            "acc_correct": self.acc_correct,
            "f1": self.f1,
            "threshold": self.threshold,
            "threshold_from": self.threshold_from,
            "truncated": self.truncated,
            "subsets": [asdict(subset) for subset in self.subsets],
            "flawed": asdict(self.flawed),
            "last_smallest": self.last_smallest,
        }


def process_bench(
    samples: Sequence[StepSample],
    scores: Sequence[Scores],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    threshold_from: str = "default",
) -> ProcessBenchResult:
    """Compute ProcessBench's figures of a judge.

    Args:
        samples: solutions whose first error is known; samples without a subset form one of their own.
        scores: of each solution, a score a step.
        threshold: the score below which a step counts as wrong.
        threshold_from: what chose it, as the result says it.

    Raises:
        StepDataError: a sample's labels do not tell its first error, or a judge's scores do not fit; it lists them.
        DataError: the numbers of samples and of scores differ.
    """
    golds = first_errors(samples)
    checked(samples, scores)
    predictions = [
        first_below(found, len(sample.steps), threshold) for sample, found in zip(samples, scores, strict=True)
    ]
    names = list(dict.fromkeys(sample.subset or sample.source for sample in samples))
    rows = list(zip(samples, golds, predictions, strict=True))
    subsets = [
        _subset(name, [(gold, said) for sample, gold, said in rows if (sample.subset or sample.source) == name])
        for name in names
    ]
    flawed = [(gold, said) for sample, gold, said in rows if sample.final_answer_correct and gold != -1]
    return ProcessBenchResult(
        tuple(subsets),
        threshold,
        threshold_from,
        FlawedSlice(
            len(flawed),
            percent(sum(gold == said for gold, said in flawed), len(flawed)),
            percent(sum(said is not None and said >= 0 for _, said in flawed), len(flawed)),
        ),
        last_smallest(samples, scores),
    )


def first_errors(samples: Sequence[StepSample]) -> list[int]:
    """Return each sample's first wrong step, -1 for none.

    Raises:
        StepDataError: labels do not tell; it lists every such row.
    """
    found = [sample.first_error for sample in samples]
    bad = [
        (row, sample.id, "the labels do not tell the first wrong step: a step before it is unlabelled")
        for row, (sample, gold) in enumerate(zip(samples, found, strict=True))
        if gold is None
    ]
    if bad:
        raise StepDataError(bad, places={row: samples[row].place for row, _, _ in bad})
    return [gold for gold in found if gold is not None]


def last_smallest(samples: Sequence[StepSample], scores: Sequence[Scores]) -> float | None:
    """Return the percentage of solutions whose smallest score is that of the last step, and of no other.

    A judge of which this holds too often looks at the answer rather than at the steps (2501.07301). Solutions of one
    step, and those without a score for each step, are left out.
    """
    whole = [
        found
        for sample, found in zip(samples, scores, strict=True)
        if len(found) == len(sample.steps) > 1 and not any(map(math.isnan, found))
    ]
    return percent(sum(found[-1] < min(found[:-1]) for found in whole), len(whole))


def _subset(name: str, rows: Sequence[tuple[int, int | None]]) -> SubsetResult:
    wrong = [said == gold for gold, said in rows if gold != -1]
    right = [said == -1 for gold, said in rows if gold == -1]
    acc_error, acc_correct = percent(sum(wrong), len(wrong)), percent(sum(right), len(right))
    truncated = sum(said is None for _, said in rows)
    f1 = harmonic(acc_error, acc_correct)
    return SubsetResult(name, len(rows), len(wrong), len(right), acc_error, acc_correct, f1, truncated)
