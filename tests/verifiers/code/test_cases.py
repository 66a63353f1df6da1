"""Rows of data, read into cases."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from markscheme.verifiers import DataError
from markscheme.verifiers.code import AssertTests, CallCase, StdioCase, UnitTests, parse_cases


def test_stdio_rows() -> None:
    row = {"id": 1, "cases": [{"stdin": "1", "stdout": "2"}, {"stdin": "", "stdout": ""}]}
    assert parse_cases(row) == (StdioCase(stdin="1", stdout="2"), StdioCase(stdin="", stdout=""))
    assert parse_cases(json.dumps(row)) == parse_cases(row) == parse_cases(row["cases"])


def test_call_rows() -> None:
    (case,) = parse_cases([{"function": "f", "arguments": [[1, 2.5], {"a": None}], "expected": None}])
    assert case == CallCase(function="f", arguments=([1, 2.5], {"a": None}), expected=None, tuples_as_lists=True)


def test_python_literals() -> None:
    (case,) = parse_cases([{"function": "f", "arguments_python": "[(1, 2)]", "expected_python": "{1: {2}}"}])
    assert isinstance(case, CallCase)
    assert (case.arguments, case.expected, case.tuples_as_lists) == (((1, 2),), {1: {2}}, False)


def test_columns_that_are_filled_with_none() -> None:
    one = {"stdin": None, "stdout": None, "function": "f", "arguments": [1], "expected": 2}
    assert isinstance(parse_cases([one])[0], CallCase)  # type: ignore[index]
    two = {"stdin": "a", "stdout": "b", "function": None, "arguments": None, "expected": None}
    assert parse_cases({"cases": [two], "tests": None}) == (StdioCase(stdin="a", stdout="b"),)


def test_numbers_of_readers_that_keep_digits() -> None:
    (case,) = parse_cases([{"function": "f", "arguments": [Decimal("0.5")], "expected": [Decimal("1e2")]}])
    assert isinstance(case, CallCase)
    assert case.arguments == (0.5,)
    assert type(case.expected[0]) is float


def test_tests() -> None:
    tests = parse_cases({"tests": "assert f(1) == 2", "entry_point": "f"})
    assert tests == AssertTests(code="assert f(1) == 2", entry_point="f")
    assert parse_cases({"tests": ["assert f(1) == 2", "assert f(2) == 3"]}) == AssertTests(
        code="assert f(1) == 2\nassert f(2) == 3"
    )
    assert isinstance(parse_cases({"unit_tests": "from solution import f\nf(1)"}), UnitTests)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param([], "expected at least one case, found none", id="none"),
        pytest.param({"cases": []}, "expected at least one case, found none", id="none in a row"),
        pytest.param({"id": 3}, 'expected "cases".*found "id"', id="neither"),
        pytest.param({"cases": [{"stdin": "1"}]}, 'case 0: field "stdout": expected text, found nothing', id="half"),
        pytest.param({"cases": [{"stdin": 1, "stdout": "1"}]}, 'field "stdin": expected text, found int', id="number"),
        pytest.param([{"function": "f", "arguments": 1, "expected": 1}], "expected a list, found int", id="arguments"),
        pytest.param([{"function": "f", "arguments": []}], 'field "expected": expected a value', id="no expected"),
        pytest.param([{"function": "f(", "arguments": [], "expected": 1}], "expected a name", id="name"),
        pytest.param(
            [{"function": "f", "arguments": [], "expected_python": "open('x')"}], "expected a Python literal", id="code"
        ),
        pytest.param(
            [{"stdin": "", "stdout": ""}, {"function": "f", "arguments": [], "expected": 1}], "of one kind", id="mixed"
        ),
        pytest.param({"tests": ""}, "expected Python text", id="empty tests"),
        pytest.param({"tests": "assert f(1"}, "the tests are not Python", id="broken tests"),
        pytest.param({"tests": "x = 1"}, "the tests call nothing", id="tests of nothing"),
        pytest.param("not json", "not JSON", id="text"),
        pytest.param(7, "found int", id="int"),
    ],
)
def test_errors(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as told:
        parse_cases(data, "row 7")
    assert str(told.value).startswith("row 7")


def test_values_are_of_exact_built_in_types() -> None:
    class Mine(int):
        pass

    with pytest.raises(ValueError, match="expected: expected values of exact built-in types"):
        CallCase(function="f", expected=Mine(1))
