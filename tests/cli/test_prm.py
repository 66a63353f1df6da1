from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes import Run, read_jsonl, write_jsonl

ROWS = [
    {"problem": "Sue has 18. One?", "steps": ["18 - 6 = 11", "So 11."], "label": 0, "final_answer_correct": False},
    {"problem": "Sue has 18. Two?", "steps": ["18 - 6 = 12", "So 13."], "label": 1, "final_answer_correct": False},
    {"problem": "Sue has 18. Three?", "steps": ["18 - 6 = 12", "So 12."], "label": -1, "final_answer_correct": True},
    {"problem": "Sue has 18. Four?", "steps": ["18 - 7 = 12", "So 12."], "label": 0, "final_answer_correct": True},
]
PERFECT = [[0, 1], [1, 0], [1, 1], [0, 1]]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "bench.jsonl", [{**row, "id": f"gsm8k-{i}"} for i, row in enumerate(ROWS)])


def scores(tmp_path: Path, values: list[list[float]]) -> Path:
    return write_jsonl(tmp_path / "scores.jsonl", [{"scores": own} for own in values])


def command(bench: Path, judge: object, *more: object) -> tuple[object, ...]:
    return ("prm", "eval", "--benchmark", "processbench", "--data", bench, "--judge", judge, *more)


def test_json_is_one_object_that_begins_with_the_figures(run: Run, bench: Path) -> None:
    result = run(*command(bench, "outcome-oracle", "--json"))
    found = json.loads(result.stdout)
    assert list(found)[:5] == ["n", "acc_error", "acc_correct", "f1", "threshold"]
    assert [found[name] for name in ("n", "acc_error", "acc_correct", "threshold")] == [
        4,
        pytest.approx(100 / 3),
        100,
        0.5,
    ]
    assert found["f1"] == pytest.approx(50)
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("judge", "figures"),
    [("always-right", (0, 100, 0)), ("always-wrong", (200 / 3, 0, 0)), ("outcome-oracle", (100 / 3, 100, 50))],
)
def test_baselines(run: Run, bench: Path, judge: str, figures: tuple[float, ...]) -> None:
    found = json.loads(run(*command(bench, judge, "--json")).stdout)
    assert (found["acc_error"], found["acc_correct"], found["f1"]) == pytest.approx(figures)
    for name, one in found["baselines"].items():
        alone = json.loads(run(*command(bench, name, "--json")).stdout)
        assert one["f1"] == alone["f1"]


@pytest.mark.parametrize(
    ("values", "figures"),
    [(PERFECT, (100, 100, 100)), ([[0.5, 0.5]] * 4, (0, 100, 0)), ([[0.4, 0.4]] * 4, (200 / 3, 0, 0))],
    ids=["perfect", "constant at the threshold", "constant below it"],
)
def test_a_file_of_scores_is_a_judge(
    run: Run, bench: Path, tmp_path: Path, values: list[list[float]], figures: tuple[float, ...]
) -> None:
    found = json.loads(run(*command(bench, scores(tmp_path, values), "--json")).stdout)
    assert (found["acc_error"], found["acc_correct"], found["f1"]) == pytest.approx(figures)


def test_the_table_shows_the_baselines_and_what_was_lost(run: Run, bench: Path, tmp_path: Path) -> None:
    with bench.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**ROWS[0], "steps": ["a", ""]}) + "\n")
    train = write_jsonl(tmp_path / "train.jsonl", [{"problem": "sue has 18. one"}])
    judge = scores(tmp_path, [[0, 1], [], [1, 1], [0, 1]])
    text = run(*command(bench, judge, "--on-bad", "skip", "--train", train)).stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["scores.jsonl", "4", "66.7", "100.0", "80.0", "0.5", "default"] in lines
    assert ["outcome-oracle", "4", "33.3", "100.0", "50.0", "0.5", "default"] in lines
    assert ["always-right", "4", "0.0", "100.0", "0.0", "0.5", "default"] in lines
    assert "cut off before anything was flagged, counted as misses: 1 solutions" in text
    assert "right answer, wrong step: 1 solutions, first error found in 100.0 %" in text
    assert "1 of 4 test problems are in the training data" in text
    assert "left out: 1 bad rows, such as bench.jsonl row 4: step 1 is empty" in text


