"""How wrong labels are, and where: a labeler's labels against gold ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from markscheme.prm.schema import RIGHT_ABOVE, StepSample, first_wrong, is_right, target
from markscheme.verifiers.errors import DataError, StepDataError
from markscheme.verifiers.statistics import wilson

Labels = Sequence[bool | float | None]
"""One solution's labels: true/false, probabilities, -1/0/1, None for unlabelled."""
K = TypeVar("K")
_Pair = tuple[int, int, float | None, float]  # a step, its solution's steps, its label, its gold label


@dataclass(frozen=True, slots=True)
class Noise:
    """Labels against gold ones, over steps that have a gold label. Rates are shares in [0, 1]; None of nothing.

    Attributes:
        n: steps with a gold label.
        gold_right: of these, right by gold.
        gold_wrong: of these, wrong by gold.
        unlabelled: steps that the labeler left without a label; they are in no rate.
        false_right: wrong by gold and labelled right.
        false_wrong: right by gold and labelled wrong.
        false_right_rate: of the labelled steps that are wrong by gold.
        false_wrong_rate: of the labelled steps that are right by gold.
        false_right_interval: the 95 % Wilson interval of the rate.
        false_wrong_interval: likewise.
    """

    n: int
    gold_right: int
    gold_wrong: int
    unlabelled: int
    false_right: int
    false_wrong: int
    false_right_rate: float | None
    false_wrong_rate: float | None
    false_right_interval: tuple[float, float]
    false_wrong_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class FirstErrors:
    """First wrong steps by labels and by gold, over solutions of which both are known.

    Attributes:
        n: such solutions.
        same: both name the same step, or both say that there is none.
        early: the label's comes before gold's.
        late: it comes after.
        missed: gold has one, the labels have none.
        invented: the labels have one, gold has none.
        unknown: solutions of which one of the two is not known.
    """

    n: int
    same: int
    early: int
    late: int
    missed: int
    invented: int
    unknown: int


@dataclass(frozen=True, slots=True)
class LabelAudit:
    """What an audit found.

    Attributes:
        total: over all steps.
        by_position: for each step from 0, the last being that position and all later ones.
        by_third: "first", "middle" and "last" third of a solution.
        first_errors: first wrong steps compared.
    """

    total: Noise
    by_position: dict[int, Noise]
    by_third: dict[str, Noise]
    first_errors: FirstErrors

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return asdict(self)


def audit(
    labels: Iterable[Labels | StepSample],
    gold: Iterable[Labels | StepSample],
    *,
    threshold: float = RIGHT_ABOVE,
    positions: int = 10,
) -> LabelAudit:
    """Compare labels with gold ones, step by step and by position.

    Args:
        labels: of each solution, as lists of labels or as samples. In a list with a -1, 0 is neutral and so right.
        gold: of the same solutions in the same order.
        threshold: a soft label above it says "right"; 0 for Monte-Carlo shares of which any success will do. Gold is
            always read at one half.
        positions: how many positions to tell apart; later ones fall into the last.

    Raises:
        DataError: the numbers of solutions differ, or there are none.
        StepDataError: labels and gold of a solution differ in length; it lists every one.
    """
    found, known = [_targets(one) for one in labels], [_targets(one) for one in gold]
    if len(found) != len(known) or not found:
        raise DataError(f"expected labels and gold of the same solutions: {len(found)} labelled, {len(known)} gold")
    bad = [
        (row, "", f"{len(one)} labels, {len(two)} gold labels")
        for row, (one, two) in enumerate(zip(found, known, strict=True))
        if len(one) != len(two)
    ]
    if bad:
        raise StepDataError(bad)
    pairs: list[_Pair] = [
        (i, len(two), label, true)
        for one, two in zip(found, known, strict=True)
        for i, (label, true) in enumerate(zip(one, two, strict=True))
        if true is not None
    ]
    last = min(positions, max((len(two) for two in known), default=1)) - 1
    return LabelAudit(
        total=_noise(pairs, threshold),
        by_position=_grouped(pairs, threshold, range(last + 1), lambda i, _: min(i, last)),
        by_third=_grouped(pairs, threshold, _THIRDS, lambda i, n: _THIRDS[3 * i // n]),
        first_errors=_first_errors(found, known, threshold),
    )


_THIRDS = ("first", "middle", "last")


def _targets(labels: Labels | StepSample) -> tuple[float | None, ...]:
    if isinstance(labels, StepSample):
        return labels.targets
    neutral = any(label == -1 for label in labels)
    return tuple(target(label, "right" if neutral else "wrong") for label in labels)


def _grouped(
    pairs: Sequence[_Pair], threshold: float, keys: Iterable[K], key: Callable[[int, int], K]
) -> dict[K, Noise]:
    held: dict[K, list[_Pair]] = {name: [] for name in keys}
    for pair in pairs:
        held[key(pair[0], pair[1])].append(pair)
    return {name: _noise(own, threshold) for name, own in held.items()}


def _noise(pairs: Sequence[_Pair], threshold: float) -> Noise:
    labelled = [(is_right(label, threshold), is_right(true)) for _, _, label, true in pairs if label is not None]
    wrong = [said for said, true in labelled if not true]
    right = [said for said, true in labelled if true]
    gold_right = sum(is_right(true) for *_, true in pairs)
    false_right, false_wrong = sum(wrong), len(right) - sum(right)
    return Noise(
        n=len(pairs),
        gold_right=gold_right,
        gold_wrong=len(pairs) - gold_right,
        unlabelled=len(pairs) - len(labelled),
        false_right=false_right,
        false_wrong=false_wrong,
        false_right_rate=false_right / len(wrong) if wrong else None,
        false_wrong_rate=false_wrong / len(right) if right else None,
        false_right_interval=wilson(false_right, len(wrong)),
        false_wrong_interval=wilson(false_wrong, len(right)),
    )


def _first_errors(
    found: Sequence[tuple[float | None, ...]], known: Sequence[tuple[float | None, ...]], threshold: float
) -> FirstErrors:
    same = early = late = missed = invented = unknown = 0
    for one, two in zip(found, known, strict=True):
        said, true = first_wrong(one, threshold), first_wrong(two)
        if said is None or true is None:
            unknown += 1
        elif said == true:
            same += 1
        elif true == -1:
            invented += 1
        elif said == -1:
            missed += 1
        else:
            early += said < true
            late += said > true
    return FirstErrors(len(found) - unknown, same, early, late, missed, invented, unknown)
