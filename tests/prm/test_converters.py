from __future__ import annotations

from typing import Any

import pytest

from markscheme.prm.converters import detect, math_shepherd, prm800k, prmbench, processbench, steps
from markscheme.prm.schema import StepSample
from markscheme.verifiers.errors import DataError


def samples(found: Any) -> list[StepSample]:
    return [StepSample.model_validate(fields) for fields in found]


# PRM800K -------------------------------------------------------------------------------------------------------------


def completion(text: str, rating: int | None) -> dict[str, Any]:
    return {"text": text, "rating": rating, "flagged": None}


def step(*completions: dict[str, Any], chosen: int | None = None, human: Any = None) -> dict[str, Any]:
    return {"completions": list(completions) or None, "chosen_completion": chosen, "human_completion": human}


def rated(*steps: dict[str, Any], finish: str = "solution", **fields: Any) -> dict[str, Any]:
    question = {"problem": "What is 2 + 3?", **fields.pop("question", {})}
    return {"question": question, "label": {"steps": list(steps), "finish_reason": finish}, **fields}


def test_prm800k_follows_what_the_labeler_chose() -> None:
    row = rated(
        step(completion("Add them.", 0), chosen=0),
        step(completion("2 + 3 = 6.", -1), completion("2 + 3 = 5.", 1), chosen=1),
        step(completion("So 6.", -1), human={"text": "So 5.", "rating": None, "source": "human"}),
    )
    assert detect(row) == "prm800k"
    (found,) = samples(prm800k(row))
    assert found.completions == ("Add them.", "2 + 3 = 5.", "So 5.")
    assert (found.labels, found.targets) == ((0, 1, 1), (0.0, 1.0, 1.0))  # alone, the row cannot tell what its 0 says
    assert found.final_answer_correct is True
    followed, *others = samples(prm800k(row, alternatives=True))
    assert followed == found
    assert [(one.completions, one.labels) for one in others] == [
        (("Add them.", "2 + 3 = 6."), (None, -1)),
        (("Add them.", "2 + 3 = 5.", "So 6."), (None, None, -1)),
    ]


@pytest.mark.parametrize(
    ("generated", "taken"),
    [(["Add them.", "So 6."], "So 6."), (["Add them.", "elsewhere"], "So 7."), (None, "So 7.")],
    ids=["the generated one", "else the first that is wrong", "nothing generated"],
)
def test_prm800k_ends_where_nothing_was_chosen(generated: list[str] | None, taken: str) -> None:
    last = step(completion("Hm.", 0), completion("So 7.", -1), completion("So 6.", -1))
    row = rated(
        step(completion("Add them.", 1), chosen=0),
        last,
        step(completion("never", 1), chosen=0),
        finish="found_error",
        question={"pre_generated_steps": generated},
    )
    (found,) = samples(prm800k(row))
    assert found.completions == ("Add them.", taken)
    assert found.labels == (1, -1)
    assert found.final_answer_correct is None


@pytest.mark.parametrize(
    "row",
    [
        rated(step(completion("a", 1), chosen=0), finish="bad_problem"),
        rated(step(completion("a", 1), chosen=0), is_quality_control_question=True),
        rated(step(completion("a", 1), chosen=0), is_initial_screening_question=True),
        rated(),
        rated(step()),
    ],
    ids=["broken problem", "control", "screening", "no steps", "no completions"],
)
def test_prm800k_rows_that_are_no_solutions_yield_nothing(row: dict[str, Any]) -> None:
    assert list(prm800k(row)) == []


def test_prm800k_with_a_choice_that_is_not_there() -> None:
    with pytest.raises(DataError, match="chosen_completion is 2, of 1 completions"):
        list(prm800k(rated(step(completion("a", 1), chosen=2))))


def test_prm800k_keeps_steps_that_were_not_rated_as_unlabelled() -> None:
    (found,) = samples(prm800k(rated(step(completion("a", None), chosen=0), step(completion("b", 1), chosen=0))))
    assert found.targets == (None, 1.0)


# Math-Shepherd -------------------------------------------------------------------------------------------------------

PLAIN = "Two and three? Step 1: 2+3 = <<2+3=5>>5 + 0 ки\nStep 2: So 6 - 1. ки\nStep 3: The answer is: 5 ки"
LABEL = "Two and three? Step 1: 2+3 = <<2+3=5>>5 + 0 +\nStep 2: So 6 - 1. -\nStep 3: The answer is: 5 -"


