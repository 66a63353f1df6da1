"""Judges that know nothing of steps. A figure means something only beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markscheme.prm.schema import StepSample
from markscheme.verifiers.errors import DataError, StepDataError

Baseline = Callable[[StepSample], list[float]]

_NO_OUTCOME = "it does not say whether its final answer is right (final_answer_correct), which the outcome oracle needs"

BLAMED = 1
"""The step that the outcome oracle blames, from 0: the second, where first errors are most frequent in ProcessBench."""


def always_right(sample: StepSample) -> list[float]:
    """Every step is right."""
    return [1.0] * len(sample.steps)


def always_wrong(sample: StepSample) -> list[float]:
    """Every step is wrong, so the first is blamed."""
    return [0.0] * len(sample.steps)


def outcome_oracle(sample: StepSample) -> list[float]:
    """Know whether the final answer is right, no more: of a wrong one blame step 1, or the only step.

    Without a look at any step this scores 44.4 on ProcessBench's GSM8K and 35.9 on its MATH.

    Raises:
        DataError: the sample does not say whether its final answer is right.
    """
    if sample.final_answer_correct is None:
        raise DataError(_NO_OUTCOME)
    scores = always_right(sample)
    if not sample.final_answer_correct:
        scores[min(BLAMED, len(scores) - 1)] = 0.0
    return scores


def require_outcomes(samples: Sequence[StepSample]) -> None:
    """Raise where a sample does not say whether its final answer is right; the outcome oracle cannot tell otherwise.

    Raises:
        StepDataError: it lists every such row.
    """
    bad = [(row, sample.id, _NO_OUTCOME) for row, sample in enumerate(samples) if sample.final_answer_correct is None]
    if bad:
        raise StepDataError(bad, places={row: samples[row].place for row, _, _ in bad})


def knows_outcomes(samples: Sequence[StepSample]) -> bool:
    """Whether every sample says if its final answer is right."""
    return all(sample.final_answer_correct is not None for sample in samples)


BASELINES: dict[str, Baseline] = {
    "outcome-oracle": outcome_oracle,
    "always-right": always_right,
    "always-wrong": always_wrong,
}
"""By the names that the command line takes."""
