from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.prm.metrics import prm_bench
from markscheme.prm.schema import StepSample
from step_strategies import Judged, labelled


def solution(labels: list[int], kind: str) -> StepSample:
    steps = tuple(f"step {i}" for i in range(len(labels)))
    return StepSample(prompt="p", completions=steps, labels=tuple(labels), kind=kind)


def by_hand(rows: list[Judged], threshold: float) -> tuple[float | None, float | None]:
    """F1 of the right and of the wrong steps through precision and recall."""
    figures = []
    for positive in (True, False):
        tp = fp = fn = 0
        for one, scores in rows:
            for label, score in zip(one.labels, scores, strict=True):
                if label is None:
                    continue
                right = label == 1
                said = (not right) if math.isnan(score) else score >= threshold
                tp += (right == positive) and (said == positive)
                fp += (right != positive) and (said == positive)
                fn += (right == positive) and (said != positive)
        if tp + fp + fn == 0:
            figures.append(None)
            continue
        precision, recall = (tp / (tp + other) if tp + other else 0.0 for other in (fp, fn))
        figures.append(200 * precision * recall / (precision + recall) if precision + recall else 0.0)
    return figures[0], figures[1]


@given(st.lists(labelled(), min_size=1, max_size=10), st.sampled_from([0.25, 0.5, 0.6]))
def test_figures_are_the_definitions(rows: list[Judged], threshold: float) -> None:
    found = prm_bench([one for one, _ in rows], [scores for _, scores in rows], threshold=threshold)
    counted = [(one, scores) for one, scores in rows if one.kind != "correct"]
    assert (found.total.f1, found.total.f1_negative) == pytest.approx(by_hand(counted, threshold))
    for kind in found.kinds:
        own = [(one, scores) for one, scores in rows if one.kind == kind.name]
        right, wrong = by_hand(own, threshold)
        assert (kind.f1, kind.f1_negative) == pytest.approx((right, wrong))
        if kind.name == "multi_solutions":
            assert kind.prmscore == kind.f1
        elif right is not None and wrong is not None:
            assert kind.prmscore == pytest.approx((right + wrong) / 2)
        else:
            assert kind.prmscore is None
    json.dumps(found.summary())


def test_known_judges() -> None:
    samples = [solution([1, 0, 1, 0], "circular"), solution([1, 1], "multi_solutions"), solution([1], "correct")]
    perfect = prm_bench(samples, [[1, 0, 1, 0], [1, 1], [1]])
    assert (perfect.total.acc_error, perfect.total.acc_correct, perfect.total.prmscore) == (100, 100, 100)
    assert (perfect.total.n, perfect.total.steps) == (2, 6)
    right = prm_bench(samples, [[1] * 4, [1] * 2, [1]]).total
    assert (right.acc_error, right.acc_correct, right.acc_first, right.f1_negative) == (0, 100, 0, 0)
    assert right.f1 == pytest.approx(100 * 2 * 4 / (4 + 6))
    wrong = prm_bench(samples, [[0] * 4, [0] * 2, [0]]).total
    assert (wrong.acc_error, wrong.acc_correct, wrong.f1) == (100, 0, 0)
    assert wrong.f1_negative == pytest.approx(100 * 2 * 2 / (2 + 6))


@pytest.mark.parametrize("scores", [[1, 1], [1, 0]])
def test_a_total_of_solutions_that_are_all_right_is_their_kinds(scores: list[float]) -> None:
    samples = [solution([1, 1], "multi_solutions"), solution([1], "correct")]
    found = prm_bench(samples, [scores, [1]])
    assert found.total.prmscore == found.kinds[0].prmscore == found.kinds[0].f1


def test_a_step_without_a_score_is_a_miss() -> None:
    found = prm_bench([solution([1, 0], "circular")], [[math.nan]]).total
    assert (found.acc_error, found.acc_correct, found.unscored) == (0, 0, 2)


def test_groups_are_means_over_their_kinds() -> None:
    samples = [solution([1, 0], "circular"), solution([1, 0], "redundency"), solution([1, 1], "multi_solutions")]
    groups = prm_bench(samples, [[1, 0], [1, 1], [1, 1]]).groups()
    assert groups["simplicity"] == pytest.approx((100 + (200 / 3 + 0) / 2) / 2)
    assert (groups["soundness"], groups["sensitivity"]) == (None, 100)
