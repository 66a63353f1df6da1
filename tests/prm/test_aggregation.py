from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.prm.aggregation import aggregate
from markscheme.verifiers.errors import DataError

SCORES = [0.9, 0.2, 0.6]


@pytest.mark.parametrize(
    ("how", "expected"), [("last", 0.6), ("min", 0.2), ("product", 0.9 * 0.2 * 0.6), ("mean", 1.7 / 3)]
)
def test_aggregations(how, expected):
    assert aggregate(SCORES, how) == pytest.approx(expected)


def test_softmin_is_pures_weighted_sum():
    weights = [math.exp(-score / 0.1) for score in SCORES]
    expected = sum(w * s for w, s in zip(weights, SCORES, strict=True)) / sum(weights)
    assert aggregate(SCORES, "softmin") == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(1e-4, 10))
def test_softmin_lies_between_minimum_and_mean(scores, temperature):
    found = aggregate(scores, "softmin", temperature)
    assert min(scores) - 1e-9 <= found <= sum(scores) / len(scores) + 1e-9


@pytest.mark.parametrize("how", ["last", "min", "product", "mean", "softmin"])
def test_a_solution_that_was_cut_off_has_no_score(how):
    assert math.isnan(aggregate([0.9, math.nan], how))


def test_what_cannot_be_aggregated_is_refused():
    with pytest.raises(DataError, match="a solution without steps has no score"):
        aggregate([])
    with pytest.raises(DataError, match="expected one of last, min, product, mean, softmin, got 'max'"):
        aggregate(SCORES, "max")
