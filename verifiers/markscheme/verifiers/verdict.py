"""What a verifier says of one completion."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Outcome(StrEnum):
    """How a completion was judged. The reward that follows from it is given beside each member."""

    CORRECT = "correct"
    """Shown equal to the gold answer (or: all cases pass). Reward 1."""
    INCORRECT = "incorrect"
    """Shown different, of a type that the gold answer cannot equal, or over a size cap. Reward 0."""
    UNREADABLE = "unreadable"
    """The completion states no answer that can be read. Reward 0."""
    UNDECIDED = "undecided"
    """Well-formed, but not decided within the deadline or the checker's knowledge. No reward."""
    BROKEN = "broken"
    """The verifier itself failed. No reward; counted, and an alarm is raised."""


class Reason(StrEnum):
    """Why the outcome came about, as a code that programs can select by."""

    EQUAL = "equal"
    """Shown equal, exactly or by algebra."""
    SAMPLED_EQUAL = "sampled_equal"
    """Equal at every sample point, in high precision (``equality.py`` states the probability of error)."""
    DIFFERENT = "different"
    """Shown different."""
    TYPE_MISMATCH = "type_mismatch"
    """Both were read, but an answer of this type cannot equal the gold answer."""
    TOO_LARGE = "too_large"
    """The answer is over a cap on length, nesting, digits or size."""
    NO_ANSWER = "no_answer"
    """The reading contract finds no place where the completion states its answer."""
    CUT_OFF = "cut_off"
    """The completion ends inside the box, tag or thinking block that would hold its answer."""
    NOT_GRAMMATICAL = "not_grammatical"
    """An answer was found, but the whole of it does not parse."""
    TIMEOUT = "timeout"
    """The algebra did not end within the deadline."""
    BUDGET = "budget"
    """Deciding it would take more work than the caps allow."""
    BEYOND_KNOWLEDGE = "beyond_knowledge"
    """No method that the checker has decides this pair."""
    UNIT_AMBIGUOUS = "unit_ambiguous"
    """Whether the two are equal depends on a unit that is not stated."""
    PRECISION_AMBIGUOUS = "precision_ambiguous"
    """The two agree to the digits that were written, which are too few to call them equal."""
    TIME_AMBIGUOUS = "time_ambiguous"
    """Equal as ratios, different as times of day."""
    UNREADABLE_GOLD = "unreadable_gold"
    """The gold answer cannot be read."""
    WORKER_FAILED = "worker_failed"
    """The algebra worker could not be started or died of itself."""


SCORES: dict[Outcome, float | None] = {
    Outcome.CORRECT: 1.0,
    Outcome.INCORRECT: 0.0,
    Outcome.UNREADABLE: 0.0,
    Outcome.UNDECIDED: None,
    Outcome.BROKEN: None,
}


class Verdict(BaseModel):
    """The judgement of one completion. Equal inputs give equal verdicts, ``seconds`` apart.

    Attributes:
        outcome: how it was judged.
        score: 1.0, 0.0, or None where there is no score to give.
        answer: the answer as it was read, or None where none was.
        expected: the gold answer as it was read.
        reason: the code for the outcome.
        detail: one sentence that explains it to a person.
        reading: the contract that found the answer ("boxed", "gsm8k" …), or None for a bare answer.
        span: where in the completion the answer stands, as ``[start, end)`` in characters.
        seconds: wall time taken.
    """

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    score: float | None
    answer: str | None
    expected: str | None
    reason: Reason
    detail: str
    reading: str | None = None
    span: tuple[int, int] | None = None
    seconds: float = 0.0
