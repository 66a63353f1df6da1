from __future__ import annotations

from pathlib import Path

import pytest

from fakes import Run, read_jsonl, write_jsonl


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [{"question": f"What is {i} + {i}?", "answer": f"It is {2 * i}.\n#### {2 * i}"} for i in range(4)]
    return write_jsonl(tmp_path / "gsm8k.jsonl", rows)


def test_samples_of_several_problems(run: Run, data: Path, tmp_path: Path) -> None:
    completions = write_jsonl(
        tmp_path / "c.jsonl",
        [
            {"index": 0, "completion": ["#### 0", "#### 0", "#### 1", "#### 2"]},
            {"index": 1, "completion": ["#### 3", "#### 3", "#### 3", "#### 2"]},
            *({"id": "2", "response": f"#### {n}"} for n in (9, 8, 4, 7)),
        ],
    )
    out = tmp_path / "v.jsonl"
    report = tmp_path / "r.html"
    args = ("eval", "gsm8k", "--completions", completions, "--data", data, "-o", out, "--report", report)
    text = run(*args).stdout
    assert "problems: 3" in text
    assert "accuracy: 33.3 % (95 % interval" in text
    # Right of 4: 2, 1, 1. pass@2 = mean of 5/6, 1/2, 1/2; the majority is right in the first problem only.
    assert "pass@1: 33.3 %\npass@2: 61.1 %\npass@4: 100.0 %\nmaj@4: 33.3 %" in text
    assert "1 of 4 problems have no completion and are not counted: index 3." in text
    lines = read_jsonl(out)
    assert [(v["row"], v["index"], v["sample"]) for v in lines] == [(i, i // 4, i % 4) for i in range(12)]
    assert "pass@4" in report.read_text(encoding="utf-8")
    again = run(*args).stdout
    assert "12 rows taken from an earlier run" in again
    assert "maj@4: 33.3 %" in again


def test_one_sample_a_problem_has_no_pass_at_k(run: Run, data: Path, tmp_path: Path) -> None:
    rows = [{"index": i, "completion": f"#### {2 * i}"} for i in range(4)]
    text = run("eval", "gsm8k", "--completions", write_jsonl(tmp_path / "c.jsonl", rows), "--data", data).stdout
    assert "accuracy: 100.0 % (95 % interval 51.0 to 100.0)" in text
    assert "pass@" not in text
    assert "maj@" not in text


def test_math500_joins_by_its_ids(run: Run, tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", [{"problem": "1 + 1", "answer": "2", "unique_id": "test/algebra/7.json"}])
    rows = [{"id": "test/algebra/7.json", "completion": "\\boxed{2}"}]
    out = tmp_path / "v.jsonl"
    run("eval", "math500", "--completions", write_jsonl(tmp_path / "c.jsonl", rows), "--data", data, "-o", out)
    assert [(v["id"], v["outcome"]) for v in read_jsonl(out)] == [("test/algebra/7.json", "correct")]


def test_a_row_that_names_no_problem_stops_the_run(run: Run, data: Path, tmp_path: Path) -> None:
    rows = [{"index": 0, "completion": "#### 0"}, {"index": 4, "completion": "#### 0"}]
    path = write_jsonl(tmp_path / "c.jsonl", rows)
    result = run("eval", "gsm8k", "--completions", path, "--data", data, code=2)
    assert "line 2: 'index': expected 0 to 3, found 4" in result.stderr
    assert "1 row graded before it; without -o" in result.stderr
    assert "accuracy: 100.0 %" in result.stdout
