"""Answers that a program writes itself, in the frame of the judge's own: none passes, and none is raised to the caller."""

# ruff: noqa: E501 - programs in one line each

from __future__ import annotations

from typing import Any

import pytest

from markscheme.verifiers import Outcome, Reason
from markscheme.verifiers.code import CallCase, CodeVerifier

PROGRAM = """
import os, sys
from markscheme.verifiers.code import codec
calls = 0
def send(data):
    os.pwrite(3, data, 0)
    os._exit(0)
def answer(*replies):
    send(codec.encode([list(replies), [[]]]))
def value(one):
    return ["value", codec.encode(one)]
def f(n):
    global calls
    calls += 1
    {body}
"""
CALLS = [CallCase(function="f", arguments=(n,), expected=n + 1) for n in range(2)]
# The calls' values are not known before the loop runs, so that these run beside the program, in a jail of their own.
TESTS = {"tests": "for n in range(2):\n    assert f(n) == n + 1\n"}
WHOLE = "[n, [n], {}]"
FORGED = {
    "sets for answers": "answer({1, 2}, {3})",
    "a set inside": "answer(['value', {1, 2}], ['value', {1}])",
    "a dictionary inside": "answer(['raised', 'ValueError', {1: 2}], ['raised', 'x', {}])",
    "nothing inside": "answer(['value'], [])",
    "too few words": "answer(['raised', 'E'], ['raised', 'E'])",
    "numbers for words": "answer([1, 2], [3, 4])",
    "deep": "deep = [];\n    for _ in range(190): deep = [deep]\n    answer(deep, deep)",
    "a damaged value": "answer(['value', b'l\\xff\\xff\\xff\\xff'], ['value', b''])",
    "one answer for all": f"answer(value({WHOLE}))",
    "three answers": f"answer(*[value({WHOLE})] * 3)",
    "the same answer twice": f"answer(*[value({WHOLE})] * 2)",
    "answers for later calls": "answer(value(1), value(1), value(2))",
    "other exceptions": "answer(['raised', 'SystemExit', ''], ['raised', '__import__', ''])",
    "passed": "send(codec.encode([['passed', 2], [[]]]))",
    "passed, by itself": "send(codec.encode(['passed', 2]))",
    "wants calls": "send(codec.encode([['calls', [['f', b'']], 0], [[]]]))",
    "lone surrogates": "answer(['strange', '\\ud800' * 50], ['strange', '\\ud800'])",
    "escape codes": "answer(['strange', '\\x1b[2J' * 50], ['strange', '\\x1b[2J'])",
    "a replay of the frame": f"one = codec.encode([[value({WHOLE})] * 2, [[]]])\n    send(one + one)",
    "after the end": f"one = codec.encode([[value({WHOLE})] * 2, [[]]])\n    send(one + bytes(100))",
    "returned, then replaced": "import atexit\n    atexit.register(os.pwrite, 3, b'N' * 100, 0)\n    return n",
    "a patched codec": "codec.encode = lambda *a, **k: b'N'\n    return n",
    "a patched judge": "for name in ('inside', 'inside_tests'):\n        judge = sys.modules.get(f'markscheme.verifiers.code.{name}')\n"
    "        if judge: judge.encoded = judge._call = lambda *a, **k: b'N'\n    return n",
    "collisions": "answer(*[['value', codec.encode([{k * (2**61 - 1) for k in range(2000)}, [n], {}])]] * 2)",
    "equal to all": "return type('E', (), {'__eq__': lambda *a: True, '__hash__': None})()",
    "ended well": "os._exit(0)",
}


@pytest.mark.parametrize("given", [CALLS, CALLS[:1], TESTS], ids=["calls", "one call", "tests"])
@pytest.mark.parametrize("name", FORGED)
def test_forged_answers(verifier: CodeVerifier, name: str, given: Any) -> None:
    verdict = verifier.verify_program(PROGRAM.format(body=FORGED[name]), given)
    assert (verdict.outcome, verdict.score, verdict.trust) == (Outcome.INCORRECT, 0.0, "high"), verdict
    assert verdict.reason in (Reason.WRONG_ANSWER, Reason.RUNTIME_ERROR, Reason.TIME_LIMIT)
    assert verdict.detail.isprintable()
    assert verdict.model_validate_json(verdict.model_dump_json()) == verdict


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("np.int64(3)", 3), ("np.float32(0.5)", 0.5), ("np.bool_(True)", True), ("np.array([[1, 2], [3, 4]])", [[1, 2], [3, 4]]),
        ("[np.float64(0.5), {np.int8(1): np.str_('a')}]", [0.5, {1: "a"}]), ("np.array(7)", 7), ("np.array(['a', None])", ["a", None]),
        ("Fraction(1, 2)", 0.5), ("Decimal('2.50')", 2.5), ("Fraction(6, 3)", 2), ("[Decimal(3)]", [3]), ("3 + 0j", 3), ("b'x'", b"x"),
        ("collections.Counter('aab')", {"a": 2, "b": 1}), ("collections.OrderedDict(a=1)", {"a": 1}),
    ],
)  # fmt: skip
def test_honest_values_of_other_types(verifier: CodeVerifier, value: str, expected: Any) -> None:
    code = f"import collections\nimport numpy as np\nfrom decimal import Decimal\nfrom fractions import Fraction\ndef f(): return {value}"
    assert verifier.verify_program(code, [CallCase(function="f", expected=expected)]).score == 1.0


@pytest.mark.parametrize(
    "base", ["np.int64", "np.float64", "Fraction", "Decimal", "int", "str", "complex", "frozenset"]
)
def test_subclasses_that_equal_everything_do_not(verifier: CodeVerifier, base: str) -> None:
    code = (
        f"import numpy as np\nfrom decimal import Decimal\nfrom fractions import Fraction\nclass E({base}):\n"
        "    __eq__ = __le__ = __ge__ = lambda *a: True\n    __ne__ = lambda *a: False\n    __hash__ = None\n"
        f"def f(n): return E('4' if {base} is str else () if {base} is frozenset else 4)"
    )
    wrong = [CallCase(function="f", arguments=(n,), expected=n) for n in (3, 5)]
    assert verifier.verify_program(code, wrong).score == 0.0


def test_values_of_exact_types_cross_to_tests_in_a_jail_of_their_own(verifier: CodeVerifier) -> None:
    tests = (
        "from fractions import Fraction\nfrom datetime import date\nfrom decimal import Decimal\n"
        "for n in (1, 2):\n    assert f(Fraction(n), date(2024, 1, n)) == (Fraction(n, 3), date(2024, 2, n), Decimal(n))\n"
    )
    code = "from decimal import Decimal\ndef f(n, day): return n / 3, day.replace(month=2), Decimal(int(n))"
    verdict = verifier.verify_program(code, {"tests": tests})
    assert (verdict.score, verdict.trust) == (1.0, "high"), verdict.detail
    assert verifier.verify_program(code.replace("/ 3", "/ 4"), {"tests": tests}).score == 0.0
