"""Keeping the solutions of which two labelers name the same first error (2501.07301, section 3.2).

Rollouts and a judge err in different ways: the ones by what the policy can recover from, the other by what it
overlooks. The Qwen team kept the 40 % on which both agreed, and their judge's ProcessBench F1 rose from 40 to 46.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from markscheme.prm.labels.result import After, StepLabels, up_to
from markscheme.verifiers.errors import DataError, StepDataError

SOURCE = "consensus"


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two labelers agree.

    Attributes:
        n: solutions.
        kept: of these, those of which both name the same first error, or both say that there is none.
        clean: of those kept, the ones without an error.
        one_clean: both know, and one sees an error where the other sees none.
        elsewhere: both see an error, at different steps.
        unknown: one of the two cannot tell.
    """

    n: int
    kept: int
    clean: int
    one_clean: int
    elsewhere: int
    unknown: int

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        return asdict(self)


def consensus(
    one: Sequence[StepLabels], two: Sequence[StepLabels], *, after: After = "unlabelled"
) -> tuple[list[StepLabels | None], Agreement]:
    """Compare the first errors of two labelers, solution by solution.

    Args:
        one: labels of solutions.
        two: labels of the same solutions, in the same order.
        after: what becomes of steps after the first error.

    Returns:
        Labels of the solutions on which they agree, None for the others; and the counts.

    Raises:
        StepDataError: the two are not of the same solutions; it lists where they differ.
    """
    if len(one) != len(two):
        raise DataError(f"expected labels of the same solutions: {len(one)} of one labeler, {len(two)} of the other")
    differ = [
        (place, "", "the two labelers were given different solutions")
        for place, (a, b) in enumerate(zip(one, two, strict=True))
        if (a.prompt, a.completions) != (b.prompt, b.completions)
    ]
    if differ:
        raise StepDataError(differ)
    found: list[StepLabels | None] = []
    one_clean = elsewhere = unknown = 0
    for a, b in zip(one, two, strict=True):
        first, other = a.first_error, b.first_error
        same = first is not None and first == other
        found.append(_joined(a, b, first, after) if same else None)
        if first is None or other is None:
            unknown += 1
        elif not same:
            one_clean += -1 in (first, other)
            elsewhere += -1 not in (first, other)
    kept = [labels for labels in found if labels is not None]
    clean = sum(labels.first_error == -1 for labels in kept)
    return found, Agreement(len(found), len(kept), clean, one_clean, elsewhere, unknown)


def _joined(a: StepLabels, b: StepLabels, first: int | None, after: After) -> StepLabels:
    answers = [labels.final_answer_correct for labels in (a, b) if labels.final_answer_correct is not None]
    return StepLabels(
        prompt=a.prompt,
        completions=a.completions,
        labels=tuple(up_to(first, len(a.completions), after)),
        source=SOURCE,
        first_error=first,
        final_answer_correct=answers[0] if answers else None,
        estimates=a.estimates or b.estimates,
        rollouts=a.rollouts + b.rollouts,
        requests=a.requests + b.requests,
        unparsed=a.unparsed + b.unparsed,
    )
