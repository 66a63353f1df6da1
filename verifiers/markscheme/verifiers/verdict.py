"""What a verifier says of one completion."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from markscheme.verifiers.outcomes import Outcome, Reason

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


__all__ = ["SCORES", "Outcome", "Reason", "Verdict"]
