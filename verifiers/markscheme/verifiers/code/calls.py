"""Running call cases: all in one jail where that ends well, else each in a jail of its own."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markscheme.verifiers.code import codec
from markscheme.verifiers.code import inside as _inside
from markscheme.verifiers.code import inside_tests as _inside_tests
from markscheme.verifiers.code.cases import CallCase
from markscheme.verifiers.code.compare import Comparator, most_bytes, most_values
from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.results import CaseResult, ended, failed, passed, shown, shown_value
from markscheme.verifiers.code.sandbox.pool import Sandbox
from markscheme.verifiers.outcomes import Reason

INSIDE = (_inside.__name__, _inside_tests.__name__)
"""The modules that do the judge's part in a jail; a sandbox that has them preloaded need not compile them each time."""
_BATCH = 64  # cases in one jail
_BATCH_SECONDS = 1.0  # CPU seconds that a batch may take: a program that hangs is found out twice
_ROOM = 256  # bytes of an answer's own framing
_MOST_VALUES = 4 * _inside_tests.MOST_CALLS + 64  # in the frame of what comes back, where each result is bytes


def inside(sandbox: Sandbox, function: str) -> str:
    """The program by which a jail gets a function of ``inside`` or ``inside_tests``."""
    home = INSIDE[0] if function == "calls" else INSIDE[1]
    if home in sandbox.preload:
        return f"from {home} import {function}"
    return _source()


@functools.cache
def _source() -> str:
    """Both modules as one."""
    first, second = (Path(str(module.__file__)).read_text(encoding="utf-8") for module in (_inside, _inside_tests))
    apart = ("from __future__", f"from {INSIDE[0]} import")
    return first + "".join(line for line in second.splitlines(keepends=True) if not line.startswith(apart))


def ask(
    sandbox: Sandbox, function: str, job: list[Any], limits: Limits, result_bytes: int
) -> tuple[Execution, list[Any] | None]:
    """Call a function of ``inside`` in a jail: the run, and the list that came back, or None."""
    run = sandbox.call(inside(sandbox, function), function, [job], limits=limits, result_bytes=result_bytes)
    if run.outcome is not RunOutcome.FINISHED:
        return run, None
    with contextlib.suppress(codec.Damaged, RecursionError):
        found = codec.decode(run.result, _MOST_VALUES)
        if type(found) is list and len(found) == 2 and type(found[0]) is list:
            return run, found[0]
    return run, None


def run_calls(
    sandbox: Sandbox, code: str, cases: Sequence[CallCase], comparator: Comparator, limits: Limits
) -> Iterator[tuple[CaseResult, Execution]]:
    """Run the cases in order; the results as they come, so that the caller may stop."""
    for start in range(0, len(cases), _BATCH):
        batch = cases[start : start + _BATCH]
        results = _together(sandbox, code, batch, comparator, limits) if len(batch) > 1 else None
        if results is not None:
            yield from results
        else:
            for case in batch:
                yield _alone(sandbox, code, case, comparator, limits)


def _wanted(case: CallCase) -> list[Any]:
    given = codec.encode([list(case.arguments), case.keywords], ordered=True)
    return [case.function, list(case.through), given, False]


def _most(case: CallCase) -> int:
    return most_bytes(len(codec.encode(case.expected)))


def _together(
    sandbox: Sandbox, code: str, cases: Sequence[CallCase], comparator: Comparator, limits: Limits
) -> list[tuple[CaseResult, Execution]] | None:
    """All cases in one jail; None unless every one has an answer of its own."""
    tight = limits.model_copy(update={"cpu_seconds": min(limits.cpu_seconds, _BATCH_SECONDS)})
    room = sum(len(codec.encode(case.expected)) * 4 + _ROOM for case in cases) + (1 << 16)
    run, answers = ask(sandbox, "calls", [code, [_wanted(case) for case in cases]], tight, room)
    if answers is None or len(answers) != len(cases):
        return None
    share = run.model_copy(update={"cpu_seconds": run.cpu_seconds / len(cases)})
    return [(judge_answer(answer, case, comparator, share), share) for answer, case in zip(answers, cases, strict=True)]


def _alone(
    sandbox: Sandbox, code: str, case: CallCase, comparator: Comparator, limits: Limits
) -> tuple[CaseResult, Execution]:
    run, answers = ask(sandbox, "calls", [code, [_wanted(case)]], limits, _most(case) + _ROOM)
    if run.outcome is not RunOutcome.FINISHED:
        return ended(run), run
    if answers is None or len(answers) != 1:
        why = "it ended without a result" if not run.result else "its result cannot be decoded, or is too long"
        return failed(run, Reason.RUNTIME_ERROR if not run.result else Reason.WRONG_ANSWER, why), run
    return judge_answer(answers[0], case, comparator, run), run


def judge_answer(answer: object, case: CallCase, comparator: Comparator, run: Execution) -> CaseResult:
    """Judge what a jail says of one call: data that the program may have written itself."""
    name = case.function
    match answer:
        case ["value", bytes(data)] if len(data) <= _most(case):
            try:
                value = codec.decode(data, most_values(case))
            except (codec.Damaged, RecursionError) as error:
                return failed(run, Reason.WRONG_ANSWER, f"{name}: its result cannot be decoded: {error}")
            if comparator.holds(case, value):
                return passed(run)
            return failed(run, Reason.WRONG_ANSWER, f"{_described(case)}: it gave {shown_value(value)}")
        case ["value", bytes()]:
            return failed(run, Reason.WRONG_ANSWER, f"{name}: its result is far longer than what is expected")
        case ["strange", str(what)]:
            return failed(run, Reason.WRONG_ANSWER, f"{name} returned {shown(what, 100)}")
        case ["raised", str(kind), str(text)]:
            reason = Reason.MEMORY_LIMIT if kind == "MemoryError" else Reason.RUNTIME_ERROR
            return failed(run, reason, f"{name}: {text[:300]}")
        case ["load", str(kind), str(text)]:
            reason = Reason.MEMORY_LIMIT if kind == "MemoryError" else Reason.RUNTIME_ERROR
            return failed(run, reason, f"the program itself: {text[:300]}")
    return failed(run, Reason.WRONG_ANSWER, f"{name}: what came back is no result")


def _described(case: CallCase) -> str:
    """The call and what it must give."""
    arguments = ", ".join(shown_value(argument, 40) for argument in case.arguments[:4])
    call = f"{case.function}({arguments}{', …' if len(case.arguments) > 4 else ''})"
    for step in case.through:
        call = f"{step}({call})"
    if case.relation in ("true", "false"):
        return f"{call} must be {case.relation}"
    relation = {"close": "≈"}.get(case.relation, case.relation)
    return f"{call} {relation} {shown_value(case.expected)}"
