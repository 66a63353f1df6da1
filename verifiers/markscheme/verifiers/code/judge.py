"""Runs a program against its cases and says how each came out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markscheme.verifiers.code import languages
from markscheme.verifiers.code.asserts import plan
from markscheme.verifiers.code.calls import run_calls
from markscheme.verifiers.code.cases import AssertTests, CallCase, Cases, StdioCase, UnitTests
from markscheme.verifiers.code.compare import Checker, Comparator
from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.results import CaseResult, Trust, ended, failed, passed, shown
from markscheme.verifiers.code.sandbox.pool import Sandbox
from markscheme.verifiers.code.split import run_tests, run_unit_tests
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.outcomes import Reason


class Settings(NamedTuple):
    """How programs are judged."""

    limits: Limits
    comparator: Comparator
    budget_seconds: float | None
    everything: bool
    language: str


class Judged(NamedTuple):
    """How the cases came out, of how many, at which level, and what that is worth."""

    cases: tuple[CaseResult, ...]
    total: int
    level: int
    trust: Trust


Results = Iterator[tuple[CaseResult, Execution]]


def judge(sandbox: Sandbox, program: str, cases: Cases, settings: Settings) -> Judged:
    """Run a program.

    Args:
        sandbox: where.
        program: what.
        cases: against what.
        settings: how; unless ``everything`` is asked for, it stops at the first case that fails.

    Raises:
        DataError: cases that cannot be run in this language, or assert nothing.
        SandboxError: the language needs what this host does not have.
    """
    trust: Trust = "high"
    if not isinstance(cases, AssertTests | UnitTests):
        results, total = _cases(sandbox, program, cases, settings), len(cases)
    elif settings.language != "python":
        raise DataError(
            f"tests in Python judge programs in Python, not in {settings.language}: give stdin/stdout cases"
        )
    else:
        limits = _bounded(settings.limits, settings.budget_seconds)
        if isinstance(cases, UnitTests):
            result, run, trust = run_unit_tests(sandbox, program, cases, limits)
            return Judged((result,), 1, run.level or sandbox.level, trust)
        planned = plan(cases)
        if planned.calls is None:
            result, run, trust = run_tests(sandbox, program, cases, planned, limits, settings.budget_seconds)
            return Judged((result,), 1, run.level or sandbox.level, trust)
        results, total = _cases(sandbox, program, planned.calls, settings), len(planned.calls)
    found: list[CaseResult] = []
    spent = 0.0
    for result, _ in results:
        found.append(result)
        spent += result.cpu_seconds
        if not result.passed and not (settings.everything and result.reason is not Reason.SANDBOX_FAILED):
            break
        if settings.budget_seconds is not None and spent > settings.budget_seconds and len(found) < total:
            why = f"over the budget of {settings.budget_seconds:g} s of CPU time after {len(found)} of {total} cases"
            found.append(failed(Execution(outcome=RunOutcome.TIME), Reason.TIME_LIMIT, why))
            break
    return Judged(tuple(found), total, sandbox.level, trust)


def _bounded(limits: Limits, budget: float | None) -> Limits:
    """Limits of one run within the budget of a verdict."""
    if budget is None or budget >= limits.cpu_seconds:
        return limits
    return limits.model_copy(update={"cpu_seconds": budget})


def _cases(sandbox: Sandbox, program: str, cases: Sequence[StdioCase | CallCase], settings: Settings) -> Results:
    limits = _bounded(settings.limits, settings.budget_seconds)
    if not cases:
        raise DataError("expected at least one case, found none; no cases are never a pass")
    calls = [case for case in cases if isinstance(case, CallCase)]
    if not calls:
        return _stdio(sandbox, program, [case for case in cases if isinstance(case, StdioCase)], limits, settings)
    if len(calls) != len(cases):
        raise DataError("expected cases of one kind, found both stdin/stdout and calls")
    if settings.language != "python":
        raise DataError(f"calls are for programs in Python, not in {settings.language}: give stdin/stdout cases")
    if settings.comparator.checker is not None:
        raise DataError("a checker judges what programs write: give stdin/stdout cases, not calls")
    return run_calls(sandbox, program, calls, settings.comparator, limits)


def _stdio(sandbox: Sandbox, program: str, cases: Sequence[StdioCase], limits: Limits, settings: Settings) -> Results:
    runner = languages.runner(sandbox, program, settings.language, limits)
    if isinstance(runner, Execution):
        yield failed(runner, Reason.COMPILE_ERROR, runner.detail) if runner.exit_code else ended(runner), runner
        return
    for case in cases:
        run = runner(case.stdin.encode("utf-8", "surrogatepass"))
        if run.outcome is not RunOutcome.FINISHED:
            yield ended(run), run
        elif settings.comparator.checker is not None:
            yield _checked(sandbox, settings.comparator.checker, case, run, limits), run
        elif settings.comparator.same_text(case.stdout, run.stdout):
            yield passed(run), run
        else:
            yield failed(run, Reason.WRONG_ANSWER, _difference(case, run.stdout)), run


def _checked(sandbox: Sandbox, checker: Checker, case: StdioCase, run: Execution, limits: Limits) -> CaseResult:
    output = run.stdout.decode("utf-8", "replace")
    given = json.dumps({"input": case.stdin, "expected": case.stdout, "output": output})
    check = sandbox.run(checker.code, given.encode(), limits=limits)
    if check.outcome is RunOutcome.FINISHED:
        return passed(run)
    if check.outcome is RunOutcome.BROKEN:
        return ended(check)
    said = check.detail or check.stderr[-200:].decode("utf-8", "replace").strip() or f"exit status {check.exit_code}"
    return failed(run, Reason.WRONG_ANSWER, f"the checker rejects it: {said}")


def _difference(case: StdioCase, output: bytes) -> str:
    found = output[:120].decode("utf-8", "replace")
    given = f"for input {shown(case.stdin[:80])!r} " if case.stdin else ""
    return f"{given}expected {shown(case.stdout[:120])!r}, found {shown(found)!r}"
