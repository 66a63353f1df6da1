from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import profiles  # noqa: F401 - sets how many examples are drawn
from markscheme.prm import Message, StepSample
from markscheme.prm.schema import first_wrong, is_right, target


def sample(labels: object, **fields: object) -> StepSample:
    steps = [f"step {i}" for i in range(len(labels))]  # type: ignore[arg-type]
    return StepSample.model_validate({"prompt": "p", "completions": steps, "labels": labels, **fields})


@pytest.mark.parametrize(
    ("labels", "targets"),
    [
        ([True, False, None], (1.0, 0.0, None)),
        ([1, 0, None], (1.0, 0.0, None)),
        ([1.0, 0.0, 0.25], (1.0, 0.0, 0.25)),
        ([1, 0, -1], (1.0, 1.0, 0.0)),
        ([1.0, 0.0, -1.0], (1.0, 1.0, 0.0)),
        ([Decimal("0.5"), Decimal(1)], (0.5, 1.0)),
        ([False, 0, -1], (0.0, 1.0, 0.0)),
    ],
)
def test_labels_become_targets(labels: list[object], targets: tuple[float | None, ...]) -> None:
    assert sample(labels).targets == targets


@pytest.mark.parametrize(("zero", "expected"), [("wrong", 0.0), ("right", 1.0), ("unlabelled", None)])
def test_what_zero_says_can_be_set(zero: str, expected: float | None) -> None:
    assert sample([1, 0], zero=zero).targets == (1.0, expected)
    assert sample([False, -1], zero=zero).targets == (0.0, 0.0)


def test_numbers_of_numpy_and_torch_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    made = StepSample(prompt="p", completions=("a", "b"), labels=np.array([1, -1]))
    assert made.labels == (1, -1)
    assert sample(list(np.array([0.5], dtype="float32")) + list(np.array([0]) > 1)).targets == (0.5, 0.0)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([1, 2], "label 1 is 2: expected -1, 0, 1 or a probability in [0, 1]"),
        ([1, -2], "label 1 is -2"),
        ([-0.5], "label 0 is -0.5"),
        ([1.5], "label 0 is 1.5"),
        ([float("nan")], "label 0 is nan"),
        ([float("inf")], "label 0 is inf"),
        (["1"], "label 0: expected true, false, a number or null, found str '1'"),
        ([0.5, -1], "label 0 is 0.5, but label 1 is -1: labels are either -1/0/1 or probabilities"),
        ([[1]], "label 0: expected true, false, a number or null, found list"),
    ],
)
def test_labels_out_of_range_are_refused(labels: list[object], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        sample(labels)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"completions": ["a"], "labels": [1, 0]}, "expected one label a step: 1 steps, 2 labels"),
        ({"completions": ["a", "b"], "labels": [1]}, "expected one label a step: 2 steps, 1 labels"),
        ({"completions": ["a", "  \n"], "labels": [1, 1]}, "step 1 is empty"),
        ({"completions": [], "labels": []}, "expected at least one, found an empty list"),
        ({"completions": "abc", "labels": [1]}, "the steps: expected a list of texts, found str 'abc'"),
        ({"completions": ["a", 3], "labels": [1, 1]}, "step 1: expected a text, found int '3'"),
        ({"completions": ["a"], "labels": "1"}, "the labels: expected a list, found str '1'"),
        ({"completions": ["a"], "labels": [1], "prompt": " "}, "the problem is empty"),
        ({"completions": ["a"], "labels": [1], "prompt": 3}, "expected a text or a list of messages, found int '3'"),
        (
            {"completions": ["a"], "labels": [1], "first_error_index": 1},
            "the first error is step 1, but the last step is",
        ),
        (
            {"completions": ["a"], "labels": [1], "first_error_index": 0},
            "label 0 is 1, but the row says that the first",
        ),
        ({"completions": ["a"], "labels": [0], "first_error_index": -1}, "the row says that there is no error"),
    ],
)
def test_bad_rows_say_what_is_wrong(row: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        StepSample.model_validate({"prompt": "p", **row})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("targets", "first"),
    [
        ((1.0, 1.0), -1),
        ((1.0, 0.0, None), 1),
        ((1.0, None, 0.0), None),
        ((1.0, None), None),
        ((None,), None),
        ((0.51, 0.5), 1),
        ((), -1),
    ],
)
def test_the_first_wrong_step(targets: tuple[float | None, ...], first: int | None) -> None:
    assert first_wrong(targets) == first


def test_monte_carlo_shares_may_count_any_success() -> None:
    assert first_wrong((0.25, 0.125, 0.0), above=0) == 2
    assert is_right(0.01, above=0)
    assert not is_right(0.0, above=0)


def test_a_stated_first_error_wins_where_labels_do_not_tell() -> None:
    assert sample([1, None, 0]).first_error is None
    assert sample([1, None, 0], first_error_index=1).first_error == 1


def test_messages_are_a_problem_too() -> None:
    turns = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "2+2?"}]
    made = StepSample.model_validate({"prompt": turns, "completions": ["4"], "labels": [True]})
    assert made.problem == "2+2?"
    assert made.prompt == (Message(role="system", content="be brief"), Message(role="user", content="2+2?"))
    assert made.columns() == {"prompt": turns, "completions": ["4"], "labels": [1.0]}
    assert StepSample.model_validate(made.columns()).prompt == made.prompt


def test_a_sample_is_frozen_and_survives_json() -> None:
    made = sample([True, 0.25, None], id="x", final_answer_correct=True)
    assert StepSample.model_validate(json.loads(made.model_dump_json())) == made
    with pytest.raises(ValidationError):
        made.id = "y"


@given(
    st.one_of(st.none(), st.booleans(), st.sampled_from([-1, 0, 1]), st.floats(0, 1)),
    st.sampled_from(["wrong", "right"]),
)
def test_targets_are_probabilities(label: object, zero: str) -> None:
    found = target(label, zero)  # type: ignore[arg-type]
    assert found is None if label is None else 0 <= found <= 1  # type: ignore[operator]
