from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes import Run, write_jsonl

ROWS = [
    {"prompt": "p1", "completions": ["a", "b"], "labels": [1, 0]},
    {"prompt": "p2", "completions": ["a", "b"], "labels": [1, 1]},
    {"prompt": "p3", "completions": ["a", "b"], "labels": [1, 1]},
    {"prompt": "p4", "completions": ["a", "b"], "labels": [0, 1]},
]
SURE = [[0.99, 0.9], [0.99, 0.99], [0.99, 0.98], [0.97, 0.99]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "dev.jsonl", ROWS)


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "scores.jsonl", [{"scores": row} for row in SURE])


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_a_file_of_scores(run: Run, data: Path, judge: Path, method: str) -> None:
    args = ("prm", "calibrate", "--judge", judge, "--data", data, "--method", method, "--json")
    found = json.loads(run(*args).stdout)
    fitted = found["fitted_on"]
    assert found["kept_in"] is None
    assert (found["calibration"]["kind"], found["calibration"]["data"]) == (method, "dev.jsonl")
    assert fitted["after"]["brier"] < fitted["before"]["brier"]
    assert (fitted["before"]["f1"], fitted["after"]["f1"]) == (0, 100)
    assert (found["threshold"]["data"], found["threshold"]["f1"]) == ("dev.jsonl", 100)


def test_the_threshold_alone(run: Run, data: Path, judge: Path) -> None:
    args = ("prm", "calibrate", "--judge", judge, "--data", data)
    found = json.loads(run(*args, "--method", "none", "--json").stdout)
    assert found["calibration"] is None
    assert found["threshold"]["value"] == pytest.approx(0.975)
    kept = json.loads(run(*args, "--no-threshold", "--json").stdout)
    assert (kept["threshold"], kept["fitted_on"]["after"]["threshold"]) == (None, 0.5)
    text = run(*args).stdout
    assert "dev.jsonl (fitted on), before" in text
    assert "kept nowhere" in text
    assert "figures on the set that was fitted on are upper bounds" in text


def test_rows_that_are_left_out_are_counted_and_shown(run: Run, tmp_path: Path) -> None:
    bad = {"prompt": "p", "completions": ["a", " "], "labels": [1, 0]}
    data = write_jsonl(tmp_path / "bad.jsonl", [ROWS[0], bad, *ROWS[1:]])
    judge = write_jsonl(tmp_path / "scores.jsonl", [{"scores": row} for row in [[0.9, None], *SURE[1:]]])
    args = ("prm", "calibrate", "--judge", judge, "--data", data)
    assert "row 1: step 1 is empty" in run(*args, code=2).stderr
    text = run(*args, "--on-bad", "skip").stdout
    assert "bad.jsonl: left out 1 of 5 bad rows, such as row 1: step 1 is empty" in text
    assert "bad.jsonl: 1 steps have no score" in text


def test_solutions_that_tell_no_threshold_are_counted_and_shown(run: Run, tmp_path: Path, judge: Path) -> None:
    data = write_jsonl(tmp_path / "half.jsonl", [{**ROWS[0], "labels": [None, 0]}, *ROWS[1:]])
    args = ("prm", "calibrate", "--judge", judge, "--data", data)
    assert "row 0: the labels do not tell the first wrong step" in run(*args, code=2).stderr
    found = json.loads(run(*args, "--on-bad", "skip", "--json").stdout)
    assert found["threshold"]["n"] == 3
    assert "half.jsonl: 1 solutions' first error is not known: they choose no threshold" in found["notes"]


def test_data_that_nothing_can_be_fitted_on(run: Run, tmp_path: Path, judge: Path) -> None:
    right = write_jsonl(tmp_path / "right.jsonl", [{**row, "labels": [1, 1]} for row in ROWS])
    result = run("prm", "calibrate", "--judge", judge, "--data", right, code=2)
    assert "right.jsonl: solutions with and without an error are needed to choose a threshold on" in result.stderr
    result = run("prm", "calibrate", "--judge", judge, "--data", right, "--no-threshold", code=2)
    assert "right and wrong steps are needed to calibrate on" in result.stderr
    result = run("prm", "calibrate", "--judge", judge, "--data", right, "--eval", right, code=2)
    assert "--eval needs a judge that can score it" in result.stderr


