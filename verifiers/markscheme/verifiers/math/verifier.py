"""The verifier of math answers."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from typing import NamedTuple

from markscheme.verifiers.errors import WorkerError
from markscheme.verifiers.golds import read_gold
from markscheme.verifiers.math import cas
from markscheme.verifiers.math.answers import Answer, parse_answer
from markscheme.verifiers.math.comparison import Comparison
from markscheme.verifiers.math.equality import compare_answers, compare_plain
from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.nodes import ONE
from markscheme.verifiers.outcomes import Outcome, Reason
from markscheme.verifiers.place import ReadAnswer
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.reading import READINGS, Reading, read_answer
from markscheme.verifiers.verdict import SCORES, Verdict

_SHOWN = 2000  # characters of an answer that a verdict keeps
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


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

    any_thread = True

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

        Raises:
            TypeError: a completion or gold that is no string.
        """
        start = time.perf_counter()
        _check_text(gold, "gold")
        try:
            found = read_answer(completion, self.reading, thinking=self.thinking)
        except RecursionError:
            return _NO_ROOM.verdict(start)
        if found.text is None:
            reason = Reason.CUT_OFF if found.cut_off else Reason.NO_ANSWER
            judged = _Judged(Comparison(None, reason, found.why), Outcome.UNREADABLE, None, gold.strip())
        else:
            judged = self._judge(found.text, gold)
        return judged.verdict(start, found)

    def verify_answer(self, answer: str, gold: str) -> Verdict:
        """Judge a bare answer against a gold answer (again: the gold comes last).

        Raises:
            TypeError: an answer or gold that is no string.
        """
        start = time.perf_counter()
        _check_text(answer, "answer")
        _check_text(gold, "gold")
        return self._judge(answer, gold).verdict(start)

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
            workers: processes; None, 0 and 1 stay in this process. Each is a fresh interpreter, so a script that asks
                for them needs the usual ``if __name__ == "__main__"`` guard; a daemonic process does without them.
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

    def _judge(self, text: str, gold: str) -> _Judged:
        try:
            return self._judge_within_stack(text, gold)
        except RecursionError:  # the caps on nesting fit a stack of which the caller has left half
            return _NO_ROOM

    def _judge_within_stack(self, text: str, gold: str) -> _Judged:
        try:
            expected = read_gold(gold)
            reference = parse_answer(expected, self.policy.max_length)
        except ValueError as error:  # TooLarge is one
            why = Comparison(None, Reason.UNREADABLE_GOLD, f"the gold answer cannot be read: {error}")
            return _Judged(why, Outcome.UNDECIDED, text, gold)
        try:
            given = parse_answer(text, self.policy.max_length)
        except TooLarge as error:
            if text.strip() == expected.strip():
                return _Judged(Comparison(True, Reason.EQUAL, "the same text"), Outcome.CORRECT, text, expected)
            return _Judged(Comparison(False, Reason.TOO_LARGE, str(error)), Outcome.INCORRECT, text, expected)
        found, broken = self._compare(reference, given)
        return _Judged(found, outcome_of(found, given, broken=broken), text, expected)

    def _compare(self, reference: Answer, given: Answer) -> tuple[Comparison, bool]:
        """Compare in this process, then in a worker where that may decide more."""
        plain = compare_plain(reference, given, self.policy)
        if plain is not None:
            return plain, False
        start = time.thread_time()
        try:
            found = compare_answers(reference, given, self.policy)
        except TooLarge as error:
            return too_large(reference, self.policy, str(error)), False
        if found.equal is None and found.heavy:
            deadline = max(self.deadline / 2, self.deadline - (time.thread_time() - start))
            try:
                return cas.pool().run(reference, given, deadline), False
            except WorkerError:
                try:  # once more, in a fresh worker
                    return cas.pool().run(reference, given, deadline), False
                except WorkerError as error:
                    return Comparison(None, Reason.WORKER_FAILED, str(error)), True
        return found, False


class _Judged(NamedTuple):
    """A comparison and what it was of."""

    found: Comparison
    outcome: Outcome
    answer: str | None
    expected: str

    def verdict(self, start: float, place: ReadAnswer | None = None) -> Verdict:
        return Verdict(
            outcome=self.outcome,
            score=SCORES[self.outcome],
            answer=None if self.answer is None else _shown(self.answer.strip()),
            expected=_shown(self.expected),
            reason=self.found.reason,
            detail=_shown(self.found.detail),
            reading=place.reading if place else None,
            span=place.span if place else None,
            seconds=time.perf_counter() - start,
        )


def _shown(text: str) -> str:
    """What a verdict keeps of a text: its beginning, with U+FFFD for lone surrogates, which no JSON can hold."""
    text = text[:_SHOWN]
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


_NO_ROOM = _Judged(
    Comparison(None, Reason.BUDGET, "the caller's stack leaves no room to read it"), Outcome.UNDECIDED, None, ""
)


def _check_text(value: object, name: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")


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


def too_large(reference: Answer, policy: Policy, why: str) -> Comparison:
    """A comparison that ran into a cap: the answer's own size makes it wrong, the gold's leaves it undecided."""
    one = Answer("1", ONE)
    try:
        compare_answers(one, reference, policy)
        compare_answers(reference, one, policy)
    except TooLarge:
        return Comparison(None, Reason.BUDGET, f"the gold answer is over a cap: {why}")
    return Comparison(False, Reason.TOO_LARGE, why)
