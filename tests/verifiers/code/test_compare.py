"""Comparing in the parent, on data that may mean harm."""

from __future__ import annotations

import datetime
import math
import struct
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.verifiers.code import CallCase, Comparator, codec

EXACT, LOOSE = Comparator(), Comparator(abs_tol=1e-6, rel_tol=1e-6)

SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, -0.0, 1.0, 0.5]) | st.text("ab", max_size=2)
    | st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(2)])
    | st.sampled_from([Decimal("0.5"), Decimal("2.0"), Decimal("-0"), Decimal("0.1")])
    | st.sampled_from([0.1, 1 / 3, datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1), datetime.timedelta(1)])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(SCALARS, max_size=3)
        | st.frozensets(SCALARS, max_size=2)
        | st.dictionaries(SCALARS, inner, max_size=3)
    ),
    max_leaves=6,
)


def same(expected: Any, value: Any, comparator: Comparator = EXACT) -> bool:
    return comparator.same_value(expected, codec.decode(codec.encode(value)))


@given(VALUES, VALUES)
def test_as_python_has_it(one: Any, other: Any) -> None:
    assert same(one, one)
    assert same(one, other) == (one == other)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, True),
        (0, False, True),
        (1, 1 + 0j, True),
        (2**53 + 1, float(2**53), False),
        (float("nan"), float("nan"), False),
        ([float("nan")], [float("nan")], False),
        (float("inf"), float("inf"), True),
        ((1, 2), [1, 2], False),
        ({1, 2}, {2.0, True}, True),
        ({1: 2}, {True: 2.0}, True),
        ({1, 2}, frozenset({1, 2}), True),
        (b"a", bytearray(b"a"), True),
        ("1", 1, False),
        ("", None, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ],
)
def test_values(one: Any, other: Any, *, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1.0, 1.0000001, True),
        (1.0, 1.01, False),
        (1, 2, False),
        (10**9, 10**9 + 1, False),
        ([1.0, {"a": 2.0}], [1.0000001, {"a": 2.0000001}], True),
        ({1.0, 2.0}, {1.0000001, 2.0}, True),
        (float("nan"), float("nan"), False),
        (float("inf"), 1e308, False),
        (1.0, "1.0000001", False),
        (10**400, 1.5, False),
    ],
)
def test_tolerance(one: Any, other: Any, *, equal: bool) -> None:
    assert same(one, other, LOOSE) is equal


def test_other_values() -> None:
    assert same((1, (2,)), [1, [2]], Comparator(tuples_as_lists=True))
    assert same([3, 1, 2], [1, 2, 3], Comparator(unordered=True))
    assert not same([3, 1, 2, 2], [1, 2, 3, 3], Comparator(unordered=True))


@pytest.mark.parametrize(
    ("text", "expected", "output", "equal"),
    [
        ("tokens", "1 2\n3\n", b"1\n2 3", True),
        ("tokens", "1 2 3", b"1 2", False),
        ("tokens", "1 2", b"1 2 3", False),
        ("tokens", "1", b"1.0", False),
        ("tokens", "", b"", True),
        ("tokens", "", b"1", False),
        ("lines", "1 2\n3\n", b"1 2  \n3", True),
        ("lines", "1 2\n3", b"1 2 3", False),
        ("unordered_lines", "1 2\n3 4", b"3 4\n1 2\n", True),
        ("unordered_lines", "1 2\n3 4", b"2 1\n3 4\n", False),
        ("unordered_tokens", "1 2 2", b"2 1 2", True),
        ("unordered_tokens", "1 2 2", b"2 1 1", False),
        ("tokens", "\u00e9", "\u00e9".encode(), True),
        ("tokens", "\u00e9", b"\xff", False),
    ],
)
def test_outputs(text: Any, expected: str, output: bytes, *, equal: bool) -> None:
    assert Comparator(text=text).same_text(expected, output) is equal


@pytest.mark.parametrize(
    ("expected", "output", "equal"),
    [
        ("0.3333333", b"0.33333331", True),
        ("1.0", b"1", True),
        ("3", b"4", False),
        ("1000000000", b"1000000001", False),
        ("0.5", b"nan", False),
        ("nan", b"nan", True),
        ("1.0", b"1_0", False),
        ("1.0 a", b"1.0 b", False),
        ("1.0", b"1" * 5000, False),
    ],
)
def test_float_tokens(expected: str, output: bytes, *, equal: bool) -> None:
    assert LOOSE.same_text(expected, output) is equal


def test_a_tolerance_needs_an_order() -> None:
    with pytest.raises(ValueError, match="needs an order"):
        Comparator(text="unordered_lines", abs_tol=1e-6)


