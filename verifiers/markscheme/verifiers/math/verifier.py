"""The verifier of math answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from fractions import Fraction

from markscheme.verifiers.golds import read_gold
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.reading import Reading, read_answer
from markscheme.verifiers.verdict import SCORES, Outcome, Reason, Verdict


class MathVerifier:
    """Judges math answers.

    Args:
        reading: the contract by which a completion states its answer.
        deadline: seconds of CPU that computer algebra may take for one verdict.
        policy: the conventions of equality.
        thinking: the prompt's template opened a ``<think>`` block.
    """

    def __init__(
        self, reading: Reading = "auto", deadline: float = 5.0, policy: Policy | None = None, *, thinking: bool = False
    ) -> None:
        self.reading: Reading = reading
        self.deadline = deadline
        self.policy = policy or Policy()
        self.thinking = thinking

    def verify(self, completion: str, gold: str) -> Verdict:
        """Judge a completion. Note the order: math-verify's is the reverse (gold first)."""
        start = time.perf_counter()
        found = read_answer(completion, self.reading, thinking=self.thinking)
        if found.text is None:
            return self._verdict(
                Outcome.UNREADABLE, Reason.NO_ANSWER, found.why, None, gold, found.reading, found.span, start
            )
        verdict = self.verify_answer(found.text, gold)
        return verdict.model_copy(
            update={"reading": found.reading, "span": found.span, "seconds": time.perf_counter() - start}
        )

    def verify_answer(self, answer: str, gold: str) -> Verdict:
        """Judge a bare answer."""
        start = time.perf_counter()
        expected = read_gold(gold)
        try:
            same = Fraction(answer) == Fraction(expected)
        except ValueError:
            return self._verdict(
                Outcome.UNREADABLE, Reason.NOT_GRAMMATICAL, "not a number", answer, expected, None, None, start
            )
        outcome = Outcome.CORRECT if same else Outcome.INCORRECT
        reason = Reason.EQUAL if same else Reason.DIFFERENT
        return self._verdict(outcome, reason, f"{answer} against {expected}", answer, expected, None, None, start)

    def verify_many(
        self,
        completions: Sequence[str],
        golds: Sequence[str],
        workers: int | None = None,
        *,
        progress: bool = False,
    ) -> list[Verdict]:
        """Judge many completions, in order."""
        del workers, progress
        return [self.verify(completion, gold) for completion, gold in zip(completions, golds, strict=True)]

    async def averify(self, completion: str, gold: str) -> Verdict:
        """Judge a completion without holding up the event loop."""
        return await asyncio.to_thread(self.verify, completion, gold)

    @staticmethod
    def _verdict(
        outcome: Outcome,
        reason: Reason,
        detail: str,
        answer: str | None,
        expected: str | None,
        reading: str | None,
        span: tuple[int, int] | None,
        start: float,
    ) -> Verdict:
        return Verdict(
            outcome=outcome,
            score=SCORES[outcome],
            answer=answer,
            expected=expected,
            reason=reason,
            detail=detail,
            reading=reading,
            span=span,
            seconds=time.perf_counter() - start,
        )
