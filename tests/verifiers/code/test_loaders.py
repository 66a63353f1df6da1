"""Readers of public sets."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from markscheme.verifiers import DataError
from markscheme.verifiers.code import (
    AssertTests,
    CallCase,
    CodeVerifier,
    StdioCase,
    load_humaneval,
    read_input_output,
    read_livecodebench,
)


def packed(text: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(text))).decode()


def test_humaneval_from_a_file(tmp_path: Path, verifier: CodeVerifier) -> None:
    prompt = 'def helper(x):\n    return x + 1\n\n\ndef f(x):\n    """Twice."""\n'
    test = "def check(candidate):\n    for i in range(3):\n        assert candidate(i) + 1 == helper(2 * i)\n"
    row = {
        "task_id": "T/0",
        "prompt": prompt,
        "entry_point": "f",
        "test": test,
        "canonical_solution": "    return 2 * x\n",
    }
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (problem,) = load_humaneval(path)
    assert isinstance(problem.cases, AssertTests) and problem.solution == prompt + "    return 2 * x\n"
    assert verifier.verify("    return 2 * x\n", problem.cases).score == 1.0
    assert verifier.verify("```python\ndef f(x):\n    return helper(x) + x - 1\n```", problem.cases).score == 1.0
    cheat = "def helper(x):\n    return 8\ndef f(x):\n    return 7\n"  # the tests have a helper of their own
    assert verifier.verify(f"```python\n{cheat}```", problem.cases).score == 0.0
    path.write_text('{"task_id": "T/0"}\n')
    with pytest.raises(DataError, match='row 0: field "prompt": expected text'):
        load_humaneval(path)


def test_apps(verifier: CodeVerifier) -> None:
    lines = read_input_output(json.dumps({"inputs": ["1\n", ["2", "3"]], "outputs": ["1\n", ["5"]]}))
    assert lines == (StdioCase(stdin="1\n", stdout="1\n"), StdioCase(stdin="2\n3", stdout="5"))
    calls = read_input_output({"fn_name": "f", "inputs": [[[1, 2]], [[3]]], "outputs": [[3], 3]})
    assert isinstance(calls[0], CallCase)  # type: ignore[index]
    assert verifier.verify_program("class Solution:\n    def f(self, a): return sum(a)", calls).score == 1.0
    assert verifier.verify_program("def f(a): return [sum(a)]", calls).score == 0.0


@pytest.mark.parametrize(
    "data",
    ["{", "[]", {"inputs": [], "outputs": []}, {"inputs": ["1"], "outputs": []}, {"inputs": [1], "outputs": [1]}, {}],
)
def test_apps_errors(data: Any) -> None:
    with pytest.raises(DataError):
        read_input_output(data)


def test_apps_keys_of_dictionaries(verifier: CodeVerifier) -> None:
    row = {"fn_name": "f", "inputs": [[{"1": 2}], [{"3": 4}, 5]], "outputs": [{"2": 1}, [{"4": "3"}]]}
    first, second = read_input_output(row)
    assert (first.arguments, first.expected) == (({1: 2},), [{"2": 1}, {2: 1}])  # type: ignore[union-attr]
    assert (second.arguments, second.expected) == (({"3": 4}, 5), [[{"4": "3"}], {"4": "3"}, {4: "3"}])  # type: ignore[union-attr]
    swap = "def f(d, n=0): return {v: k for k, v in d.items()}"
    assert verifier.verify_program(swap, [first, second]).score == 1.0
    wrong = read_input_output(row | {"inputs": [[{"1": 3}], [{"a": 4}, 5]]})
    assert all(case.score == 0.0 for case in (verifier.verify_program(swap, [one]) for one in wrong))
    (kept,) = read_input_output(
        {"fn_name": "f", "inputs": [[{"1": 2, "01": 3, "x": 4}]], "outputs": [{"1": 2, "01": 3}]}
    )
    assert (kept.arguments, kept.expected) == (({"1": 2, "01": 3, "x": 4},), {"1": 2, "01": 3})  # type: ignore[union-attr]


def test_livecodebench(verifier: CodeVerifier) -> None:
    stdin = [{"input": "1 2", "output": "3", "testtype": "stdin"}]
    row = {
        "public_test_cases": json.dumps(stdin),
        "private_test_cases": packed(json.dumps(stdin)),
        "metadata": "{}",
    }
    assert read_livecodebench(row) == (StdioCase(stdin="1 2", stdout="3"),) * 2
    call = [{"input": "[1, 2]\n3", "output": "[4, 5]", "testtype": "functional"}]
    private = base64.b64encode(zlib.compress(json.dumps(call).encode())).decode()
    row = {"public_test_cases": call, "private_test_cases": private, "metadata": json.dumps({"func_name": "f"})}
    cases = read_livecodebench(row)
    assert len(cases) == 2  # type: ignore[arg-type]
    program = "class Solution:\n    def f(self, a, n): return tuple(x + n for x in a)"
    assert verifier.verify_program(program, cases).score == 1.0


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("unpickled",)


@pytest.mark.parametrize(
    "private",
    [packed(Evil()), packed(["a", "b"]), packed(b"x"), "???", base64.b64encode(b"plain").decode(), packed("not json")],
)
def test_nothing_is_unpickled(private: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError):
        read_livecodebench({"private_test_cases": private})
    assert capsys.readouterr().out == ""
