from __future__ import annotations

import json
from pathlib import Path

from fakes import Run, write_jsonl

ROWS = [
    {"id": "a", "gold": "18", "prediction": "18", "expected": True, "form": "answer"},
    {"id": "b", "gold": "18", "prediction": "#### 18", "expected": True},
    {"id": "fn", "gold": "18", "prediction": "19", "expected": True, "form": "answer"},
    {"id": "fp[/]\x1b[31m", "gold": "[red]18", "prediction": "\\boxed{18}", "expected": False},
    {"id": "fp2", "gold": "18", "prediction": "18", "expected": False, "form": "answer"},
]
KEYS = [
    "n", "true", "false", "fn", "fp", "undecided", "unreadable", "broken",
    "pairs_per_cpu_s", "p50_ms", "p99_ms", "max_ms",
]  # fmt: skip


def test_json_is_one_object_and_nothing_else(run: Run, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", [row for row in ROWS if "[red]" not in row["gold"]])
    result = run("audit", path, "--json", "--deadline", "1")
    found = json.loads(result.stdout)
    assert list(found) == KEYS
    assert [found[key] for key in KEYS[:8]] == [4, 3, 1, 1, 1, 0, 0, 0]
    assert result.stderr == ""
    pooled = json.loads(run("audit", path, "--json", "--workers", "2").stdout)
    assert [pooled[key] for key in KEYS[:8]] == [found[key] for key in KEYS[:8]]


def test_mismatches_are_listed(run: Run, tmp_path: Path) -> None:
    rows = [*ROWS[:3], {**ROWS[4], "id": "fp[/]\x1b[31m"}]
    text = run("audit", write_jsonl(tmp_path / "p.jsonl", rows)).stdout
    assert "false negatives (right answers refused)" in text
    assert "different" in text
    assert "fp[/]␛[31m" in text
    assert "\x1b" not in text


def test_errors_go_to_stderr(run: Run, tmp_path: Path) -> None:
    result = run("audit", write_jsonl(tmp_path / "p.jsonl", [{"gold": "1", "prediction": "1"}]), "--json", code=2)
    assert result.stdout == ""
    assert "no 'expected'" in result.stderr
