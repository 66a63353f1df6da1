"""``markscheme prm train`` and ``score``: thin, resumable, and honest about what was lost."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

import tiny_judges as tiny  # noqa: E402
from fakes import Run  # noqa: E402
from markscheme.cli.prm.score import _threshold  # noqa: E402
from markscheme.prm.checkpoints.own import read_file  # noqa: E402


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A backbone, training data and two evaluation sets."""
    folder = tmp_path_factory.mktemp("train")
    tiny.save_causal(folder / "backbone", "small")
    write(folder / "train.jsonl", tiny.toy_rows(24))
    for seed, name in enumerate(("test", "dev"), start=1):
        rows = [{**row, "prompt": f"{name}: {row['prompt']}"} for row in tiny.toy_rows(8, seed)]
        write(folder / f"{name}.jsonl", rows)
    return folder


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")


def train(run: Run, files: Path, out: Path, *more: object, code: int = 0):
    given = ["--model", files / "backbone", "--data", files / "train.jsonl", "-o", out, "--learning-rate", 0.003]
    return run("prm", "train", *given, *more, code=code)


def test_a_judge_is_trained_measured_scored_and_gone_on_with(run, files, tmp_path):
    out = tmp_path / "judge"
    sets = ["--eval", files / "test.jsonl", "--eval", f"dev={files / 'dev.jsonl'}", "--threshold-set", "dev"]
    found = json.loads(train(run, files, out, *sets, "--max-steps", 2, "--every", 2, "--json").stdout)
    assert (found["steps"], found["threshold_from"]) == (2, "dev")
    assert found["metrics"].keys() == {"test", "dev"}
    assert read_file(out).threshold == found["threshold"]
    assert (out / "checkpoint-2").is_dir()

    shown = train(run, files, out, *sets, "--max-steps", 4, "--every", 2).stdout
    assert "4 steps; the judge is in" in shown
    assert (out / "checkpoint-4").is_dir()
    changed = train(run, files, out, *sets, "--max-steps", 6, "--every", 2, "--loss", "mse", code=2)
    assert "holds checkpoints of another run (loss was 'bce' and is 'mse')" in changed.stderr
    assert "pass --fresh" in changed.stderr

    scores = tmp_path / "scores.jsonl"
    given = ["prm", "score", files / "test.jsonl", "--judge", out, "-o", scores]
    said = json.loads(run(*given, "--json").stdout)
    rows = [json.loads(line) for line in scores.read_text().splitlines()]
    values = [score for row in rows for score in row["scores"]]
    assert (said["n"], said["steps"], said["scored"]) == (8, len(values), len(values))
    assert said["mean"] == pytest.approx(math.fsum(values) / len(values))
    assert said["flagged_steps"] == sum(value < said["threshold"] for value in values)
    assert said["threshold"] == read_file(out).threshold
    again = run(*given).stdout
    assert "8 scored by an earlier run of this command." in again
    assert "8 solutions" in again


def test_what_is_lost_left_out_or_contaminated_is_shown(run, files, tmp_path):
    rows = tiny.toy_rows(12)
    data = write(tmp_path / "mixed.jsonl", [*rows, {**rows[0], "labels": [True] * 9}])
    given = ["--data", data, "--eval", files / "train.jsonl", "--max-steps", 1, "--max-length", 70]
    model = ["prm", "train", "--model", files / "backbone", "-o", tmp_path / "judge"]
    assert "row 12" in run(*model, *given, code=2).stderr
    ran = run(*model, *given, "--on-bad", "skip")
    shown = ran.stdout
    assert "warning: train: 12 of 24 test problems are in the training set" in ran.stderr, "and before it is trained"
    assert "mixed.jsonl: left out 1 of 13 rows, such as row 12" in shown
    assert "12 of 24 test problems are in the training set" in shown
    assert "pass --decontaminate" in shown
    assert "are beyond max_length" in shown


