from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from fakes import write_jsonl
from markscheme.prm.evaluation import (
    BenchmarkData,
    JudgedSet,
    baseline,
    baselines,
    evaluate,
    figures,
    load_benchmark,
    with_best_threshold,
)
from markscheme.prm.load import problems_of
from markscheme.prm.schema import StepSample
from markscheme.verifiers.errors import DataError, StepDataError

ROWS = [
    {"problem": "one", "steps": ["a", "b"], "label": 1, "final_answer_correct": False, "id": "gsm8k-0"},
    {"problem": "two", "steps": ["a", "b"], "label": -1, "final_answer_correct": True, "id": "gsm8k-1"},
    {"problem": "three", "steps": ["a", "b"], "label": 0, "final_answer_correct": True, "id": "math-0"},
    {"problem": "four", "steps": ["a", "b"], "label": -1, "final_answer_correct": True, "id": "math-1"},
]
PERFECT = [[1, 0], [1, 1], [0, 1], [1, 1]]


def test_a_judge_stands_beside_what_knows_nothing(tmp_path: Path) -> None:
    data = load_benchmark([write_jsonl(tmp_path / "pb.jsonl", ROWS)], "processbench")
    found = evaluate(data, JudgedSet("mine", PERFECT), "processbench", train=["Two.", "five"])
    assert list(found)[:5] == ["n", "acc_error", "acc_correct", "f1", "threshold"]
    assert [found[name] for name in ("n", "acc_error", "acc_correct", "f1", "threshold")] == [4, 100, 100, 100, 0.5]
    assert {name: one["f1"] for name, one in found["baselines"].items()} == {
        "outcome-oracle": 50,
        "always-right": 0,
        "always-wrong": 0,
    }
    assert found["flawed"] == {"n": 1, "acc_error": 100, "flagged": 100}
    assert found["contamination"] == {"test_problems": 4, "shared": 1, "test_rows": 1}
    assert (found["steps"]["auc"], found["upper_bound"], found["data"]) == (1, False, ["pb.jsonl"])
    json.dumps(found)


def test_files_are_subsets_where_rows_name_none(tmp_path: Path) -> None:
    rows = [{"problem": "p", "steps": ["a"], "labels": [label]} for label in (1, 0)]
    paths = [write_jsonl(tmp_path / f"{name}.jsonl", rows) for name in ("one", "two")]
    data = load_benchmark(paths, "processbench")
    found = evaluate(data, JudgedSet("mine", [[1], [0], [1], [1]]), "processbench")
    assert [(one["name"], one["f1"]) for one in found["subsets"]] == [("one", 100), ("two", 0)]
    assert found["f1"] == 50
    assert list(found["baselines"]) == ["always-right", "always-wrong"]  # nothing says how the solutions ended


def test_the_oracle_must_know_outcomes(tmp_path: Path) -> None:
    rows = [{"problem": "p", "steps": ["a"], "labels": [1]}]
    data = load_benchmark([write_jsonl(tmp_path / "a.jsonl", rows)], "prmbench")
    with pytest.raises(StepDataError, match="row 0: it does not say whether its final answer is right"):
        baseline("outcome-oracle", data.samples)
    with pytest.raises(DataError, match="baseline: expected one of outcome-oracle, always-right, always-wrong"):
        baseline("majority", data.samples)
    assert [one.name for one in baselines(data.samples)] == ["always-right", "always-wrong"]


def test_solutions_whose_first_error_is_unknown_are_no_part_of_processbench(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [*ROWS, {"problem": "p", "steps": ["a", "b"], "labels": [None, 0]}])
    unknown = path.with_name("b.jsonl")
    write_jsonl(unknown, [{"problem": "p", "steps": ["a", "b"], "labels": labels} for labels in ([None, 0], [1, 0])])
    with pytest.raises(StepDataError, match=r"b.jsonl: 1 row.*\n  row 0: the labels do not tell the first wrong step"):
        load_benchmark([unknown], "processbench")
    data = load_benchmark([unknown], "processbench", on_bad="skip")
    assert (len(data.samples), data.skipped[0][:2]) == (1, ("b.jsonl", 0))
    assert len(load_benchmark([unknown], "prmbench").samples) == 2