def test_math_shepherd() -> None:
    row = {"input": PLAIN, "label": LABEL, "task": "GSM8K"}
    assert detect(row) == "math_shepherd"
    (found,) = samples(math_shepherd(row))
    assert found.prompt == "Two and three?"
    assert found.completions == (
        "Step 1: 2+3 = <<2+3=5>>5 + 0",
        "Step 2: So 6 - 1.",
        "Step 3: The answer is: 5",
    )
    assert found.labels == (1, 0, 0)
    assert (found.subset, found.final_answer_correct) == ("GSM8K", False)


def test_math_shepherd_as_first_released() -> None:
    signs = iter("+--")
    older = "".join(f"ки {next(signs)}" if part == "ки" else part for part in split_tags(PLAIN))
    (found,) = samples(math_shepherd({"input": PLAIN.replace("ки", "ки ?"), "label": older, "task": "MATH"}))
    assert found.labels == (1, 0, 0)


def split_tags(text: str) -> list[str]:
    return [piece for part in text.split("ки") for piece in (part, "ки")][:-1]


@pytest.mark.parametrize(
    ("plain", "label", "said"),
    [
        ("Two? Step 1: 5", "Two? Step 1: 5", "no 'ки' in input"),
        ("Two? 5 ки", "Two? 5 +", 'no "Step 1:" in input'),
        (PLAIN, LABEL.replace("So 6", "So 7"), "step 1: label does not repeat input"),
        (PLAIN, LABEL[:-1], "step 2: label does not repeat input"),
        (PLAIN + " Step 4: more", LABEL, "after the last 'ки' of input stands a step without one: 'Step 4: more'"),
        (3, LABEL, "expected input and label to be texts"),
    ],
)
def test_math_shepherd_that_does_not_hold_together(plain: Any, label: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        list(math_shepherd({"input": plain, "label": label, "task": "GSM8K"}))


# ProcessBench and PRMBench -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "labels"), [(-1, (1, 1, 1)), (0, (0, None, None)), (1, (1, 0, None)), (2, (1, 1, 0))]
)
def test_processbench(label: int, labels: tuple[int | None, ...]) -> None:
    row = {"id": "math-7", "generator": "m", "problem": "p", "steps": ["a", "b", "c"], "final_answer_correct": True}
    row["label"] = label
    assert detect(row) == "processbench"
    (found,) = samples(processbench(row))
    assert (found.labels, found.first_error) == (labels, label)
    assert (found.source, found.subset, found.generator, found.final_answer_correct) == (
        "ProcessBench",
        "math",
        "m",
        True,
    )


@pytest.mark.parametrize("label", [3, -2, True, "1", 1.0])
def test_processbench_with_a_label_that_is_no_step(label: object) -> None:
    with pytest.raises(DataError, match="expected -1 or a step from 0 to 2"):
        list(processbench({"problem": "p", "steps": ["a", "b", "c"], "label": label}))


PRMBENCH = {
    "original_question": "p",
    "modified_question": "q",
    "original_process": ["a", "b"],
    "modified_process": ["a", "x", "b"],
    "modified_steps": [2],
    "error_steps": [2],
    "idx": "prm_test_p1_0",
    "classification": "redundency",
}


def test_prmbench() -> None:
    assert detect(PRMBENCH) == "prmbench"
    (found,) = samples(prmbench(PRMBENCH))
    assert (found.prompt, found.completions, found.labels) == ("q", ("a", "x", "b"), (1, 0, 1))
    assert (found.kind, found.id) == ("redundency", "redundency_prm_test_p1_0")
    original, modified = samples(prmbench(PRMBENCH, originals=True))
    assert (original.kind, original.prompt, original.labels) == ("correct", "p", (1, 1))
    assert modified == found
    (other,) = samples(prmbench({**PRMBENCH, "classification": "circular", "idx": "circular_1"}, originals=True))
    assert other.id == "circular_1"


@pytest.mark.parametrize("wrong", [[0], [4], ["2"]])
def test_prmbench_with_an_error_outside_the_solution(wrong: list[object]) -> None:
    with pytest.raises(DataError, match="expected steps from 1 to 3"):
        list(prmbench({**PRMBENCH, "error_steps": wrong}))


# Plain rows ----------------------------------------------------------------------------------------------------------


def test_plain_rows_and_trl_rows() -> None:
    plain = {"problem": "p", "steps": ["a"], "labels": [1], "source": "ProcessBench/gsm8k", "id": 7}
    assert detect(plain) == "steps"
    (found,) = samples(steps(plain))
    assert (found.source, found.subset, found.id) == ("ProcessBench", "gsm8k", "7")
    trl = {"prompt": "p", "completions": ["a"], "labels": [True]}
    assert detect(trl) == "steps"
    assert samples(steps(trl))[0].targets == (1.0,)


def test_rows_of_no_known_format() -> None:
    with pytest.raises(DataError, match=r"no known format of labelled steps: .*the row has question, answer"):
        detect({"question": "q", "answer": "a"})
