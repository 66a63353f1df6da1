"""Values survive the wall, and hostile bytes raise Damaged and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.verifiers.code import codec

_plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
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
    assert codec.decode(data) == value or value != value


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
