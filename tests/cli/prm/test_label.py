from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakes import Run, read_jsonl, write_jsonl

ROWS = [
    {"id": "a", "problem": "Sue has 18.", "completion": "18 - 6 = 12\n\n12 + 1 = 14\n\n#### 14", "gold": "13"},
    {"id": "b", "problem": "Sue has 18.", "steps": ["18 - 6 = 12", "12 + 1 = 13", "#### 13"], "gold": "13"},
]
GOLD = [
    {"prompt": "Sue has 18.", "completions": ["18 - 6 = 12", "12 + 1 = 14", "#### 14"], "labels": [1, 0, 0]},
    {"prompt": "Sue has 18.", "completions": ["18 - 6 = 12", "12 + 1 = 13", "#### 13"], "labels": [1, 1, 1]},
]


@pytest.fixture
def solutions(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "solutions.jsonl", ROWS)


@pytest.fixture
def recovers(backend: Any) -> Any:
    backend.answers = {"= 14": "#### 0", "18 - 6 = 12": "#### 13"}
    return backend


def test_rollouts_from_every_prefix(run: Run, solutions: Path, tmp_path: Path, recovers: Any) -> None:
    out, gold = tmp_path / "labels.jsonl", write_jsonl(tmp_path / "gold.jsonl", GOLD)
    args = ("prm", "label", solutions, "--by", "montecarlo", "--model", "m", "-n", 3, "-o", out)
    text = run(*args, "--gold", gold).stdout
    assert [(row["id"], row["labels"]) for row in read_jsonl(out)] == [("a", [1, 0, 0]), ("b", [1, 1, 1])]
    assert "2 solutions in" in text
    assert "first error found in 1, none in 1, not known of 0" in text
    assert "12 rollouts" in text
    assert "first error: the same in 2 of 2 solutions" in text
    assert recovers.prompts[0].text.endswith("Question: Sue has 18.\nAnswer: 18 - 6 = 12\n\n")
    assert recovers.samplings[0].n == 3
    found = json.loads(run(*args, "--gold", gold, "--json").stdout)
    assert (found["n"], found["rollouts"], found["audit"]["total"]["false_right_rate"]) == (2, 12, 0)
    assert len(recovers.samplings) == 1  # the second run had nothing left to do
    again = run(*args, "--threshold", 0.5, code=2)
    assert "was reached with other settings; choose another -o, or pass --fresh to start over" in again.stderr


def test_a_stopped_run_goes_on(run: Run, solutions: Path, tmp_path: Path, recovers: Any) -> None:
    out = tmp_path / "labels.jsonl"
    args = ("prm", "label", solutions, "--by", "montecarlo", "--model", "m", "--chunk", 1, "-o", out)
    recovers.fail_at = 1
    assert "stopped: 1 of 2 labelled, kept in" in run(*args, code=130).stderr
    recovers.fail_at = None
    result = run(*args)
    assert "1 labelled by an earlier run" in result.stderr
    assert [row["labels"] for row in read_jsonl(out)] == [[1, 0, 0], [1, 1, 1]]


def test_soft_labels(run: Run, solutions: Path, tmp_path: Path, recovers: Any) -> None:
    out = tmp_path / "labels.jsonl"
    recovers.answers = {}
    run("prm", "label", solutions, "--by", "montecarlo", "--model", "m", "--soft", "--threshold", 0.5, "-o", out)
    assert [row["labels"] for row in read_jsonl(out)] == [[0, 0, 0], [0, 0, 1]]


def test_search(run: Run, solutions: Path, tmp_path: Path, recovers: Any) -> None:
    recovers.answers = {"= 14": "#### 0", "Sue": "#### 13"}
    out = tmp_path / "labels.jsonl"
    run("prm", "label", solutions, "--by", "search", "--model", "m", "-n", 2, "--after", "wrong", "-o", out)
    rows = read_jsonl(out)
    assert [row["labels"] for row in rows] == [[1, 0, 0], [1, 1, 1]]
    assert [row["rollouts"] for row in rows] == [6, 0]


