from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.prm.metrics import process_bench
from markscheme.prm.metrics.prmbench import prm_bench
from markscheme.prm.threshold import choose_step_threshold, choose_threshold
from markscheme.verifiers.errors import DataError
from step_strategies import COARSE, Judged, judged, labelled, sample

fine = st.floats(0, 1, allow_subnormal=False)


@given(st.lists(judged(st.one_of(COARSE, fine)), min_size=1, max_size=12))
def test_no_threshold_does_better(rows: list[Judged]) -> None:
    samples, scores = [one for one, _ in rows], [found for _, found in rows]
    edges = sorted({0.0, 1.0, *(score for found in scores for score in found if not math.isnan(score))})
    tried = [*edges, *((a + b) / 2 for a, b in pairwise(edges))]
    f1s = [process_bench(samples, scores, threshold=threshold).f1 for threshold in tried]
    known = [f1 for f1 in f1s if f1 is not None]
    if not known:
        with pytest.raises(DataError, match="set: solutions with and without an error are needed"):
            choose_threshold(samples, scores, "set")
        return
    found = choose_threshold(samples, scores, "set")
    assert found.f1 == pytest.approx(max(known))
    assert process_bench(samples, scores, threshold=found.value).f1 == pytest.approx(found.f1)
    assert 0 <= found.value <= 1
    assert (found.data, found.n) == ("set", len(rows))


@given(st.lists(labelled(st.one_of(COARSE, fine)), min_size=1, max_size=12))
def test_no_threshold_of_steps_does_better(rows: list[Judged]) -> None:
    samples, scores = [one for one, _ in rows], [found for _, found in rows]
    edges = sorted({0.0, 1.0, *(score for found in scores for score in found if not math.isnan(score))})
    tried = [*edges, *((a + b) / 2 for a, b in pairwise(edges))]
    targets = {target for one in samples if one.kind != "correct" for target in one.targets if target is not None}
    if targets != {0.0, 1.0}:
        with pytest.raises(DataError, match="set: right and wrong steps are needed"):
            choose_step_threshold(samples, scores, "set")
        return
    figures = [prm_bench(samples, scores, threshold=threshold).total.prmscore or 0.0 for threshold in tried]
    found = choose_step_threshold(samples, scores, "set")
    assert found.f1 == pytest.approx(max(figures))
    assert prm_bench(samples, scores, threshold=found.value).total.prmscore == pytest.approx(found.f1)


def test_a_cut_off_solution_is_right_at_no_threshold() -> None:
    whole = choose_threshold([sample(0, 2), sample(-1, 2)], [[0.2, 1], [0.9, 0.9]], "set")
    assert whole.f1 == 100
    for cut in ([0.9, math.nan], [0.9]):
        assert choose_threshold([sample(0, 2), sample(-1, 2)], [[0.2, 1], cut], "set").f1 == 0
    assert choose_threshold([sample(1, 2), sample(-1, 2)], [[math.nan, 0.1], [0.9, 0.9]], "set").f1 == 0
    assert choose_threshold([sample(0, 2), sample(-1, 2)], [[0.2, math.nan], [0.9, 0.9]], "set").f1 == 100


def test_it_lies_in_the_middle_of_the_widest_gap() -> None:
    samples = [sample(0, 1), sample(-1, 1)]
    assert choose_threshold(samples, [[0.2], [0.8]], "set").value == pytest.approx(0.5)
    assert choose_threshold(samples, [[0.2], [0.4]], "set").value == pytest.approx(0.3)
    assert choose_threshold(samples, [[0.0], [1.0]], "set").value == pytest.approx(0.5)


def test_a_judge_that_is_the_wrong_way_round_gets_nothing() -> None:
    assert choose_threshold([sample(0, 1), sample(-1, 1)], [[0.8], [0.2]], "set").f1 == 0