def test_the_threshold_and_what_chose_it(run: Run, bench: Path, tmp_path: Path) -> None:
    other = write_jsonl(
        tmp_path / "dev.jsonl", [{**row, "problem": f"other {i}", "id": f"dev-{i}"} for i, row in enumerate(ROWS)]
    )
    quiet = [[0.2 if score else 0.1 for score in own] for own in PERFECT]
    judge = scores(tmp_path, [*quiet, *quiet])
    found = json.loads(run(*command(bench, judge, "--json", "--threshold-data", other)).stdout)
    assert (found["f1"], found["threshold"], found["threshold_from"]) == (100, pytest.approx(0.15), "dev.jsonl")
    assert found["upper_bound"] is False
    same = json.loads(run(*command(bench, judge, "--json", "--threshold-data", bench)).stdout)
    assert same["upper_bound"] is True
    given = json.loads(run(*command(bench, scores(tmp_path, quiet), "--json", "--threshold", "0.15")).stdout)
    assert (given["f1"], given["threshold_from"]) == (100, "given")
    both = run(*command(bench, judge, "--threshold", "0.1", "--threshold-data", other), code=2)
    assert "--threshold and --threshold-data exclude each other" in both.stderr
    lone = write_jsonl(tmp_path / "lone.jsonl", ROWS[:1])
    early = run(*command(bench, judge, "--threshold-data", lone), code=2)
    assert "lone.jsonl: solutions with and without an error are needed" in early.stderr


def test_errors_name_the_row(run: Run, tmp_path: Path) -> None:
    bad = write_jsonl(tmp_path / "bad.jsonl", [ROWS[0], {**ROWS[1], "label": 5, "id": "x"}])
    result = run(*command(bad, "always-right", "--json"), code=2)
    assert result.stdout == ""
    assert "row 1 (x): label is 5: expected -1 or a step from 0 to 1" in result.stderr
    assert "pass --on-bad skip to leave these rows out" in result.stderr


def test_a_judge_that_is_none(run: Run, bench: Path) -> None:
    result = run(*command(bench, "outcome_oracle"), code=2)
    assert "--judge outcome_oracle: neither a folder, a file of scores, a name on the Hub" in result.stderr
    assert "outcome-oracle, always-right, always-wrong" in result.stderr


def test_the_oracle_without_outcomes(run: Run, tmp_path: Path) -> None:
    rows = [{"problem": "p", "steps": ["a"], "labels": [label]} for label in (1, 0)]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    result = run("prm", "eval", "--benchmark", "prmbench", "--data", path, "--judge", "outcome-oracle", code=2)
    assert "row 0: it does not say whether its final answer is right (final_answer_correct)" in result.stderr


def test_prmbench(run: Run, tmp_path: Path) -> None:
    rows = [
        {"problem": "p", "steps": ["a", "b"], "labels": [0, 1], "classification": kind} for kind in ("circular", "x")
    ]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    args = ("prm", "eval", "--benchmark", "prmbench", "--data", path, "--judge")
    found = json.loads(run(*args, scores(tmp_path, [[0, 1], [0, 1]]), "--json").stdout)
    assert [found[name] for name in ("n", "acc_error", "acc_correct", "f1", "prmscore")] == [2, 100, 100, 100, 100]
    lines = [line.split() for line in run(*args, "always-right").stdout.splitlines()]
    assert ["always-right", "2", "0.0", "100.0", "66.7", "33.3", "0.5", "default"] in lines
    assert ["circular", "1", "0.0", "100.0", "66.7", "33.3"] in lines


BON = [
    {"problem": "2+2?", "gold": "4", "solutions": ["2+2\n#### 4", "#### 5", "#### 5"]},
    {"problem": "1+1?", "gold": "2", "solutions": ["#### 2", "#### 2", "1\n1\n#### 3"]},
]


