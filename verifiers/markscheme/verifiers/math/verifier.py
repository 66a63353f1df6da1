"""The verifier of math answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from markscheme.verifiers.errors import WorkerError
from markscheme.verifiers.golds import read_gold
from markscheme.verifiers.math import cas
from markscheme.verifiers.math.equality import compare_answers
from markscheme.verifiers.math.grammar import Answer, parse_answer
from markscheme.verifiers.math.identity import Comparison
from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.outcomes import Outcome, Reason
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.reading import READINGS, ReadAnswer, Reading, read_answer
from markscheme.verifiers.verdict import SCORES, Verdict

_SHOWN = 2000  # characters of an answer that a verdict keeps


class MathVerifier:
    """Judges math answers.

    Args:
        reading: the contract by which a completion states its answer.
        deadline: seconds of CPU that computer algebra may take for one verdict; wall time is bounded by four times it.
        policy: the conventions of equality; None for the defaults.
        thinking: the prompt's template opened a ``<think>`` block.

    Raises:
        ValueError: an unknown contract, or a deadline that is not positive.
    """

    def __init__(
        self, reading: Reading = "auto", deadline: float = 5.0, policy: Policy | None = None, *, thinking: bool = False
    ) -> None:
        if reading not in READINGS:
            raise ValueError(f"reading must be one of {', '.join(READINGS)}, not {reading!r}")
        if not deadline > 0:
            raise ValueError(f"deadline must be a positive number of seconds, not {deadline!r}")
        self.reading: Reading = reading
        self.deadline = deadline
        self.policy = policy or Policy()
        self.thinking = thinking

    def verify(self, completion: str, gold: str) -> Verdict:
        """Judge what a completion states against a gold answer.

        The completion comes first. math-verify's ``verify(gold, target)`` has the reverse order.

        Args:
            completion: a model's text.
            gold: the gold answer: bare, in a boxed solution, or a GSM8K rationale that ends in ``#### 18``.
        """
        start = time.perf_counter()
        found = read_answer(completion, self.reading, thinking=self.thinking)
        if found.text is None:
            reason = Reason.CUT_OFF if found.cut_off else Reason.NO_ANSWER
            verdict = self._verdict(Comparison(None, reason, found.why), Outcome.UNREADABLE, None, gold.strip())
        else:
            verdict = self._judge(found.text, gold)
        return self._placed(verdict, found, start)

    def verify_answer(self, answer: str, gold: str) -> Verdict:
        """Judge a bare answer against a gold answer (again: the gold comes last)."""
        start = time.perf_counter()
        return self._placed(self._judge(answer, gold), None, start)

    def verify_many(
        self,
        completions: Sequence[str],
        golds: Sequence[str],
        workers: int | None = None,
        *,
        progress: bool = False,
    ) -> list[Verdict]:
        """Judge many completions, in order.

        Args:
            completions: one a verdict.
            golds: as many.
            workers: processes; None chooses by the number of completions and cores, 0 and 1 stay in this process.
            progress: show a progress bar on standard error.

        Raises:
            ValueError: the two differ in length.
        """
        from markscheme.verifiers.math.many import verify_many  # noqa: PLC0415 - most callers never need processes

        return verify_many(self, completions, golds, workers, progress=progress)

    async def averify(self, completion: str, gold: str) -> Verdict:
        """Judge a completion without holding up the event loop."""
        return await asyncio.to_thread(self.verify, completion, gold)

    # ------------------------------------------------------------------------------------------------------------

    def _judge(self, text: str, gold: str) -> Verdict:
        try:
            expected = read_gold(gold)
            reference = parse_answer(expected, self.policy.max_length)
        except ValueError as error:  # TooLarge is one
            return self._verdict(
                Comparison(None, Reason.UNREADABLE_GOLD, f"the gold answer cannot be read: {error}"), Outcome.UNDECIDED, text, gold
            )
        try:
            given = parse_answer(text, self.policy.max_length)
        except TooLarge as error:
            if text.strip() == expected.strip():
                return self._verdict(Comparison(True, Reason.EQUAL, "the same text"), Outcome.CORRECT, text, expected)
            return self._verdict(Comparison(False, Reason.TOO_LARGE, str(error)), Outcome.INCORRECT, text, expected)
        found, broken = self._compare(reference, given)
        return self._verdict(found, outcome_of(found, given, broken=broken), text, expected)

    def _compare(self, reference: Answer, given: Answer) -> tuple[Comparison, bool]:
        """Compare in this process, then in a worker where that may decide more."""
        try:
            found = compare_answers(reference, given, self.policy)
        except TooLarge as error:
            return too_large(reference, given, self.policy, str(error)), False
        if found.equal is None and found.heavy:
            try:
                return cas.pool().run(reference, given, self.policy, self.deadline), False
            except WorkerError:
                try:  # once more, in a fresh worker
                    return cas.pool().run(reference, given, self.policy, self.deadline), False
                except WorkerError as error:
                    return Comparison(None, Reason.WORKER_FAILED, str(error)), True
        return found, False

    @staticmethod
    def _verdict(found: Comparison, outcome: Outcome, answer: str | None, expected: str) -> Verdict:
        return Verdict(
            outcome=outcome,
            score=SCORES[outcome],
            answer=None if answer is None else answer.strip()[:_SHOWN],
            expected=expected[:_SHOWN],
            reason=found.reason,
            detail=found.detail,
        )

    @staticmethod
    def _placed(verdict: Verdict, found: ReadAnswer | None, start: float) -> Verdict:
        update: dict[str, object] = {"seconds": time.perf_counter() - start}
        if found is not None:
            update |= {"reading": found.reading, "span": found.span}
        return verdict.model_copy(update=update)


def outcome_of(found: Comparison, given: Answer, *, broken: bool) -> Outcome:
    """The outcome that a comparison means."""
    if broken:
        return Outcome.BROKEN
    if found.equal is None:
        return Outcome.UNDECIDED
    if found.equal:
        return Outcome.CORRECT
    if found.reason is Reason.NOT_GRAMMATICAL and given.node is None:
        return Outcome.UNREADABLE
    return Outcome.INCORRECT


def too_large(reference: Answer, given: Answer, policy: Policy, why: str) -> Comparison:
    """A comparison that ran into a cap: the answer's own size makes it wrong, the gold's leaves it undecided."""
    try:
        compare_answers(reference, reference, policy)
        compare_answers(Answer("1", parse_answer("1").node, "1"), reference, policy)
    except TooLarge:
        return Comparison(None, Reason.BUDGET, f"the gold answer is over a cap: {why}")
    del given
    return Comparison(False, Reason.TOO_LARGE, why)
