"""Figures over single steps: how well scores rank them, tell them apart at a threshold, and mean what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from markscheme.prm.metrics.processbench import DEFAULT_THRESHOLD
from markscheme.prm.metrics.scores import Scores, checked, padded
from markscheme.prm.schema import StepSample, is_right

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of a reliability diagram.

    Attributes:
        low: its lower edge; a score on an edge belongs to the bin above, 1 to the last.
        high: its upper edge.
        n: steps.
        score: their mean score; NaN of none.
        right: the mean of their targets: the share of right steps; NaN of none.
    """

    low: float
    high: float
    n: int
    score: float
    right: float


@dataclass(frozen=True, slots=True)
class StepResult:
    """The figures over labelled steps that have a score.

    Attributes:
        n: such steps.
        wrong: of these, the wrong ones.
        unscored: labelled steps without a score; they are in no other figure.
        auc: the chance that a right step scores above a wrong one, ties half; in [0, 1]. None with one class alone.
        f1_wrong: F1 of the wrong steps at the threshold, in percent; None when none is wrong or flagged.
        f1_macro: the mean of the two classes' F1, in percent; None when one of them is.
        ece: the expected calibration error, in [0, 1]: Σ n_b/n · |right_b - score_b| over equal-width bins.
        brier: the mean squared difference of score and target, in [0, 1].
    """

    n: int
    wrong: int
    unscored: int
    auc: float | None
    f1_wrong: float | None
    f1_macro: float | None
    ece: float | None
    brier: float | None

    def summary(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)


def step_pairs(samples: Sequence[StepSample], scores: Sequence[Scores]) -> tuple[list[float], list[float], int]:
    """Return the scores and targets of labelled steps that have a score, and how many have none.

    Raises:
        StepDataError: a judge's scores do not fit; it lists the rows.
        DataError: the numbers of samples and of scores differ.
    """
    checked(samples, scores)
    found, targets, unscored = [], [], 0
    for sample, given in zip(samples, scores, strict=True):
        for value, score in zip(sample.targets, padded(given, len(sample.steps)), strict=True):
            if value is None:
                continue
            if math.isnan(score):
                unscored += 1
            else:
                found.append(score)
                targets.append(value)
    return found, targets, unscored


def step_metrics(
    samples: Sequence[StepSample], scores: Sequence[Scores], *, threshold: float = DEFAULT_THRESHOLD, bins: int = BINS
) -> StepResult:
    """Compute the figures over single steps. Raises as `step_pairs`."""
    found, targets, unscored = step_pairs(samples, scores)
    right = [is_right(value) for value in targets]
    flagged = [score < threshold for score in found]
    hits = sum(flag and not good for flag, good in zip(flagged, right, strict=True))
    kept = sum(good and not flag for flag, good in zip(flagged, right, strict=True))
    wrong = _f1(hits, right.count(False), flagged.count(True))
    sound = _f1(kept, right.count(True), flagged.count(False))
    return StepResult(
        n=len(found),
        wrong=right.count(False),
        unscored=unscored,
        auc=auc(found, right),
        f1_wrong=wrong,
        f1_macro=None if wrong is None or sound is None else (wrong + sound) / 2,
        ece=ece(found, targets, bins),
        brier=math.fsum((s - t) ** 2 for s, t in zip(found, targets, strict=True)) / len(found) if found else None,
    )


def auc(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """The area under the ROC curve by ranks (Mann-Whitney), ties half; None with one class alone."""
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    n_right = sum(right)
    n_wrong = len(right) - n_right
    if not n_right or not n_wrong:
        return None
    ranks, start = 0.0, 0
    while start < len(order):
        stop = start
        while stop < len(order) and scores[order[stop]] == scores[order[start]]:
            stop += 1
        ranks += (start + 1 + stop) / 2 * sum(right[i] for i in order[start:stop])
        start = stop
    return (ranks - n_right * (n_right + 1) / 2) / (n_right * n_wrong)


def reliability(scores: Sequence[float], targets: Sequence[float], bins: int = BINS) -> list[Bin]:
    """Group scores into bins of equal width; see `Bin`."""
    held: list[list[int]] = [[] for _ in range(bins)]
    for i, score in enumerate(scores):
        held[min(int(score * bins), bins - 1)].append(i)
    return [
        Bin(
            k / bins,
            (k + 1) / bins,
            len(own),
            math.fsum(scores[i] for i in own) / len(own) if own else math.nan,
            math.fsum(targets[i] for i in own) / len(own) if own else math.nan,
        )
        for k, own in enumerate(held)
    ]


def ece(scores: Sequence[float], targets: Sequence[float], bins: int = BINS) -> float | None:
    """The expected calibration error over bins of equal width (Guo et al. 2017, 1706.04599, eq. 3); None of nothing."""
    if not scores:
        return None
    return math.fsum(b.n / len(scores) * abs(b.right - b.score) for b in reliability(scores, targets, bins) if b.n)


def _f1(hits: int, gold: int, predicted: int) -> float | None:
    return 200 * hits / (gold + predicted) if gold + predicted else None
