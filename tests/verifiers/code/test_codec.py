"""Values survive the wall, and hostile bytes raise Damaged and nothing else."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.verifiers.code import codec

_plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.fractions()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.timedeltas(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(_plain)
def test_values_come_back(value: object) -> None:
    back = codec.rebuild(codec.decode(codec.encode(value, ordered=True)))
    assert back == value
    assert codec.encode(back) == codec.encode(value)


@given(st.binary(max_size=200) | _plain.map(lambda value: codec.encode(value)[:-1] + b"\xff"))
def test_hostile_bytes_are_damaged_or_a_value(data: bytes) -> None:
    try:
        value = codec.decode(data)
    except codec.Damaged:
        return
    assert repr(codec.decode(data)) == repr(value)


@pytest.mark.parametrize("value", [object(), type("I", (int,), {})(1), [range(3)], {1: {2: {3: print}}}])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(codec.NotPlain):
        codec.encode(value)


def test_equal_sets_and_dictionaries_have_equal_encodings() -> None:
    assert codec.encode({1: 2, 3: 4}) == codec.encode({3: 4, 1: 2})
    assert codec.encode({"b", "a"}) == codec.encode({"a", "b"})
    assert len({codec.encode(value) for value in (1, 1.0, True, [1], (1,), {1}, frozenset({1}))}) == 7


def test_what_is_too_long_is_told_before_it_is_built() -> None:
    shared: list[object] = []
    for _ in range(60):
        shared = [shared, shared]
    with pytest.raises(codec.TooLong):
        codec.encode(shared, most=1000)


@pytest.mark.parametrize(
    "data",
    [
        b"l" + (3_355_443).to_bytes(4, "big") + (b"l" + bytes(4)) * 3_355_443,
        b"l" + (1 << 24).to_bytes(4, "big") + b"N" * (1 << 24),
        b"l\0\0\0\1" * 10**6 + b"N",
        b"l\0\0\0\1" * 201 + b"N",
        b"s\0\x01\0\x02" + b"\xed\xa0\x80" * 21846,
    ],
    ids=["empty lists", "None", "nested", "just too deep", "surrogates"],
)
def test_what_costs_too_much_is_damaged_before_it_is_built(data: bytes) -> None:
    with pytest.raises(codec.Damaged):
        codec.decode(data, 100_000)


def test_what_is_just_allowed() -> None:
    assert codec.decode(codec.encode([[], [[]]]), 4) == [[], [[]]]
    with pytest.raises(codec.Damaged, match="too many values"):
        codec.decode(codec.encode([[], [[]]]), 3)
    assert codec.count([[], ([1, {2}],), {3: 4}]) == 10
    deepest: list[object] = []
    for _ in range(codec.MAX_DEPTH):
        deepest = [deepest]
    assert codec.decode(codec.encode(deepest)) == deepest
    assert codec.decode(codec.encode("\ud800" * 1000)) == "\ud800" * 1000


@pytest.mark.parametrize(
    "parts",
    [
        ["Fraction", 1, 0], ["Fraction", "1/2"], ["Decimal", "x"], ["Decimal", 1], ["Decimal", "1E9999999999999999999"],
        ["date", 1, 2], ["date", 0, 1, 1], ["timedelta", 10**30, 0, 0], ["Popen", "x"], [["date"]], [], "date",
        ["Decimal", "1" * 5000], ["time", True],
    ],
)  # fmt: skip
def test_parts_that_make_no_value_are_damaged(parts: object) -> None:
    with pytest.raises(codec.Damaged):
        codec.decode(b"x" + codec.encode(parts))


def test_a_time_with_a_zone_is_refused() -> None:
    with pytest.raises(codec.NotPlain, match="time zone"):
        codec.encode(datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC))


def test_subclasses_of_exact_types_are_refused() -> None:
    for kind, value in ((Fraction, 1), (Decimal, 1)):
        with pytest.raises(codec.NotPlain):
            codec.encode(type("Mine", (kind,), {})(value))
