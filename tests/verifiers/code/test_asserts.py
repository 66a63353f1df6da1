"""Tests that assert: what is read into calls, what runs in a jail of its own, what only in one with the program."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from markscheme.verifiers import DataError
from markscheme.verifiers.code import AssertTests, CallCase, CodeVerifier
from markscheme.verifiers.code.asserts import plan


def call(test: str) -> CallCase | None:
    planned = plan(AssertTests(code=test, entry_point="f"))
    return planned.calls[0] if planned.calls else None


@pytest.mark.parametrize(
    ("test", "relation", "expected", "through"),
    [
        ("assert f(1) == [1, 2]", "==", [1, 2], ()),
        ("assert [1] * 3 == f(1)", "==", [1, 1, 1], ()),
        ("assert f(1) == (-2, 3 / 4, 'a' + 'b', {1: {2}})", "==", (-2, 0.75, "ab", {1: {2}}), ()),
        ("assert f(1) == list(range(3)), 'message'", "==", [0, 1, 2], ()),
        ("assert f(1)", "true", None, ()),
        ("assert not f(1)", "false", None, ()),
        ("assert f(1) is None", "is", None, ()),
        ("assert f(1) is True", "is", True, ()),
        ("assert f(1) != 3", "!=", 3, ()),
        ("assert f(1) in (1, 2)", "in", [1, 2], ()),
        ("assert f(1) == 1 or f(1) == 2", "in", [1, 2], ()),
        ("assert abs(f(1) - 0.5) < 1e-6", "close", 0.5, ()),
        ("import math\nassert math.isclose(f(1), math.pi, rel_tol=1e-3)", "close", pytest.approx(3.14159), ()),
        ("assert sorted(f(1)) == [1]", "==", [1], ("sorted",)),
        ("assert len(set(f(1))) == 2", "==", 2, ("set", "len")),
        ("def check(candidate):\n    assert candidate(1) == 2\n", "==", 2, ()),
        ("def check(candidate):\n    assert True, 'well'\n    assert candidate(1) == 2\n\ncheck(f)", "==", 2, ()),
        ("assert Solution().f(1) == 2", "==", 2, ()),
    ],
)
def test_read_into_calls(test: str, relation: str, expected: object, through: tuple[str, ...]) -> None:
    case = call(test)
    assert case is not None
    assert (case.function.rpartition(".")[2], case.arguments) == ("f", (1,))
    assert (case.relation, case.expected, case.through) == (relation, expected, through)


@pytest.mark.parametrize(
    "test",
    [
        "assert f(f(1)) == 2",
        "x = [1]\nassert f(x) == 2",
        "for i in range(3):\n    assert f(i) == i",
        "assert f(1) == open('/etc/passwd').read()",
        "assert f(1) == 10 ** 10 ** 10",
        "assert f(1) == [0] * 10 ** 9",
        "assert f(1) == sum(range(10 ** 12))",
        "assert f(1) == '%0999999999d' % 1",
        "assert f(lambda: 1) == 2",
        "assert 1 < f(1) < 3",
    ],
)
def test_not_read(test: str) -> None:
    assert call(test) is None


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("def check(candidate):\n    assert True", "no assertion about the program"),
        ("assert f(1) == 1\nassert not True", "that nothing can pass"),
    ],
)
def test_errors(test: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call(test)


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("s = Stack()\ns.push(1)\nassert s.pop() == 1", "class Stack"),
        ("import numpy as np\nassert np.allclose(f(1), [1])", "import numpy"),
        ("for x in (1,):\n    assert f.cache(x)", "attributes of f"),
        ("for x in (1,):\n    assert f(x)", ""),
    ],
)
def test_why_one_jail(test: str, why: str) -> None:
    planned = plan(AssertTests(code=test))
    assert planned.calls is None
    assert why in planned.shared
    assert bool(why) == bool(planned.shared)


SPLIT = [
    pytest.param(
        "def f(a):\n    a.sort()\n    a[0].append(9)",
        "x = [[2], [1]]\ninner = x[0]\nf(x)\nassert x[1] == [2] and x[0][-1] == 9, x",
        id="arguments are handed back",
    ),
    pytest.param(
        "def f(a):\n    a['n'].append(1)",
        "d = {'n': []}\ninner = d['n']\nf(d)\nf(d)\nassert inner == [1, 1] and d['n'] is inner",
        id="inner containers stay themselves",
    ),
    pytest.param(
        "class Mine(ValueError): pass\ndef f(a):\n    raise Mine('no')",
        "try:\n    f(1)\nexcept ValueError as error:\n    assert 'no' in str(error)\nelse:\n    assert False",
        id="built-in exceptions are raised again",
    ),
    pytest.param(
        "n = 0\ndef f():\n    global n\n    n += 1\n    return n",
        "for i in range(50):\n    assert f() == i + 1",
        id="state is kept",
    ),
    pytest.param(
        "def f(a): return a + 1", "x = 0\nfor _ in range(5):\n    x = f(x)\nassert x == 5", id="results are used"
    ),
    pytest.param(
        "import random\ndef f(a): return sorted(a)",
        "import random\nfor _ in range(20):\n    x = [random.random()] * 2 + [0]\n    assert f(list(x)) == sorted(x)",
        id="random tests repeat",
    ),
    pytest.param(
        "def f(a):\n    while a > 3: pass\n    return a",
        "x = 0\nwhile f(x) < 3:\n    x += 1\nassert x == 3",
        id="a guess is no reason to fail",
    ),
    pytest.param(
        "from collections import Counter, namedtuple\nP = namedtuple('P', 'x y')\ndef f(a): return P(a, Counter('aa'))",
        "for x in (1,):\n    assert f(x) == (1, {'a': 2})",
        id="values that equal built-in ones",
    ),
    pytest.param(
        "def f(a): return a",
        "def test_one():\n    for x in (1, 2):\n        assert f(x) == x\n",
        id="test functions",
    ),
    pytest.param("def f(a, *, b=1): return a + b", "for x in (1,):\n    assert f(x, b=2) == 3", id="keywords"),
]


@pytest.mark.parametrize(("program", "tests"), SPLIT)
def test_two_jails(verifier: CodeVerifier, program: str, tests: str) -> None:
    verdict = verifier.verify_program(program, AssertTests(code=tests))
    assert (verdict.score, verdict.trust, verdict.detail) == (1.0, "high", "1 of 1 cases pass")


@pytest.mark.parametrize(
    "program",
    [
        "def f(a): return a",
        "def f(a): raise ValueError(a)",
        "def f(a): raise SystemExit(0)",
        "import os\ndef f(a): os._exit(0)",
        "import sys\nsys.exit(0)",
        "class E:\n    def __eq__(self, other): return True\n    __lt__ = __ne__ = __eq__\ndef f(a): return E()",
        "class E(int):\n    def __eq__(self, other): return True\ndef f(a): return E(7)",
        "def f(a): return float('nan')",
        "def f(a):\n    while True: pass",
        "import os\nos.write(3, b'l\\x00\\x00\\x00\\x01s\\x00\\x00\\x00\\x06passed')\ndef f(a): return 1",
        "import builtins\nbuiltins.AssertionError = builtins.Exception\ndef f(a): return 1",
        "def f(a:",
        "",
    ],
)
def test_two_jails_are_not_fooled(verifier: CodeVerifier, program: str) -> None:
    tests = "for i in (3, 5):\n    assert f(i) == i * i"
    verdict = verifier.verify_program(program, AssertTests(code=tests))
    assert (verdict.outcome, verdict.score, verdict.trust) == ("incorrect", 0.0, "high")


def test_a_sequence_too_long_ends(verifier: CodeVerifier) -> None:
    tests = AssertTests(code="x = 0\nwhile x >= 0:\n    x = f(x)")
    verdict = verifier.verify_program("def f(x): return x + 1", tests)
    assert (verdict.outcome, verdict.reason) == ("incorrect", "resource")


def test_one_jail_is_low_trust(verifier: CodeVerifier) -> None:
    stack = "class Stack:\n    def __init__(self): self.a = []\n    push = lambda self, x: self.a.append(x)\n"
    tests = AssertTests(code="s = Stack()\ns.push(1)\nassert s.pop() == 1")
    good = verifier.verify_program(stack + "    pop = lambda self: self.a.pop()", tests)
    bad = verifier.verify_program(stack + "    pop = lambda self: 2", tests)
    left = verifier.verify_program("import sys\nsys.exit(0)", tests)
    assert [(one.score, one.trust) for one in (good, bad, left)] == [(1.0, "low"), (0.0, "low"), (0.0, "low")]
    assert "own jail" in good.detail


def test_many_threads_read_tests() -> None:
    def read(n: int) -> bool:
        body = "\n".join(f"    assert candidate({i}) == [{i}, ({n}, {{'a': {i}}})]" for i in range(60))
        return plan(AssertTests(code=f"def check(candidate):\n{body}", entry_point="f")).calls is not None

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(read, range(200)))
