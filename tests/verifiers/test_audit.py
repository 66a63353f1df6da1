from __future__ import annotations

from pathlib import Path

import pytest

from fakes import TextVerifier, write_jsonl
from markscheme.verifiers import DataError, Policy
from markscheme.verifiers.audit import Pair, audit, audit_in_processes, load_pairs
from markscheme.verifiers.grading import Setup
from markscheme.verifiers.tasks import Task

JUDGED = [
    # prediction (gold is "1"), expected
    ("1", True),
    ("2", True),  # FN
    ("undecided", True),  # FN: a right answer refused
    ("unreadable", True),  # FN
    ("broken", True),  # FN
    ("1", False),  # FP
    ("2", False),
    ("undecided", False),
]


def test_counts() -> None:
    pairs = [Pair(Task(i, text, "1"), expected) for i, (text, expected) in enumerate(JUDGED)]
    result = audit(pairs, TextVerifier())
    summary = result.summary()
    assert list(summary) == [
        "n", "true", "false", "fn", "fp", "undecided", "unreadable", "broken",
        "pairs_per_cpu_s", "p50_ms", "p99_ms", "max_ms",
    ]  # fmt: skip
    assert list(summary.values())[:8] == [8, 5, 3, 4, 1, 2, 1, 1]
    assert [item.pair.task.row for item in result.mismatches] == [1, 2, 3, 4, 5]
    assert 0 < result.p50_ms <= result.p99_ms <= result.max_ms
    assert result.pairs_per_cpu_s > 0


def test_nothing_to_judge() -> None:
    assert set(audit([], TextVerifier()).summary().values()) == {0}


def test_in_processes_the_counts_are_the_same(tmp_path: Path) -> None:
    rows = [{"gold": "1", "prediction": str(i % 3), "form": "answer", "expected": i % 2 == 0} for i in range(40)]
    pairs = load_pairs(write_jsonl(tmp_path / "p.jsonl", rows))
    here = audit(pairs, Setup().verifier(Policy())).summary()
    there = audit_in_processes(pairs, Setup(), 2).summary()
    assert list(here.values())[:8] == list(there.values())[:8]
    assert there["pairs_per_cpu_s"] > 0


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"gold": "1", "prediction": "1"}, "line 1: no 'expected': an audit needs true or false there"),
        ({"gold": "1", "prediction": "1", "expected": 1}, "line 1: 'expected': expected true or false, found a number"),
        ({"gold": "1", "expected": True}, "line 1: no completion: looked for"),
    ],
)
def test_bad_rows(tmp_path: Path, row: dict[str, object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        load_pairs(write_jsonl(tmp_path / "p.jsonl", [row]))
