from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.prm.metrics import auc, ece, reliability, step_metrics
from step_strategies import Judged, labelled

scored = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]), st.booleans()), min_size=1, max_size=20)


@given(scored)
def test_auc_is_the_chance_that_a_right_step_scores_higher(rows: list[tuple[float, bool]]) -> None:
    right = [score for score, good in rows if good]
    wrong = [score for score, good in rows if not good]
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in right for b in wrong]
    found = auc([score for score, _ in rows], [good for _, good in rows])
    assert found == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


@given(scored, st.integers(1, 12))
def test_bins_hold_every_step_once(rows: list[tuple[float, bool]], bins: int) -> None:
    scores, targets = [score for score, _ in rows], [float(good) for _, good in rows]
    held = reliability(scores, targets, bins)
    assert sum(one.n for one in held) == len(rows)
    for one in held:
        own = [i for i, s in enumerate(scores) if one.low <= s and (s < one.high or one.high == 1)]
        assert one.n == len(own)
        if own:
            assert one.score == pytest.approx(sum(scores[i] for i in own) / len(own))
            assert one.right == pytest.approx(sum(targets[i] for i in own) / len(own))


def test_ece_by_hand() -> None:
    # Bins [0.2, 0.3) and [0.9, 1]: |0 - 0.25| for one step, |2/3 - 0.95| for three.
    assert ece([0.25, 0.9, 0.95, 1.0], [0, 0, 1, 1], 10) == pytest.approx(0.25 / 4 + (0.95 - 2 / 3) * 3 / 4)
    assert ece([1.0, 0.0], [1, 0]) == 0
    assert ece([], []) is None


@given(st.lists(labelled(), min_size=1, max_size=8))
def test_unlabelled_and_unscored_steps_are_left_out_and_counted(rows: list[Judged]) -> None:
    found = step_metrics([one for one, _ in rows], [scores for _, scores in rows])
    known = [(s, t) for one, scores in rows for s, t in zip(scores, one.targets, strict=True) if t is not None]
    there = [(s, t) for s, t in known if not math.isnan(s)]
    assert (found.n, found.unscored) == (len(there), len(known) - len(there))
    assert found.wrong == sum(t == 0 for _, t in there)
    if there:
        assert found.brier == pytest.approx(sum((s - t) ** 2 for s, t in there) / len(there))
        flagged, wrong = (
            {i for i, (s, _) in enumerate(there) if s < 0.5},
            {i for i, (_, t) in enumerate(there) if t == 0},
        )
        size = len(flagged) + len(wrong)
        assert found.f1_wrong == (pytest.approx(200 * len(flagged & wrong) / size) if size else None)
    else:
        assert (found.auc, found.f1_wrong, found.f1_macro, found.ece, found.brier) == (None,) * 5
