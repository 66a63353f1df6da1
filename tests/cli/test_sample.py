from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes import Run, read_jsonl, write_jsonl

pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

pytestmark = pytest.mark.train


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [{"question": f"What is {i} + {i}?", "answer": f"It is {2 * i}.\n#### {2 * i}"} for i in range(5)]
    return write_jsonl(tmp_path / "gsm8k.jsonl", rows)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    from tiny import saved_model  # noqa: PLC0415 - needs torch

    return saved_model(tmp_path / "model")


def test_from_a_model_to_the_table(run: Run, data: Path, model: Path, tmp_path: Path) -> None:
    kept = tmp_path / "samples.jsonl"
    report = tmp_path / "report.html"
    args = ("eval", "gsm8k", "--model", model, "--data", data, "--limit", 3, "-n", 2, "--max-tokens", 8, "--seed", 3)
    text = run(*args, "--completions", kept, "--report", report).stdout
    assert "problems: 3" in text
    assert "pass@2: " in text
    assert "maj@2: " in text
    assert report.is_file()
    rows = read_jsonl(kept)
    assert [row["index"] for row in rows] == [0, 1, 2]
    again = tmp_path / "again.jsonl"
    run(
        "sample",
        "gsm8k",
        "--model",
        model,
        "--data",
        data,
        "--limit",
        3,
        "-n",
        2,
        "--max-tokens",
        8,
        "--seed",
        3,
        "-o",
        again,
    )
    assert read_jsonl(again) == rows


def test_samples_without_a_name_are_kept_in_the_cache(
    run: Run, data: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKSCHEME_CACHE", str(tmp_path / "cache"))
    args = ("eval", "gsm8k", "--model", model, "--data", data, "--max-tokens", 4)
    run(*args)
    files = list((tmp_path / "cache" / "samples").iterdir())
    run(*args)
    assert list((tmp_path / "cache" / "samples").iterdir()) == files
    run(*args, "--shots", 1)
    assert len(list((tmp_path / "cache" / "samples").iterdir())) == 2
    assert "problems: 3" in run(*args, "--limit", 3).stdout  # of samples of five
    os.utime(model / "model.safetensors", ns=(1, 1))  # the next checkpoint, in the same folder
    run(*args)
    assert len(list((tmp_path / "cache" / "samples").iterdir())) == 3


def test_fresh_verdicts_are_of_the_same_samples(run: Run, data: Path, model: Path, tmp_path: Path) -> None:
    kept, out = tmp_path / "samples.jsonl", tmp_path / "verdicts.jsonl"
    args = ("eval", "gsm8k", "--model", model, "--data", data, "--max-tokens", 4, "--completions", kept, "-o", out)
    run(*args)
    drawn = kept.stat().st_mtime_ns
    assert "pass --fresh to start over" in run(*args, "--reading", "boxed", code=2).stderr
    run(*args, "--reading", "boxed", "--fresh")
    assert kept.stat().st_mtime_ns == drawn
    changed = run(*args, "--max-tokens", 5, code=2).stderr
    assert "problem 0 are of another model or other settings" in changed and "eval --resample" in changed
    run(*args, "--max-tokens", 5, "--resample", "--fresh")
    assert kept.stat().st_mtime_ns > drawn


def test_what_is_missing_is_named(run: Run, data: Path, tmp_path: Path) -> None:
    assert "pass --completions FILE, or --model NAME" in run("eval", "gsm8k", "--data", data, code=2).stderr
    args = ("sample", "gsm8k", "--model", tmp_path, "--data", data, "-o", tmp_path / "s.jsonl")
    assert "expected transformers, vllm or a URL" in run(*args, "--backend", "hal", code=2).stderr
    assert "cannot be loaded" in run(*args, code=2).stderr
    assert "error: --top-p 0.0: input should be greater than 0" in run(*args, "--top-p", 0, code=2).stderr
    assert "expected NAME=VALUE" in run(*args, "--engine", "fast", code=2).stderr
