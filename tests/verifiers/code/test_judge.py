"""The verifier of programs: outcomes, reasons, scores, and programs that mean to pass without being right."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from markscheme.verifiers import DataError, Outcome, Reason, Verdict, Verifier
from markscheme.verifiers.code import (
    CallCase,
    Checker,
    CodeVerifier,
    Comparator,
    Execution,
    Limits,
    ProgramVerdict,
    RunOutcome,
    Sandbox,
    StdioCase,
    UnitTests,
)

DOUBLE = [StdioCase(stdin="4\n", stdout="8\n"), StdioCase(stdin="-5\n", stdout="-10")]
ADD = [
    CallCase(function="add", arguments=(1, 2), expected=3),
    CallCase(function="add", arguments=(1000, 13), expected=1013),
]
ATTACKS = Path(__file__).resolve().parents[4] / "shared" / "attacks"


def test_a_completion(verifier: CodeVerifier) -> None:
    text = "Read it:\n```python\nprint(2 * int(input()))\n```\n"
    verdict = verifier.verify(text, DOUBLE)
    assert isinstance(verdict, ProgramVerdict) and isinstance(verdict, Verdict)
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.CORRECT, 1.0, Reason.PASSED)
    assert (verdict.answer, verdict.reading, verdict.trust) == ("print(2 * int(input()))\n", "code_block", "high")
    assert verdict.span is not None and text[slice(*verdict.span)] == verdict.answer
    assert verdict.level in (2, 3) and [case.passed for case in verdict.cases] == [True, True]
    assert verdict.detail == "2 of 2 cases pass"
    assert ProgramVerdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_it_is_a_verifier(verifier: CodeVerifier) -> None:
    assert isinstance(verifier, Verifier)
    cases = json.dumps([{"stdin": "4", "stdout": "8"}])
    assert verifier.verify("print(2 * int(input()))", cases).score == 1.0


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("print(3 * int(input()))", Reason.WRONG_ANSWER),
        ("", Reason.WRONG_ANSWER),
        ("print(2 * int(input()))\nprint()\nraise SystemExit(3)", Reason.RUNTIME_ERROR),
        ("1 / 0", Reason.RUNTIME_ERROR),
        ("print(", Reason.RUNTIME_ERROR),
        ("while True: pass", Reason.TIME_LIMIT),
        ("import time\ntime.sleep(60)", Reason.IDLE_LIMIT),
        ("a = bytearray(10 ** 10)", Reason.MEMORY_LIMIT),
        ("while True: print('x' * 10 ** 6)", Reason.OUTPUT_LIMIT),
        ("print('passed')", Reason.WRONG_ANSWER),
        ("import sys\nsys.exit(0)", Reason.WRONG_ANSWER),
    ],
)
def test_reasons_of_outputs(verifier: CodeVerifier, program: str, reason: Reason) -> None:
    verdict = verifier.verify_program(program, DOUBLE)
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.INCORRECT, 0.0, reason)
    assert len(verdict.cases) == 1  # it stops at the first that fails
    assert verdict.detail.startswith("case 1 of 2: ")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("def add(a, b): return a", Reason.WRONG_ANSWER),
        ("def add(a, b): return None", Reason.WRONG_ANSWER),
        ("def add(a, b): return object()", Reason.WRONG_ANSWER),
        ("def add(a, b): return str(a + b)", Reason.WRONG_ANSWER),
        ("def add(a, b): return float('nan')", Reason.WRONG_ANSWER),
        ("def add(a, b): return [a + b] * 10 ** 5", Reason.WRONG_ANSWER),
        ("class E(int):\n    def __eq__(self, other): return True\ndef add(a, b): return E(7)", Reason.WRONG_ANSWER),
        ("def add(a, b):\n    x = []\n    x.append(x)\n    return x", Reason.WRONG_ANSWER),
        ("def add(a, b): raise ValueError('\\x1b[31m')", Reason.RUNTIME_ERROR),
        ("def add(a, b): return add(a, b)", Reason.RUNTIME_ERROR),
        ("def add(a, b): raise SystemExit(0)", Reason.RUNTIME_ERROR),
        ("import os\nos._exit(0)", Reason.RUNTIME_ERROR),
        ("def other(a, b): return a + b", Reason.RUNTIME_ERROR),
        ("def add(a, b): return [0] * 10 ** 10", Reason.MEMORY_LIMIT),
        ("def add(a, b):\n    while True: pass", Reason.TIME_LIMIT),
        ("import os\nos.write(3, b'garbage')\ndef add(a, b): return a + b", Reason.WRONG_ANSWER),
    ],
)
def test_reasons_of_calls(verifier: CodeVerifier, program: str, reason: Reason) -> None:
    verdict = verifier.verify_program(program, ADD)
    assert (verdict.outcome, verdict.score, verdict.reason, verdict.trust) == (Outcome.INCORRECT, 0.0, reason, "high")
    assert verdict.detail.isprintable()


@pytest.mark.parametrize(
    "program",
    [
        "def add(a, b): return a + b",
        "class Solution:\n    def add(self, a, b): return a + b",
        "add = lambda a, b: float(a + b)",
        "from __future__ import annotations\ndef add(a: X, b: X): return a + b",
        "def add(a, b): return a + b\nif __name__ == '__main__':\n    print(add(*map(int, input().split())))",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: int\n"
        "def add(a, b): return (lambda p: p.a + p.b)(P(a, b))",
        "import sys\nsys.setrecursionlimit(5000)\ndef add(a, b): return a if b == 0 else 1 + add(a, b - 1)",
        "print('hello')\ndef add(a, b):\n    print(a, b)\n    return a + b",
    ],
)
def test_good_programs(verifier: CodeVerifier, program: str) -> None:
    verdict = verifier.verify_program(program, ADD)
    assert (verdict.score, verdict.detail) == (1.0, "2 of 2 cases pass")


def test_a_case_that_hangs_does_not_take_the_others_with_it(judge_sandbox: Sandbox) -> None:
    judge = CodeVerifier(judge_sandbox, limits=Limits(cpu_seconds=1), score="fraction")
    program = "def add(a, b):\n    while a > 500: pass\n    return a + b"
    verdict = judge.verify_program(program, ADD)
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.INCORRECT, 0.5, Reason.TIME_LIMIT)
    assert [case.reason for case in verdict.cases] == [Reason.PASSED, Reason.TIME_LIMIT]


def test_the_share_of_the_cases(judge_sandbox: Sandbox) -> None:
    judge = CodeVerifier(judge_sandbox, score="fraction")
    verdict = judge.verify_program("print(8)", [*DOUBLE, StdioCase(stdin="4", stdout="8")])
    assert (verdict.outcome, verdict.score) == (Outcome.INCORRECT, pytest.approx(2 / 3))
    assert [case.passed for case in verdict.cases] == [True, False, True]
    assert judge.verify_program("print(int(input()) * 2)", DOUBLE).score == 1.0
    assert judge.verify_program("print()", DOUBLE).score == 0.0


def test_a_budget_for_all_cases(judge_sandbox: Sandbox) -> None:
    judge = CodeVerifier(judge_sandbox, budget_seconds=0.5)
    program = "import time\nt = time.process_time()\nwhile time.process_time() < t + 0.2: pass"
    verdict = judge.verify_program(program, [StdioCase(stdin="", stdout="")] * 20)
    assert (verdict.outcome, verdict.reason) == (Outcome.INCORRECT, Reason.TIME_LIMIT)
    assert "budget" in verdict.detail and 2 <= len(verdict.cases) < 8


def test_long_outputs(verifier: CodeVerifier) -> None:
    text = "".join(f"{n}\n" for n in range(200_000))
    assert verifier.verify_program("for n in range(200000): print(n)", [StdioCase(stdin="", stdout=text)]).score == 1.0
    assert verifier.verify_program("for n in range(199999): print(n)", [StdioCase(stdin="", stdout=text)]).score == 0.0


def test_comparators(judge_sandbox: Sandbox) -> None:
    third = [StdioCase(stdin="", stdout="0.3333333")]
    assert CodeVerifier(judge_sandbox).verify_program("print(1 / 3)", third).score == 0.0
    assert CodeVerifier(judge_sandbox, comparator=Comparator(abs_tol=1e-6)).verify_program("print(1 / 3)", third).score == 1.0


CHECKER = Checker(
    code="import json, sys\n"
    "given = json.load(sys.stdin)\n"
    "a, b = map(int, given['output'].split())\n"
    "assert a + b == int(given['input']) and given['expected'] == 'any'\n"
)


@pytest.mark.parametrize(
    ("program", "score"),
    [
        ("print(3, int(input()) - 3)", 1.0),
        ("print(1, 1)", 0.0),
        ("print('import os; os._exit(0)')", 0.0),
        ("print()", 0.0),
    ],
)
def test_a_checker(judge_sandbox: Sandbox, program: str, score: float) -> None:
    judge = CodeVerifier(judge_sandbox, comparator=Comparator(checker=CHECKER))
    assert judge.verify_program(program, [StdioCase(stdin="10", stdout="any")]).score == score
    with pytest.raises(DataError, match="give stdin/stdout cases"):
        judge.verify_program("def add(a, b): return a + b", ADD)


UNIT = UnitTests(
    code="import unittest\nfrom solution import add\n\n\nclass T(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n"
)


@pytest.mark.parametrize(
    ("program", "score"),
    [
        ("def add(a, b): return a + b", 1.0),
        ("def add(a, b): return a", 0.0),
        ("import os\nos._exit(0)", 0.0),
        ("import sys\nsys.exit(0)", 0.0),
        ("def sub(a, b): return a + b", 0.0),
    ],
)
def test_unit_tests_are_low_trust(verifier: CodeVerifier, program: str, score: float) -> None:
    verdict = verifier.verify_program(program, UNIT)
    assert (verdict.score, verdict.trust) == (score, "low")


def test_no_test_run_is_no_pass(verifier: CodeVerifier) -> None:
    verdict = verifier.verify_program("def add(a, b): return a + b", UnitTests(code="import solution\nprint(1)"))
    assert (verdict.score, verdict.reason) == (0.0, Reason.WRONG_ANSWER)
    assert "no test was run" in verdict.detail


@pytest.mark.parametrize("cases", [[], "[]", {"cases": []}, {"tests": "x = 1"}])
def test_no_cases_are_an_error(verifier: CodeVerifier, cases: Any) -> None:
    with pytest.raises(DataError):
        verifier.verify("```python\nprint(1)\n```", cases)


class Broken(Sandbox):
    """A sandbox that fails."""

    def __init__(self) -> None:
        self.level, self.workers, self.preload, self.runs = 3, 1, (), 0

    def run(self, *_: Any, **__: Any) -> Execution:
        self.runs += 1
        return Execution(outcome=RunOutcome.BROKEN, level=3, detail="no memory for a jail")

    call = run


@pytest.mark.parametrize("cases", [DOUBLE, ADD, UNIT, {"tests": "for i in (1,):\n    assert add(i, i) == 2"}])
@pytest.mark.parametrize("score", ["all", "fraction"])
def test_a_broken_sandbox_is_no_fault_of_the_program(cases: Any, score: Any) -> None:
    verdict = CodeVerifier(Broken(), score=score).verify_program("print(1)", cases)
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.BROKEN, None, Reason.SANDBOX_FAILED)
    assert "no memory for a jail" in verdict.detail


def test_many_threads_and_asyncio(verifier: CodeVerifier) -> None:
    good, bad = "print(2 * int(input()))", "print(1)"
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: verifier.verify_program(good if n % 2 else bad, DOUBLE).score, range(24)))
    assert found == [0.0, 1.0] * 12

    async def both() -> list[float | None]:
        verdicts = await asyncio.gather(*(verifier.averify(one, DOUBLE) for one in (good, bad)))
        return [verdict.score for verdict in verdicts]

    assert asyncio.run(both()) == [1.0, 0.0]
    assert [one.score for one in verifier.verify_many([good, bad], [DOUBLE, DOUBLE])] == [1.0, 0.0]
    with pytest.raises(DataError, match="row 1"):
        verifier.verify_many([good, bad], [DOUBLE, []])
    with pytest.raises(ValueError, match="expected one each"):
        verifier.verify_many([good], [])


def test_its_own_sandbox() -> None:
    with CodeVerifier(workers=1) as judge:
        copy = pickle.loads(pickle.dumps(judge))
        thread = threading.Thread(target=lambda: judge.verify_program("print(1)", DOUBLE))
        thread.start()
        thread.join()
        assert judge.verify_program("print(2 * int(input()))", DOUBLE).score == 1.0
        with copy:
            assert copy.verify_program("print(2 * int(input()))", DOUBLE).score == 1.0
    with pytest.raises(TypeError, match="leave sandbox=None"):
        pickle.dumps(CodeVerifier(Broken()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"score": "half"}, "score must be"),
        ({"language": "cobol"}, "language must be"),
        ({"budget_seconds": 0}, "budget_seconds must be"),
    ],
)
def test_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CodeVerifier(**settings)


@pytest.mark.skipif(not ATTACKS.is_dir(), reason="the folder of hostile programs is not beside this one")
def test_hostile_programs_never_pass(judge_sandbox: Sandbox) -> None:
    judge = CodeVerifier(judge_sandbox, limits=Limits(cpu_seconds=1, wall_seconds=10, idle_seconds=0.5))
    programs = sorted(ATTACKS.glob("*.py"))
    calls = [*ADD, CallCase(function="add", arguments=(5, 5), expected=10)]
    lines = [StdioCase(stdin="1 2\n", stdout="3"), StdioCase(stdin="1000 13\n", stdout="1013")]
    assert len(programs) > 40
    for cases in (calls, lines):
        verdicts = judge.verify_many(
            [f"```python\n{one.read_text()}\n```" for one in programs], [cases] * len(programs)
        )
        passed = [one.name for one, verdict in zip(programs, verdicts, strict=True) if verdict.score != 0.0]
        assert passed == []
