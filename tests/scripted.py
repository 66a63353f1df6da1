"""A verifier that says what its completions ask for, and verdicts made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

from markscheme.verifiers import Outcome, Reason, Verdict

SCORES = {Outcome.CORRECT: 1.0, Outcome.INCORRECT: 0.0, Outcome.UNREADABLE: 0.0}
REASONS = {
    Outcome.CORRECT: Reason.EQUAL,
    Outcome.INCORRECT: Reason.DIFFERENT,
    Outcome.UNREADABLE: Reason.NO_ANSWER,
    Outcome.UNDECIDED: Reason.TIMEOUT,
    Outcome.BROKEN: Reason.WORKER_FAILED,
}


def make_verdict(outcome: Outcome | str, reason: Reason | None = None, answer: str | None = "4") -> Verdict:
    outcome = Outcome(outcome)
    return Verdict(
        outcome=outcome,
        score=SCORES.get(outcome),
        answer=None if outcome is Outcome.UNREADABLE else answer,
        expected="4",
        reason=reason or REASONS[outcome],
        detail=f"made {outcome}",
    )


@dataclass
class ScriptedVerifier:
    """Gives the outcome that a completion names; "mended" is BROKEN the first time and CORRECT the second."""

    calls: list[tuple[str, str]] = field(default_factory=list)

    def verify(self, completion: str, gold: str) -> Verdict:
        first = (completion, gold) not in self.calls
        self.calls.append((completion, gold))
        if completion == "mended":
            return make_verdict(Outcome.BROKEN if first else Outcome.CORRECT)
        return make_verdict(completion)
