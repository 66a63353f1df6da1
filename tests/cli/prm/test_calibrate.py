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


def test_a_plot(run: Run, data: Path, judge: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install markscheme[bench]")
    plot = tmp_path / "reliability.png"
    run("prm", "calibrate", "--judge", judge, "--data", data, "--plot", plot)
    assert plot.read_bytes().startswith(b"\x89PNG")