@pytest.mark.train
def test_a_checkpoint_keeps_what_was_fitted(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install markscheme[train]")
    import tiny_judges as tiny  # noqa: PLC0415
    from markscheme.prm.checkpoints.own import read_file  # noqa: PLC0415

    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")
    tiny.save_causal(tmp_path / "backbone", "small")
    train = write_jsonl(tmp_path / "train.jsonl", tiny.toy_rows(8))
    rows = [{**row, "prompt": f"dev: {row['prompt']}"} for row in tiny.toy_rows(12, 1)]
    data, test = write_jsonl(tmp_path / "dev.jsonl", rows), write_jsonl(tmp_path / "test.jsonl", tiny.toy_rows(6, 2))
    folder, scores = tmp_path / "judge", tmp_path / "scores.jsonl"
    run("prm", "train", "--model", tmp_path / "backbone", "--data", train, "-o", folder, "--max-steps", 1)

    args = ("prm", "calibrate", "--judge", folder, "--data", data, "--eval", test, "-o", scores, "--json")
    dry = json.loads(run(*args, "--dry-run").stdout)
    assert (dry["kept_in"], read_file(folder).calibration) == (None, None)
    found = json.loads(run(*args).stdout)
    assert "18 scored by an earlier run of this command." in found["notes"]
    file = read_file(folder)
    assert file.calibration is not None
    assert (found["kept_in"], file.calibration.data, file.threshold_source) == (str(folder), "dev.jsonl", "dev.jsonl")
    assert file.threshold == found["threshold"]["value"]
    assert found["eval"]["data"] == "test.jsonl"

    again = json.loads(run(*args).stdout)  # the scores are those before calibration, so nothing changes
    assert again["calibration"] == found["calibration"]
    assert again["threshold"] == found["threshold"]
    judged = json.loads(
        run("prm", "eval", "--benchmark", "processbench", "--data", data, "--judge", folder, "--json").stdout
    )
    assert judged["f1"] == pytest.approx(found["fitted_on"]["after"]["f1"])
    assert (judged["threshold_from"], judged["upper_bound"]) == ("checkpoint: dev.jsonl", True)
    assert (
        "dev.jsonl: the judge was calibrated, or its threshold chosen, on it: its figures are too good"
        in judged["notes"]
    )
    other = json.loads(
        run("prm", "eval", "--benchmark", "processbench", "--data", test, "--judge", folder, "--json").stdout
    )
    assert (other["threshold_from"], other["upper_bound"], other["notes"]) == ("checkpoint: dev.jsonl", False, [])


@pytest.mark.train
@pytest.mark.parametrize("method", ["temperature", "isotonic", "none"])
def test_a_threshold_that_is_not_chosen_anew_flags_the_same_steps(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """It is of calibrated scores, so it has to move with them, at the first calibration and at later ones."""
    pytest.importorskip("transformers", reason="needs transformers: pip install markscheme[train]")
    import tiny_judges as tiny  # noqa: PLC0415
    from markscheme.prm.checkpoints.own import read_file, update_file  # noqa: PLC0415

    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")
    tiny.save_causal(tmp_path / "backbone", "small")
    train = write_jsonl(tmp_path / "train.jsonl", tiny.toy_rows(8))
    data, folder = write_jsonl(tmp_path / "dev.jsonl", tiny.toy_rows(12, 1)), tmp_path / "judge"
    run("prm", "train", "--model", tmp_path / "backbone", "--data", train, "-o", folder, "--max-steps", 1)
    scores = tmp_path / "plain.jsonl"
    run("prm", "score", data, "--judge", folder, "-o", scores)
    plain = sorted(one for line in scores.read_text().splitlines() for one in json.loads(line)["scores"])
    middle = len(plain) // 2
    update_file(folder, threshold=(plain[middle - 1] + plain[middle]) / 2)

    args = ("prm", "calibrate", "--judge", folder, "--data", data, "--no-threshold", "--json")
    first = json.loads(run(*args, "--method", "temperature").stdout)
    assert first["fitted_on"]["before"]["f1"] == first["fitted_on"]["after"]["f1"]
    again = json.loads(run(*args, "--method", method).stdout)
    assert again["fitted_on"]["before"] == pytest.approx(first["fitted_on"]["before"])
    assert read_file(folder).threshold == again["fitted_on"]["after"]["threshold"]
    if method != "isotonic":  # which ties scores
        found = json.loads(run("prm", "score", data, "--judge", folder, "-o", tmp_path / "new.jsonl", "--json").stdout)
        assert found["flagged_steps"] == middle


def test_a_plot(run: Run, data: Path, judge: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install markscheme[bench]")
    plot = tmp_path / "reliability.png"
    run("prm", "calibrate", "--judge", judge, "--data", data, "--plot", plot)
    assert plot.read_bytes().startswith(b"\x89PNG")