def test_a_judge(run: Run, solutions: Path, tmp_path: Path, backend: Any) -> None:
    backend.answers = {"= 14": "\\boxed{1}", "= 13": "I cannot tell."}
    out = tmp_path / "labels.jsonl"
    text = run("prm", "label", solutions, "--by", "judge", "--model", "m", "--retries", 1, "-o", out).stdout
    rows = read_jsonl(out)
    assert [row["labels"] for row in rows] == [[1, 0, None], [None, None, None]]
    assert "3 answers of the judge, 2 of them could not be read" in text
    assert "1 solutions: no answer of the judge could be read" in text
    assert backend.samplings[0].n == 1


def test_consensus(run: Run, solutions: Path, tmp_path: Path, backend: Any) -> None:
    mc, judge, out = (tmp_path / f"{name}.jsonl" for name in ("mc", "judge", "both"))
    backend.answers = {"= 14": "#### 0", "18 - 6 = 12": "#### 13"}
    run("prm", "label", solutions, "--by", "montecarlo", "--model", "m", "-o", mc)
    backend.answers = {"= 14": "\\boxed{1}", "= 13": "\\boxed{0}"}
    run("prm", "label", solutions, "--by", "judge", "--model", "m", "-o", judge)
    result = run("prm", "label", "--by", "consensus", "--labels", mc, "--labels", judge, "-o", out)
    assert "kept 1 of 2 (0 without an error); one sees an error, the other none: 1" in result.stderr
    assert [(row["row"], row["labels"]) for row in read_jsonl(out)] == [(0, [1, 0, None])]
    one = run("prm", "label", "--by", "consensus", "--labels", mc, "-o", out, code=2)
    assert "takes two files of labels (--labels A --labels B), got 1" in one.stderr


def test_equations(run: Run, solutions: Path, tmp_path: Path) -> None:
    pytest.importorskip("markscheme.verifiers.steps")
    out = tmp_path / "labels.jsonl"
    run("prm", "label", solutions, "--by", "equations", "--no-claim", "right", "-o", out)
    rows = read_jsonl(out)
    assert [row["labels"] for row in rows] == [[1, 0, 1], [1, 1, 1]]
    assert [row["final_answer_correct"] for row in rows] == [False, True]


def test_what_is_missing_is_said(run: Run, tmp_path: Path, solutions: Path, backend: Any) -> None:
    out = tmp_path / "labels.jsonl"
    bare = write_jsonl(tmp_path / "bare.jsonl", [{"id": "x", "problem": "p", "steps": ["a"]}])
    result = run("prm", "label", bare, "--by", "montecarlo", "--model", "m", "-o", out, code=2)
    assert "row 0 (x): no gold answer: looked for" in result.stderr
    assert "pass --on-bad skip" in result.stderr
    mixed = write_jsonl(tmp_path / "mixed.jsonl", [{"problem": "p", "steps": ["a"]}, ROWS[1]])
    skip = ("prm", "label", mixed, "--by", "montecarlo", "--model", "m", "-o", tmp_path / "b.jsonl")
    result = run(*skip, "--on-bad", "skip")
    assert "left out 1 of 2 rows: row 0: no gold answer" in result.stderr
    assert [row["row"] for row in read_jsonl(tmp_path / "b.jsonl")] == [1]
    result = run("prm", "label", solutions, "--by", "search", "-o", out, code=2)
    assert "--by search needs a model: pass --model" in result.stderr
    assert "name the file of solutions" in run("prm", "label", "--by", "judge", "-o", out, code=2).stderr
    same = run("prm", "label", solutions, "--by", "judge", "--model", "m", "-o", solutions, code=2)
    assert "-o names the file that is read" in same.stderr
    backend.chats = True
    server = ("prm", "label", solutions, "--by", "montecarlo", "--model", "m", "--backend", "http://x/v1", "-o", out)
    assert "pass --tokenizer, whose chat template then writes the prompt" in run(*server, code=2).stderr
    assert not out.exists()


@pytest.mark.train
def test_a_model_of_transformers_by_its_chat_template(run: Run, solutions: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install markscheme[train]")
    import tiny_judges as tiny  # noqa: PLC0415

    model, out = tmp_path / "policy", tmp_path / "labels.jsonl"
    tiny.save_causal(model, "small")
    args = ("prm", "label", solutions, "--by", "montecarlo", "--model", model, "-n", 2, "--max-tokens", 4, "-o", out)
    found = json.loads(run(*args, "--json").stdout)
    assert (found["n"], found["rollouts"], found["steps"]) == (2, 8, 6)
    assert [len(row["estimates"]) for row in read_jsonl(out)] == [3, 3]  # type: ignore[arg-type]
