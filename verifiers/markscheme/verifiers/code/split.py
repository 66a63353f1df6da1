"""Tests that must run: in a jail of their own around a program in another, or with it in one where nothing else serves.

The tests run with the answers to the calls that are known; a call that is not gives a guess, so that the next ones are
found too; then all calls made so far are run, in order, in a fresh jail of the program, and the tests again. They pass
when they come to their end with real answers alone. What crosses between the jails is bytes that the parent does not
read.
"""

from __future__ import annotations

import secrets
from typing import Any

from markscheme.verifiers.code.asserts import Plan
from markscheme.verifiers.code.calls import ask
from markscheme.verifiers.code.cases import AssertTests, UnitTests
from markscheme.verifiers.code.inside_tests import MOST_CALLS, SPLIT
from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.results import CaseResult, Trust, ended, failed, passed
from markscheme.verifiers.code.sandbox.pool import Sandbox
from markscheme.verifiers.outcomes import Reason

MOST_ROUNDS = 100
"""How often tests may need the value of one call to know the next."""
_RESULT_BYTES = 8 << 20


def run_tests(
    sandbox: Sandbox, code: str, tests: AssertTests, plan: Plan, limits: Limits, budget: float | None = None
) -> tuple[CaseResult, Execution, Trust]:
    """Run assert-style tests that could not be read into calls; ``budget``: CPU seconds that all runs may take."""
    if plan.shared:
        return run_together(sandbox, code, tests.code, limits, plan.entry)
    answers: list[list[Any]] = []
    spent = 0.0
    ahead = True
    run = Execution(outcome=RunOutcome.FINISHED)
    for _ in range(MOST_ROUNDS):
        run, said = ask(sandbox, "tests", [tests.code, plan.entry, list(plan.names), answers], limits, _RESULT_BYTES)
        spent += run.cpu_seconds
        if budget is not None and spent > budget:
            why = f"over the budget of {budget:g} s of CPU time"
            return failed(_with(run, spent), Reason.TIME_LIMIT, why), run, "high"
        if run.outcome is not RunOutcome.FINISHED:
            return ended(_with(run, spent)), run, "high"
        match said:
            case ["passed", int(count)] if count > 0:
                return passed(_with(run, spent)), run, "high"
            case ["failed", str(text)]:
                return failed(_with(run, spent), Reason.WRONG_ANSWER, f"the tests: {text}"), run, "high"
            case [kind, str()] if kind == SPLIT and not answers:
                return run_together(sandbox, code, tests.code, limits, plan.entry)
            case ["calls", list(made), int(first)] if 0 <= first < len(made) <= MOST_CALLS:
                made = made if ahead else made[: first + 1]
                run, replies = _answers(sandbox, code, made, limits)
                if replies is None and first + 1 < len(made):  # a guess may have asked for what the tests never will
                    spent += run.cpu_seconds
                    ahead = False
                    made = made[: first + 1]
                    run, replies = _answers(sandbox, code, made, limits)
            case _:
                return failed(_with(run, spent), Reason.WRONG_ANSWER, "the tests made no call"), run, "high"
        spent += run.cpu_seconds
        if replies is None:
            return _unanswered(_with(run, spent)), run, "high"
        if replies and replies[0][:1] == ["load"]:
            return failed(_with(run, spent), Reason.RUNTIME_ERROR, f"the program itself: {replies[0][-1]}"), run, "high"
        if len(replies) != len(made):
            return failed(_with(run, spent), Reason.WRONG_ANSWER, "what came back is no result"), run, "high"
        answers = [[*call, reply] for call, reply in zip(made, replies, strict=True)]
    why = f"the tests need more than {MOST_ROUNDS} calls one after another"
    return failed(_with(run, spent), Reason.RESOURCE, why), run, "high"


def _answers(sandbox: Sandbox, code: str, made: list[Any], limits: Limits) -> tuple[Execution, list[list[Any]] | None]:
    """Run all calls so far, in order."""
    wanted = [[name, [], given, True] for name, given in made]
    run, replies = ask(sandbox, "calls", [code, wanted], limits, _RESULT_BYTES)
    if replies is None or not all(map(_is_reply, replies)):
        return run, None
    return run, replies


def _is_reply(reply: object) -> bool:
    """Whether it has the form of an answer: the program may have written anything, which the tests' jail is given."""
    match reply:
        case ["value", bytes()] | ["strange", str()] | ["raised" | "load", str(), str()]:
            return True
    return False


def _with(run: Execution, spent: float) -> Execution:
    return run.model_copy(update={"cpu_seconds": spent})


def _unanswered(run: Execution) -> CaseResult:
    if run.outcome is not RunOutcome.FINISHED:
        return ended(run)
    if not run.result:
        return failed(run, Reason.RUNTIME_ERROR, "it ended without a result")
    return failed(run, Reason.WRONG_ANSWER, "its results cannot be decoded, or are too long")


def run_together(
    sandbox: Sandbox, code: str, tests: str, limits: Limits, entry: str, module: str = "solution"
) -> tuple[CaseResult, Execution, Trust]:
    """Run tests in the program's own jail: trust is low. ``entry`` is empty for tests that import the program."""
    word = secrets.token_bytes(16)  # a program that only writes "passed" and leaves does not know it
    run, said = ask(sandbox, "together", [code, tests, entry, module, word], limits, 1 << 16)
    if run.outcome is not RunOutcome.FINISHED:
        return ended(run), run, "low"
    match said:
        case ["passed", bytes(answer)] if answer == word:
            return passed(run), run, "low"
        case ["load", str(), str(text)]:
            return failed(run, Reason.RUNTIME_ERROR, f"the program itself: {text}"), run, "low"
        case ["failed", str(text)]:
            return failed(run, Reason.WRONG_ANSWER, f"the tests: {text}"), run, "low"
    return failed(run, Reason.RUNTIME_ERROR, "it ended without a result"), run, "low"


def run_unit_tests(
    sandbox: Sandbox, code: str, tests: UnitTests, limits: Limits
) -> tuple[CaseResult, Execution, Trust]:
    """Run a file of tests that imports the program."""
    return run_together(sandbox, code, tests.code, limits, "", tests.module)