def test_bestofn(run: Run, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "bon.jsonl", BON)
    args = ("prm", "eval", "--benchmark", "bestofn", "--data", path, "--judge")
    judge = scores(tmp_path, [[0.9, 0.9], [0.5], [0.1], [0.2], [0.1], [0.9, 0.9, 0.9]])
    found = json.loads(run(*args, judge, "--json").stdout)
    assert (found["n"], found["accuracy"], found["majority"], found["pass_at_n"]) == (2, 50, 50, 100)
    assert found["baselines"] == {
        "majority": 50,
        "pass_at_n": 100,
        "mean": pytest.approx(50),
        "outcome-oracle": 100,
    }
    text = run(*args, "outcome-oracle").stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["majority", "(maj@3)", "50.0"] in lines
    assert ["some", "is", "right", "(pass@3)", "100.0"] in lines
    assert "2 problems, 3 solutions each" in text
    first = json.loads(run(*args, "always-right", "--n", "1", "--json").stdout)
    assert (first["samples"], first["accuracy"]) == ([1, 1], 100)
    assert "takes one --data file, got 2" in run(*args, "always-right", "--data", path, code=2).stderr


@pytest.mark.train
def test_a_checkpoint_with_a_policy_beside_it_resumed(run: Run, bench: Path, tmp_path: Path) -> None:
    needed = "needs torch and transformers: pip install markscheme[train]"
    pytest.importorskip("torch", reason=needed)
    pytest.importorskip("transformers", reason=needed)
    import tiny_judges  # noqa: PLC0415 - it imports torch

    judge = tiny_judges.save_qwen_prm(tmp_path / "Qwen2.5-Math-PRM-tiny")
    policy = tiny_judges.save_causal(tmp_path / "policy", "qwen")
    out = tmp_path / "out.jsonl"
    args = command(bench, judge, "--policy", policy, "-o", out, "--json")
    first = json.loads(run(*args).stdout)
    assert (first["judge"], first["n"], first["threshold_from"]) == ("Qwen2.5-Math-PRM-tiny", 4, "checkpoint")
    likely = first["baselines"]["likelihood"]
    assert (likely["threshold_from"], likely["upper_bound"]) == ("bench.jsonl", True)
    kept = read_jsonl(out)
    assert [row["id"] for row in kept] == [f"gsm8k-{i}" for i in range(4)]
    by_hand = json.loads(run(*command(bench, out, "--json")).stdout)
    assert by_hand["f1"] == first["f1"]

    out.write_text("".join(json.dumps(row) + "\n" for row in kept[:2]), encoding="utf-8")
    again = json.loads(run(*args).stdout)
    assert "2 scored by an earlier run of this command." in again["notes"]
    assert (again["f1"], again["baselines"]) == (first["f1"], first["baselines"])
    assert read_jsonl(out) == kept

    other = command(bench, policy, "-o", out, "--judge-format", "eurus")
    assert run(*other, code=2).stderr.startswith("error: ")
    refused = command(bench, judge, "-o", bench)
    assert "-o names a file that is read" in run(*refused, code=2).stderr


@pytest.mark.train
def test_solutions_that_the_judge_cannot_lay_out(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch and transformers: pip install markscheme[train]")
    import tiny_judges  # noqa: PLC0415 - it imports torch

    judge = tiny_judges.save_qwen_prm(tmp_path / "Qwen2.5-Math-PRM-tiny")
    rows = [*ROWS, {**ROWS[0], "steps": ["a <extra_0> b", "c"]}]
    bench = write_jsonl(tmp_path / "bench.jsonl", rows)
    assert "bench.jsonl row 4" in run(*command(bench, judge), code=2).stderr
    two = run(*command(write_jsonl(tmp_path / "first.jsonl", ROWS), judge, "--data", bench), code=2).stderr
    assert "\n  bench.jsonl row 4: step 0 holds the separator" in two
    sampled = write_jsonl(tmp_path / "bon.jsonl", [BON[0], {**BON[1], "solutions": ["#### 2", "x <extra_0>\n#### 2"]}])
    said = run("prm", "eval", "--benchmark", "bestofn", "--data", sampled, "--judge", judge, code=2).stderr
    assert "\n  row 1, solution 1: step 0 holds the separator" in said
    found = json.loads(run(*command(bench, judge, "--on-bad", "skip", "--json")).stdout)
    assert (found["n"], found["unusable"]) == (4, 1)
    assert found["notes"][-1].startswith("1 solutions cannot be laid out and are left out, such as bench.jsonl row 4: ")
