"""``markscheme eval --prm``: best of n beside pass@k and maj@n."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes import Run, read_jsonl, write_jsonl


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [{"question": f"What is {i} + {i}?", "answer": f"It is {2 * i}.\n#### {2 * i}"} for i in range(4)]
    return write_jsonl(tmp_path / "gsm8k.jsonl", rows)


@pytest.fixture
def completions(tmp_path: Path) -> Path:
    """Two problems with three samples, given in turn and the second problem first."""
    rows = [(1, "1 + 1 = 3\n\n#### 3"), (0, "0 + 0 = 0\n\n#### 0"), (1, "1 + 1 = 2\n\n#### 2")]
    rows += [(0, "0 + 0 = 1\n\n#### 1"), (1, "1 + 1 = 4\n\n#### 3"), (0, "")]
    return write_jsonl(tmp_path / "c.jsonl", [{"index": index, "completion": text} for index, text in rows])


@pytest.mark.parametrize(
    ("scores", "how", "best"),
    [
        ([[0.2, 0.2], [0.9, 0.8], [0.9, 0.7], [0.1, 0.1], [0.3, 0.9], []], "min", "100.0"),
        ([[0.2, 0.2], [0.9, 0.8], [0.9, 0.7], [0.1, 0.1], [0.3, 0.9], []], "last", "50.0"),
        ([[0.2, 0.2], [0.1, 0.1], [0.2, 0.2], [0.1, 0.1], [0.1, 0.1], []], "min", "50.0"),  # ties count by their share
    ],
)
def test_the_best_scored_sample_counts(
    run: Run, data: Path, completions: Path, tmp_path: Path, scores: list[list[float]], how: str, best: str
) -> None:
    judge = write_jsonl(tmp_path / "scores", [{"scores": one} for one in scores])
    report = tmp_path / "r.html"
    args = ("eval", "gsm8k", "--completions", completions, "--data", data, "--prm", judge, "--aggregation", how)
    text = run(*args, "--report", report).stdout
    assert f"best of 3 by scores, {how}: {best} % (95 % interval " in text
    assert "pass@3: 100.0 %\nmaj@3: 50.0 %\nbest of 3" in text
    assert "1 samples have no score" in text
    assert "best of 3 by scores" in report.read_text(encoding="utf-8")


def test_there_must_be_something_to_choose(run: Run, data: Path, completions: Path, tmp_path: Path) -> None:
    given = ("eval", "gsm8k", "--data", data)
    named = run(*given, "--completions", completions, "--prm", "outcome-oracle", code=2).stderr
    assert "--prm outcome-oracle: neither a folder, a file of scores, nor a name on the Hub" in named
    judge = write_jsonl(tmp_path / "scores", [{"scores": [1.0]}])
    # Before the model is looked for: it does not exist.
    alone = run(*given, "--model", tmp_path / "none", "--prm", judge, code=2).stderr
    assert "--prm chooses among several samples of a problem: pass -n 8" in alone
    single = write_jsonl(tmp_path / "one.jsonl", [{"index": 0, "completion": "#### 0"}])
    text = run(*given, "--completions", single, "--prm", judge).stdout
    assert "every problem has one sample: there is nothing for --prm to choose from." in text
    assert "best of" not in text
    few = run(*given, "--completions", completions, "--prm", judge, code=2).stderr
    assert "it has the scores of 1 solutions, but 6 are to be judged; row 1 has none" in few


@pytest.mark.train
def test_from_a_model_and_a_judge_to_the_table(run: Run, data: Path, tmp_path: Path) -> None:
    """Everything is really there: a policy, a judge, samples, scores; a second run takes all of it from its files."""
    pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
    from markscheme.prm import PRMScorer  # noqa: PLC0415
    from tiny import saved_model  # noqa: PLC0415
    from tiny_judges import save_small_judge  # noqa: PLC0415

    model, judge = saved_model(tmp_path / "model"), save_small_judge(tmp_path / "judge")
    kept, out = tmp_path / "samples.jsonl", tmp_path / "v.jsonl"
    args = ("eval", "gsm8k", "--model", model, "--data", data, "--limit", 2, "-n", 4, "--max-tokens", 24, "--seed", 3)
    args = (
        *args,
        "--completions",
        kept,
        "-o",
        out,
        "--prm",
        judge,
        "--prm-format",
        "trl",
        "--separator",
        "e",
        "--shots",
        1,
        "--style",
        "chat",
    )
    text = run(*args).stdout
    assert "best of 4 by judge, min: " in text
    assert "pass@4: " in text
    assert "maj@4: " in text
    lines = read_jsonl(tmp_path / "v.judge.jsonl")
    assert [(line["row"], line["index"], line["sample"]) for line in lines] == [(i, i // 4, i % 4) for i in range(8)]
    sample = read_jsonl(kept)[0]["completion"][1]
    steps = [step for step in sample.split("e") if step.strip()]
    own = PRMScorer.from_pretrained(judge, format="trl").score("What is 0 + 0?", steps)
    assert lines[1]["scores"] == pytest.approx(own, abs=1e-5)
    before = (kept.read_bytes(), (tmp_path / "v.judge.jsonl").read_bytes())
    again = run(*args).stdout
    assert "8 scored by an earlier run" in again
    assert (kept.read_bytes(), (tmp_path / "v.judge.jsonl").read_bytes()) == before
