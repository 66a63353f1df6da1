from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fakes import read_jsonl, write_jsonl
from markscheme.prm import load_samples
from markscheme.prm.labels import Estimate, LabelFile, LabelTask, MonteCarloLabeler, StepLabels, label_many, summary
from markscheme.prm.labels.result import read_labels, up_to, write_labels
from markscheme.prm.labels.tasks import read_tasks
from markscheme.prm.schema import first_wrong
from markscheme.verifiers.errors import DataError, StepDataError
from rollout_fakes import Policy, check, solution

TASKS = [solution(right, wrong, "0", row=row) for row, (right, wrong) in enumerate([(1, 1), (2, 1), (0, 1), (3, 2)])]


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(-1, n - 1))))
def test_labels_up_to_the_first_error_say_where_it_is(case: tuple[int, int]) -> None:
    steps, first = case
    for after in ("unlabelled", "wrong"):
        labels = up_to(first, steps, after)  # type: ignore[arg-type]
        assert len(labels) == steps
        assert first_wrong(labels) == first


def test_labels_that_do_not_fit_the_steps() -> None:
    with pytest.raises(ValidationError, match="expected one label a step: 2 steps, 1 labels"):
        StepLabels(prompt="p", completions=("a", "b"), labels=(1,), source="x")


def test_a_share_passes_its_threshold() -> None:
    assert Estimate(right=0, judged=0).passes(0) is None
    assert Estimate(right=1, judged=8).passes(0) is True
    assert Estimate(right=0, judged=8).passes(0) is False
    assert Estimate(right=4, judged=8).passes(0.5) is True


def run(path: Path, policy: Policy, *, n: int = 2, chunk: int = 2, stop: int | None = None) -> list[StepLabels]:
    """Label into a file, as the command does; stop after so many lines."""
    labeler = MonteCarloLabeler(policy, check=check, n=n)
    with LabelFile(path, TASKS, labeler.identity) as file:
        for place, (task, labels) in enumerate(label_many(labeler, TASKS, done=set(file.done), chunk=chunk)):
            if place == stop:
                break
            file.append(task, labels)
    return read_labels(path) if stop is None else []


@pytest.mark.parametrize("stop", [0, 1, 2, 3])
def test_a_stopped_run_goes_on_and_asks_for_what_an_unbroken_one_asks_for(tmp_path: Path, stop: int) -> None:
    whole, first, second = Policy(), Policy(), Policy()
    expected = run(tmp_path / "whole.jsonl", whole)
    path = tmp_path / "parts.jsonl"
    run(path, first, stop=stop)
    assert run(path, second) == expected
    assert second.calls == whole.calls[stop // 2 :]


def test_a_cut_off_line_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    expected = run(path, Policy())
    path.write_bytes(path.read_bytes()[:-30])
    assert run(path, Policy()) == expected


def test_labels_by_other_settings_are_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run(path, Policy())
    with pytest.raises(DataError, match="row 0 is of another input, or was reached with other settings"):
        run(path, Policy(), n=3)


def test_the_file_is_training_data(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    run(path, Policy(chance=1))
    loaded = load_samples(path)
    assert [sample.first_error for sample in loaded.samples] == [1, 2, 0, 3]
    assert {sample.source for sample in loaded.samples} == {"montecarlo"}
    assert loaded.samples[0].final_answer_correct is False
    line = read_jsonl(path)[0]
    assert line["estimates"][0]["share"] == 0.5  # type: ignore[index]
    assert len(line["estimates"][0]["interval"]) == 2  # type: ignore[index]


def test_rows_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    expected = run(path, Policy())
    write_jsonl(path, reversed(read_jsonl(path)))
    assert read_labels(path) == expected


def test_a_file_that_holds_no_labels(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"row": 0, "id": "x", "prompt": "p"}])
    with pytest.raises(StepDataError, match=r"row 0 \(x\): not a line of labels as `prm label` writes: completions"):
        read_labels(path)


def test_writing_leaves_rows_out(tmp_path: Path) -> None:
    found = run(tmp_path / "a.jsonl", Policy())
    kept = write_labels(tmp_path / "deep" / "b.jsonl", [None, *found[1:]])
    assert kept == found[1:] == read_labels(tmp_path / "deep" / "b.jsonl")


def test_a_labeler_that_loses_a_solution() -> None:
    class Loses:
        identity = "x"

        def label(self, tasks: object) -> list[StepLabels]:
            return []

    with pytest.raises(DataError, match="was given 4 solutions and gave 0 results"):
        list(label_many(Loses(), TASKS))


def test_counts(tmp_path: Path) -> None:
    found = run(tmp_path / "a.jsonl", Policy())
    counts = summary([*found, StepLabels(prompt="p", completions=("a",), labels=(None,), source="x", note="why")])
    assert {name: counts[name] for name in ("n", "steps", "labelled", "unlabelled", "error", "clean", "unknown")} == {
        "n": 5,
        "steps": 16,
        "labelled": 15,
        "unlabelled": 1,
        "error": 4,
        "clean": 0,
        "unknown": 1,
    }
    assert counts["rollouts"] == 2 * (2 + 3 + 1 + 5)
    assert counts["mean_label"] == pytest.approx(6 / 15)
    assert counts["notes"] == {"why": 1}


def test_solutions_with_their_gold_answers(tmp_path: Path) -> None:
    rows = [
        {"problem": "p", "completion": "a\n\nb", "gold": 4, "id": "x"},
        {"prompt": "q", "steps": ["c"], "answer": "so it is\n#### 18"},
    ]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    assert read_tasks(path, need_gold=True) == [
        LabelTask(0, "p", ("a", "b"), "4", {"id": "x"}),
        LabelTask(1, "q", ("c",), "so it is\n#### 18", {}),
    ]


def test_every_row_without_a_readable_gold_answer_is_named(tmp_path: Path) -> None:
    rows = [{"problem": "p", "steps": ["a"]}, {"problem": "p", "steps": ["a"], "gold": "4"}]
    rows.append({"problem": "p", "steps": ["a"], "gold": " "})
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    with pytest.raises(StepDataError, match="no gold answer: looked for") as caught:
        read_tasks(path, need_gold=True)
    assert [row for row, _, _ in caught.value.rows] == [0, 2]
    assert [task.gold for task in read_tasks(path)] == ["", "4", " "]
