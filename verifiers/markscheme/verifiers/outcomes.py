"""How a completion can be judged, and why: the codes that verdicts carry."""

from __future__ import annotations

from enum import StrEnum


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
