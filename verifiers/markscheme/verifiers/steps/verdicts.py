"""What is said of a step and of the equations that it states."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from markscheme.verifiers.outcomes import Reason


class StepOutcome(StrEnum):
    """How a step was judged by the arithmetic that it states."""

    RIGHT = "right"
    """It states at least one claim that was checked, and all that were checked hold."""
    WRONG = "wrong"
    """A claim that it states does not hold."""
    NO_CLAIM = "no_claim"
    """It states no arithmetic that can be checked: words, variables, definitions. Says nothing about the step."""


class ClaimOutcome(StrEnum):
    """How one claim was judged."""

    RIGHT = "right"
    """Shown to hold: exactly, or to the digits that are written."""
    WRONG = "wrong"
    """Shown not to hold, in every way in which it can be read."""
    UNDECIDED = "undecided"
    """It holds in one reading and not in another, or its words may change its meaning. Does not count."""


class StepClaim(BaseModel):
    """One relation between two values that a step states.

    Attributes:
        text: as it is written, from the left value to the right one.
        span: its place in the step, ``[start, end)`` in characters.
        relation: ``=``, ``~`` (about equal), ``<``, ``<=``, ``>``, ``>=`` or ``!=``.
        left: the left value as it was read.
        right: the right value as it was read.
        outcome: how it was judged.
        reason: the code for the outcome.
        detail: one sentence that explains it to a person.
        source: "prose", or "annotation" for the calculator's ``<<…>>``.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    span: tuple[int, int]
    relation: str
    left: str
    right: str
    outcome: ClaimOutcome
    reason: Reason
    detail: str
    source: str = "prose"


class StepVerdict(BaseModel):
    """The judgement of one step. Equal steps give equal verdicts.

    Attributes:
        outcome: WRONG where a claim is, else RIGHT where one is, else NO_CLAIM.
        claims: what was checked, in the order in which it stands in the step.
        complete: whether every relation was looked at; False where the step holds more than the cap.
    """

    model_config = ConfigDict(frozen=True)

    outcome: StepOutcome
    claims: tuple[StepClaim, ...] = ()
    complete: bool = True

    @property
    def score(self) -> float | None:
        """1.0 for RIGHT, 0.0 for WRONG, None for NO_CLAIM."""
        return {StepOutcome.RIGHT: 1.0, StepOutcome.WRONG: 0.0}.get(self.outcome)

    @property
    def first_wrong(self) -> StepClaim | None:
        """The first claim that does not hold, or None."""
        return next((claim for claim in self.claims if claim.outcome is ClaimOutcome.WRONG), None)