def test_a_threshold_set_that_is_none_is_refused(run, files, tmp_path):
    given = ["--eval", f"dev={files / 'dev.jsonl'}", "--threshold-set", "dve"]
    said = train(run, files, tmp_path / "judge", *given, code=2).stderr
    assert "--threshold-set dve: expected the name of an --eval set; its sets are dev" in said


def test_decontaminated_training_data_of_which_nothing_is_left_is_refused(run, files, tmp_path):
    given = ["--eval", files / "train.jsonl", "--decontaminate"]
    said = train(run, files, tmp_path / "judge", *given, code=2).stderr
    assert "training data: no step is labelled right (0 right, 0 wrong, 0 unlabelled)" in said


def test_settings_of_a_file_are_taken_and_checked(run, files, tmp_path):
    settings = tmp_path / "settings.json"
    settings.write_text('{"focal_gamma": 3.0, "learning_rate": 9.0}')
    train(run, files, tmp_path / "judge", "--max-steps", 1, "--loss", "focal", "--settings", settings)
    assert read_file(tmp_path / "judge").training["learning_rate"] == 0.003
    settings.write_text('{"gamma": 3.0}')
    assert "PRMConfig has no gamma" in train(run, files, tmp_path / "other", "--settings", settings, code=2).stderr


# peft uses names that transformers 5.24 calls deprecated.
@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning")
def test_an_adapter_is_trained(run, files, tmp_path):
    pytest.importorskip("peft")
    train(run, files, tmp_path / "judge", "--max-steps", 1, "--lora", 2)
    assert (tmp_path / "judge" / "adapter_config.json").exists()


def test_completions_are_parted_into_steps(run, files, tmp_path):
    folder = tiny.save_small_judge(tmp_path / "judge")
    rows = [
        {"id": "a", "question": "What?", "response": "2 + 3 = 5.\n\nSo 5."},
        {"id": "b", "prompt": [{"role": "user", "content": "Why?"}], "completion": "Because.\n\n\n\nThus."},
    ]
    data, out = write(tmp_path / "data.jsonl", rows), tmp_path / "scores.jsonl"
    run("prm", "score", data, "--judge", folder, "-o", out, "--judge-format", "trl")
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["id"], len(row["scores"])) for row in found] == [("a", 2), ("b", 2)]
    bad = write(tmp_path / "bad.jsonl", [rows[0], {"prompt": "p"}, {"prompt": "p", "steps": ["x", " "]}])
    said = run("prm", "score", bad, "--judge", folder, "-o", tmp_path / "other.jsonl", code=2).stderr
    assert "row 1: no steps: looked for steps, completions, completion" in said
    assert "row 2: step 1: expected a text that is not blank, found ' '" in said
    left = run(
        "prm", "score", bad, "--judge", folder, "-o", out, "--judge-format", "trl", "--fresh", "--on-bad", "skip"
    )
    assert "bad.jsonl: left out 2 of 3 rows: row 1: no steps: looked for steps" in left.stdout
    assert "1 solutions, 2 steps, 2 scored" in left.stdout


def test_a_threshold_of_zero_is_one():
    assert _threshold(None, 0.0) == 0.0
    assert _threshold(0.0, 0.7) == 0.0
    assert (_threshold(None, None), _threshold(None, 0.7), _threshold(0.2, 0.7)) == (0.5, 0.7, 0.2)


def test_rows_of_several_files_are_named_by_file_and_row(run, files, tmp_path):
    """The second file's third row, of which the second is left out."""
    row = tiny.toy_rows(1)[0]
    inside = {**row, "completions": ["a\n\nb", *row["completions"][1:]]}
    more = write(tmp_path / "more.jsonl", [row, {**row, "labels": []}, inside])
    given = ["prm", "train", "--model", files / "backbone", "-o", tmp_path / "judge", "--data", files / "train.jsonl"]
    shown = run(*given, "--data", more, "--max-steps", 1, "--on-bad", "skip").stdout
    assert "1 rows were left out: more.jsonl row 2: step 0 holds the separator" in shown
    write(more, [row, inside])
    said = run(*given, "--data", more, "--fresh", code=2).stderr
    assert "\n  more.jsonl row 1: step 0 holds the separator" in said