def test_prmbench_counts_every_step(tmp_path: Path) -> None:
    rows = [{"problem": "p", "steps": ["a", "b"], "labels": [0, 1], "classification": "circular"}]
    data = load_benchmark([write_jsonl(tmp_path / "a.jsonl", rows)], "prmbench")
    found = evaluate(data, JudgedSet("mine", [[0, 1]]), "prmbench")
    assert [found[name] for name in ("n", "acc_error", "acc_correct", "f1", "prmscore")] == [1, 100, 100, 100, 100]
    assert found["kinds"][0]["name"] == "circular"


def test_a_threshold_chosen_on_the_same_data_is_an_upper_bound(tmp_path: Path) -> None:
    data = load_benchmark([write_jsonl(tmp_path / "pb.jsonl", ROWS)], "processbench")
    low = [[0.2, 0.1], [0.2, 0.2], [0.1, 0.2], [0.2, 0.2]]
    best = with_best_threshold(JudgedSet("low", low), data)
    assert best.threshold == pytest.approx(0.15)
    assert (best.threshold_from, best.upper_bound) == ("pb.jsonl", True)
    found = evaluate(data, JudgedSet("mine", PERFECT), "processbench", others=[best])
    assert found["baselines"]["low"]["f1"] == 100
    assert found["baselines"]["low"]["upper_bound"] is True
    one_group = load_benchmark([write_jsonl(tmp_path / "c.jsonl", ROWS[:1])], "processbench")
    assert with_best_threshold(JudgedSet("x", [[0.1, 0.1]]), one_group).upper_bound is False


def test_the_best_threshold_for_prmbench_is_that_of_its_own_score() -> None:
    """Of kinds that are all erroneous or all right, ProcessBench's F1 can choose none."""
    rows = {"circular": (1, 0, 1), "multi_solutions": (1, 1, 1)}
    samples = tuple(
        StepSample(prompt="p", completions=("a", "b", "c"), labels=labels, kind=kind, subset=kind)
        for kind, labels in rows.items()
    )
    data = BenchmarkData(samples, ("a.jsonl",))
    judge = JudgedSet("low", [[0.3, 0.1, 0.3], [0.3, 0.3, 0.3]])
    assert with_best_threshold(judge, data).upper_bound is False
    best = with_best_threshold(judge, data, "prmbench")
    assert (best.threshold, best.threshold_from, best.upper_bound) == (pytest.approx(0.2), "a.jsonl", True)
    assert figures(best, samples, "prmbench")["prmscore"] == 100


def test_skipped_rows_are_in_the_result(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pb.jsonl", [*ROWS, {**ROWS[0], "label": 7, "id": "gsm8k-9"}])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = load_benchmark([path], "processbench", on_bad="skip")
    found = evaluate(data, JudgedSet("mine", PERFECT), "processbench")
    assert found["skipped"] == [
        {"data": "pb.jsonl", "row": 4, "id": "gsm8k-9", "why": "label is 7: expected -1 or a step from 0 to 1"}
    ]


def test_problems_of_any_training_file(tmp_path: Path) -> None:
    rows = [
        {"problem": "a"},
        {"question": "b", "answer": "#### 1"},
        {"question": {"problem": "c"}, "label": {}},
        {"input": "d Step 1: e ки", "label": "d Step 1: e +"},
        {"prompt": [{"role": "system", "content": "x"}, {"role": "user", "content": "f"}]},
        {"modified_question": "g"},
    ]
    assert problems_of(write_jsonl(tmp_path / "t.jsonl", rows)) == ["a", "b", "c", "d", "f", "g"]
    with pytest.raises(DataError, match="line 1: no problem: looked for problem, prompt, question"):
        problems_of(write_jsonl(tmp_path / "u.jsonl", [{"text": "a"}]))
