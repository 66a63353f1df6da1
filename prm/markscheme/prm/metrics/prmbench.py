"""PRMBench (2501.03124): does a judge tell wrong steps from right ones, wherever in a solution they stand?

Every step counts, those after an error too. ``f1`` takes right steps for the positive class, ``f1_negative`` wrong
ones; PRMScore is their mean, and ``f1`` alone for the kind "multi_solutions", which has no wrong steps. Kind "correct"
(the unmodified solutions) has figures of its own and is not in the totals, as in PRMBench's own evaluation. A step
without a score counts as judged wrongly, whatever it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from markscheme.prm.metrics.processbench import DEFAULT_THRESHOLD
from markscheme.prm.metrics.scores import Scores, checked, mean, padded, percent
from markscheme.prm.schema import StepSample, is_right

UNMODIFIED = "correct"
"""The kind of solutions that were not modified."""
ALL_RIGHT = "multi_solutions"
"""The kind whose steps are all right."""
GROUPS = {
    "simplicity": ("redundency", "circular"),
    "soundness": ("counterfactual", "step_contradiction", "domain_inconsistency", "confidence"),
    "sensitivity": ("missing_condition", "deception", ALL_RIGHT),
}
"""The three groups of kinds, spelled as the data set spells them."""


@dataclass(frozen=True, slots=True)
class KindResult:
    """One kind's figures, in percent; None of nothing.

    Attributes:
        name: of the kind.
        n: solutions.
        steps: labelled steps.
        acc_error: wrong steps found, of the wrong ones.
        acc_correct: right steps left alone, of the right ones.
        acc_first: first wrong steps found, of the solutions with one.
        f1: of right steps.
        f1_negative: of wrong steps.
        prmscore: the mean of the two.
        unscored: steps without a score.
    """

    name: str
    n: int
    steps: int
    acc_error: float | None
    acc_correct: float | None
    acc_first: float | None
    f1: float | None
    f1_negative: float | None
    prmscore: float | None
    unscored: int


@dataclass(frozen=True, slots=True)
class PRMBenchResult:
    """The figures of one judge.

    Attributes:
        total: over all kinds but the unmodified solutions.
        kinds: in order of first appearance.
        threshold: the score below which a step counts as wrong.
        threshold_from: what chose it.
    """

    total: KindResult
    kinds: tuple[KindResult, ...]
    threshold: float
    threshold_from: str

    def groups(self) -> dict[str, float | None]:
        """The mean PRMScore of each of the three groups' kinds; None for a group of which no kind is there."""
        scores = {kind.name: kind.prmscore for kind in self.kinds}
        return {group: mean([scores.get(name) for name in names]) for group, names in GROUPS.items()}

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        total = {name: value for name, value in asdict(self.total).items() if name not in {"name", "n"}}
        first = {name: total.pop(name) for name in ("acc_error", "acc_correct", "f1")}
        return {
            "n": self.total.n,
            **first,
            "threshold": self.threshold,
            "threshold_from": self.threshold_from,
            **total,
            "groups": self.groups(),
            "kinds": [asdict(kind) for kind in self.kinds],
        }


def prm_bench(
    samples: Sequence[StepSample],
    scores: Sequence[Scores],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    threshold_from: str = "default",
) -> PRMBenchResult:
    """Compute PRMBench's figures of a judge. Unlabelled steps are left out.

    Args:
        samples: solutions; the kind of error stands in `StepSample.kind`.
        scores: of each solution, a score a step.
        threshold: the score below which a step counts as wrong.
        threshold_from: what chose it, as the result says it.

    Raises:
        StepDataError: a judge's scores do not fit; it lists the rows.
        DataError: the numbers of samples and of scores differ.
    """
    checked(samples, scores)
    rows = [(sample.kind, _judged(sample, found, threshold)) for sample, found in zip(samples, scores, strict=True)]
    kinds = [
        _kind(name, [steps for kind, steps in rows if kind == name]) for name in dict.fromkeys(kind for kind, _ in rows)
    ]
    total = _kind("total", [steps for kind, steps in rows if kind != UNMODIFIED])
    if {kind for kind, _ in rows} - {UNMODIFIED} == {ALL_RIGHT}:
        total = replace(total, prmscore=total.f1)
    return PRMBenchResult(total, tuple(kinds), threshold, threshold_from)


@dataclass(frozen=True, slots=True)
class _Step:
    right: bool
    found_right: bool
    scored: bool


def _judged(sample: StepSample, found: Scores, threshold: float) -> list[_Step]:
    steps = []
    for value, score in zip(sample.targets, padded(found, len(sample.steps)), strict=True):
        if value is not None:
            right, scored = is_right(value), not math.isnan(score)
            steps.append(_Step(right, score >= threshold if scored else not right, scored))
    return steps


def _kind(name: str, solutions: Sequence[Sequence[_Step]]) -> KindResult:
    steps = [step for solution in solutions for step in solution]
    first = [next(step for step in solution if not step.right) for solution in solutions if _has_error(solution)]
    true_right = sum(step.right and step.found_right for step in steps)
    true_wrong = sum(not step.right and not step.found_right for step in steps)
    right = sum(step.right for step in steps)
    f1 = _f1(true_right, right, sum(step.found_right for step in steps))
    negative = _f1(true_wrong, len(steps) - right, sum(not step.found_right for step in steps))
    return KindResult(
        name=name,
        n=len(solutions),
        steps=len(steps),
        acc_error=percent(true_wrong, len(steps) - right),
        acc_correct=percent(true_right, right),
        acc_first=percent(sum(not step.found_right for step in first), len(first)),
        f1=f1,
        f1_negative=negative,
        prmscore=f1 if name == ALL_RIGHT else None if f1 is None or negative is None else (f1 + negative) / 2,
        unscored=sum(not step.scored for step in steps),
    )


def _has_error(solution: Iterable[_Step]) -> bool:
    return any(not step.right for step in solution)


def _f1(hits: int, gold: int, predicted: int) -> float | None:
    """2·TP / (gold + predicted), in percent; None when the class is neither there nor predicted."""
    return 200 * hits / (gold + predicted) if gold + predicted else None
