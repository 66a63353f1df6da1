from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import profiles  # noqa: F401 - sets how many examples are drawn
from markscheme.prm.labels import audit
from markscheme.prm.schema import StepSample
from markscheme.verifiers.errors import DataError, StepDataError

step = st.tuples(st.sampled_from([True, False, None]), st.sampled_from([True, False, None]))


@given(st.lists(st.lists(step, min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 7))
def test_rates_are_counts_over_gold_classes(solutions: list[list[tuple[object, object]]], positions: int) -> None:
    labels = [[label for label, _ in one] for one in solutions]
    gold = [[true for _, true in one] for one in solutions]
    found = audit(labels, gold, positions=positions)  # type: ignore[arg-type]
    steps = [(i, len(one), label, true) for one in solutions for i, (label, true) in enumerate(one) if true is not None]
    assert found.total.n == len(steps)
    wrong = [label for _, _, label, true in steps if true is False and label is not None]
    assert found.total.false_right == wrong.count(True)
    assert found.total.false_right_rate == (wrong.count(True) / len(wrong) if wrong else None)
    assert found.total.unlabelled == sum(label is None for _, _, label, _ in steps)
    for groups in (found.by_position, found.by_third):
        for name in ("n", "gold_right", "gold_wrong", "unlabelled", "false_right", "false_wrong"):
            assert sum(getattr(noise, name) for noise in groups.values()) == getattr(found.total, name)
    last = max(found.by_position)
    assert last <= positions - 1
    assert found.by_position[0].n == sum(i == 0 or last == 0 for i, *_ in steps)
    whole = found.first_errors
    assert whole.n + whole.unknown == len(solutions)
    assert whole.same + whole.early + whole.late + whole.missed + whole.invented == whole.n
    json.dumps(found.summary())


def test_where_the_noise_is() -> None:
    gold = [[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1, 1]]
    labels = [[1, 1, 1], [0, 0, 0], [1, 1, 0], [1, None, 1, 1]]
    found = audit(labels, gold, positions=3)
    assert (found.total.n, found.total.gold_wrong, found.total.unlabelled) == (13, 3, 1)
    assert (found.total.false_right, found.total.false_wrong) == (1, 2)
    assert found.total.false_right_rate == pytest.approx(1 / 3)
    assert found.total.false_wrong_rate == pytest.approx(2 / 9)
    assert {i: (noise.false_right, noise.false_wrong) for i, noise in found.by_position.items()} == {
        0: (0, 1),
        1: (0, 0),
        2: (1, 1),
    }
    assert found.by_position[2].n == 5  # the fourth step of the last solution too
    assert {name: noise.false_wrong for name, noise in found.by_third.items()} == {"first": 1, "middle": 0, "last": 1}
    first = found.first_errors
    assert (first.same, first.early, first.late, first.missed, first.invented, first.unknown) == (0, 1, 0, 1, 1, 1)


def test_intervals_are_wilsons() -> None:
    found = audit([[True] * 10], [[True] * 9 + [False]]).total
    assert found.false_wrong_interval == pytest.approx((0.0, 0.2991), abs=1e-3)
    assert found.false_right_interval == pytest.approx((0.2065, 1.0), abs=1e-3)


def test_soft_labels_and_samples() -> None:
    assert audit([[0.25, 0.0]], [[1, 1]], threshold=0).total.false_wrong == 1
    assert audit([[0.25, 0.0]], [[1, 1]]).total.false_wrong == 2
    ternary = StepSample(prompt="p", completions=("a", "b"), labels=(0, -1))
    assert audit([ternary], [[1, 0]]).total.false_wrong == 0
    assert audit([[0, -1]], [ternary]).first_errors.same == 1


def test_what_does_not_belong_together_is_an_error() -> None:
    with pytest.raises(DataError, match="2 labelled, 1 gold"):
        audit([[1], [1]], [[1]])
    with pytest.raises(DataError, match="0 labelled, 0 gold"):
        audit([], [])
    with pytest.raises(StepDataError, match="row 1: 1 labels, 2 gold labels"):
        audit([[1], [1]], [[1], [1, 1]])