def test_relations() -> None:
    def holds(relation: Any, *pair: Any, **more: Any) -> bool:
        expected, value = pair
        case = CallCase(function="f", expected=expected, relation=relation, **more)
        return EXACT.holds(case, codec.decode(codec.encode(value)))

    yes, no = True, False
    assert holds("is", yes, yes) and not holds("is", yes, 1) and not holds("is", None, no)
    assert holds("!=", 1, 2) and not holds("!=", 1, 1.0)
    assert holds("in", [1, 2], 2) and not holds("in", [1, 2], 3)
    assert holds("true", None, {1}) and not holds("true", None, set()) and holds("false", None, {})
    assert holds("close", 1.0, 1.05, tolerance=(0.1, 0.0)) and not holds("close", 1.0, "x", tolerance=(0.1, 0.0))
    assert not holds("close", 1.0, float("nan"), tolerance=(0.1, 0.0))
    assert not holds("close", 1.0, 10**400, tolerance=(0.1, 0.0))


def _hostile() -> dict[str, bytes]:
    size = struct.Struct(">I").pack
    prime = 2**61 - 1
    numbers = [codec.encode(n * prime) for n in range(1, 40_001)]
    return {
        "empty lists": b"l" + size(3_000_000) + (b"l" + size(0)) * 3_000_000,
        "colliding set": b"S" + size(len(numbers)) + b"".join(numbers),
        "colliding dict": b"d" + size(len(numbers)) + b"".join(n + b"N" for n in numbers),
        "deep": (b"l" + size(1)) * 100_000 + b"N",
        "nan keys": b"d" + size(1000) + codec.encode(float("nan")) * 2000,
        "lone surrogates": codec.encode("\ud800" * 1000),
        "length": b"l" + size(2**32 - 1),
    }


@pytest.mark.parametrize("name", list(_hostile()))
def test_hostile_results_are_judged_at_once(name: str) -> None:
    from markscheme.verifiers.code.calls import judge_answer  # noqa: PLC0415
    from markscheme.verifiers.code.outcomes import Execution, RunOutcome  # noqa: PLC0415

    data = _hostile()[name]
    case, run = CallCase(function="f", expected=[1, 2, 3]), Execution(outcome=RunOutcome.FINISHED)
    start = time.process_time()
    result = judge_answer(["value", data], case, EXACT, run)
    assert time.process_time() - start < 0.05
    assert not result.passed
    assert result.detail.isprintable()


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (0.5, Fraction(1, 2), True), (0.1, Fraction(1, 10), False), (0.1, Fraction(0.1), True),
        (2, Fraction(4, 2), True),
        (0.5, Decimal("0.50"), True), (0.1, Decimal("0.1"), False), (10**30, Decimal("1E+30"), True),
        (Fraction(1, 4), Decimal("0.25"), True), (Decimal("0.1"), Decimal("0.10"), True),
        (0, Decimal("0E+999999"), True),
        (Decimal("1E+9999999"), Decimal("10E+9999998"), True), (Decimal("1E+9999999"), Decimal("2E+9999999"), False),
        (Decimal("1E+9999999"), Decimal("-1E+9999999"), False), (math.inf, Decimal("Infinity"), True),
        (-math.inf, Decimal("Infinity"), False), (1, Decimal("NaN"), False), (Decimal("NaN"), Decimal("NaN"), False),
        (Fraction(10**400, 3), Fraction(10**400, 3), True), (datetime.date(2024, 1, 2), "2024-01-02", False),
        ([Fraction(1, 2)], [0.5], True), ({Fraction(1, 2): 1}, {0.5: 1}, True),
    ],
)  # fmt: skip
def test_exact_numbers_of_other_types(one: Any, other: Any, *, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal


def test_tolerance_of_exact_numbers() -> None:
    assert same(0.333333, Fraction(1, 3), LOOSE) and same(0.1, Decimal("0.1"), LOOSE)
    assert same([1.0], [Decimal("1.0000001")], LOOSE)
    assert not same(0.3, Fraction(1, 3), LOOSE) and not same(0.3, Decimal("sNaN"), LOOSE)
    assert not same(0.3, Decimal("1E+999999"), LOOSE) and not same(0.3, Fraction(10**400), LOOSE)
    case = CallCase(function="f", expected=0.5, relation="close", tolerance=(1e-6, 0.0))
    assert EXACT.holds(case, Fraction(1, 2)) and EXACT.holds(case, Decimal("0.5"))
    assert not EXACT.holds(case, Decimal("sNaN")) and not EXACT.holds(case, Fraction(10**400))


def test_decimals_that_would_be_long_cost_little() -> None:
    data = codec.encode([Decimal(f"{n}E{sign}9999999") for n in range(1, 1500) for sign in "+-"])
    start = time.process_time()
    assert not EXACT.same_value([1], codec.decode(data))
    assert time.process_time() - start < 0.5
