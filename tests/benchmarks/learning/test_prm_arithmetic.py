"""The example's parts, and the whole of it in its quick form."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
pytest.importorskip("transformers", reason="needs transformers: pip install markscheme[train]")
pytest.importorskip("matplotlib", reason="needs matplotlib: pip install markscheme[bench]")

from markscheme.benchmarks.learning.judging.data import new_problems, tasks
from markscheme.benchmarks.learning.judging.policy import (
    PREFIX,
    DigitVerifier,
    Rollouts,
    check,
    injected,
    sample_of,
)
from markscheme.benchmarks.learning.judging.seed import STAGES
from markscheme.benchmarks.learning.policy import make_model, make_tokenizer
from markscheme.benchmarks.learning.prm_arithmetic import main
from markscheme.benchmarks.learning.task import Problem
from markscheme.verifiers.outcomes import Outcome

pytestmark = pytest.mark.train
PROBLEM = Problem.read("7a*3b+8c-5:")
RIGHT = "7a*3=1\n1b+8=9\n9c-5=4\n#4"


def test_gold_labels_are_the_tasks() -> None:
    sample = sample_of(PROBLEM, "7a*3=1\n1b+8=8\n8c-5=3\n#3", "x")
    assert sample is not None
    assert (sample.labels, sample.first_error, sample.final_answer_correct) == ((True, False, True, True), 1, False)
    assert sample_of(PROBLEM, "", "x") is None
    assert sample_of(PROBLEM, "7a*3=1\n\n#1", "x") is None


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (RIGHT, Outcome.CORRECT),
        (RIGHT + "\n", Outcome.CORRECT),
        ("#3", Outcome.INCORRECT),
        ("7a*3=1", Outcome.UNREADABLE),
    ],
)
def test_a_solution_is_judged_by_its_answer_line(text: str, outcome: Outcome) -> None:
    sample = sample_of(PROBLEM, RIGHT, "x")
    assert sample is not None
    (task,) = tasks([sample])
    assert (task.gold, check(task, text)) == ("4", outcome)
    assert PREFIX(task, 2) == "7a*3b+8c-5:7a*3=1\n1b+8=9\n"
    verdict = DigitVerifier().verify(text, "4")
    assert (verdict.outcome, verdict.answer) == (outcome, None if outcome is Outcome.UNREADABLE else text.strip()[-1])


def test_injected_errors_stand_where_they_were_put_and_the_rest_follows_through() -> None:
    rng = random.Random(0)
    for problem in new_problems(rng, 50, 6, set()):
        right, wrong = injected(problem, rng, wrong=False), injected(problem, rng, wrong=True)
        assert (right.first_error, right.final_answer_correct) == (-1, True)
        assert [label for label in wrong.labels if not label] == [False]
        assert wrong.labels[-1] is True


def test_problems_are_met_once() -> None:
    met: set[str] = set()
    first, second = new_problems(random.Random(1), 20, 1, met), new_problems(random.Random(1), 20, 1, met)
    assert len({one.prompt for one in (*first, *second)}) == 40 == len(met)


def test_rollouts_follow_from_prompts_and_seed() -> None:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, 0).eval()
    made = [Rollouts(model, tokenizer, 12, seed) for seed in (1, 1, 2)]
    prompts = ["7a*3b+8:", "7a*3b+8:7a*3=1\n"]
    first, second, other = (generate(prompts, 3) for generate in made)
    assert first == second != other
    assert [len(texts) for texts in first] == [3, 3]
    assert made[0].count == 6


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished quick run."""
    folder = tmp_path_factory.mktemp("prm")
    assert main(["--quick", "--work", str(folder)]) == 0
    return folder


def test_the_report_says_what_was_measured_and_by_what(work: Path) -> None:
    found: dict[str, Any] = json.loads((work / "prm_arithmetic.json").read_text())
    (seed,) = found["seeds"]
    assert found["command"] == "python -m markscheme.benchmarks.learning.prm_arithmetic --quick"
    for part in seed["first_errors"].values():
        assert set(part) == {"gold", "montecarlo", "likelihood", "outcome-oracle", "always-right", "always-wrong"}
    assert seed["first_errors"]["injected"]["always-right"]["acc_correct"] == 100
    assert set(seed["best_of"]) == {"gold", "montecarlo", "likelihood", "majority", "pass", "random"}
    assert seed["best_of"]["pass"] >= max(value for name, value in seed["best_of"].items() if name != "pass")
    steps = seed["labels"]["total"]
    assert steps["n"] == steps["gold_right"] + steps["gold_wrong"] > 0
    assert set(seed["cpu_s"]) == set(STAGES)
    page = (work / "prm_arithmetic.md").read_text()
    assert "| judge, Monte-Carlo labels |" in page
    assert "majority (maj@4)" in page and "(pass@4)" in page
    assert (work / "prm_arithmetic.png").read_bytes().startswith(b"\x89PNG")


def test_the_monte_carlo_judge_never_meets_a_gold_label(work: Path) -> None:
    (folder,) = (path for path in work.iterdir() if path.is_dir())
    solutions = json.loads((folder / "solutions.json").read_text())
    rows = [json.loads(line) for line in (folder / "labels-train.jsonl").read_text().splitlines()]
    assert [row["completions"] for row in rows] == [one["completions"] for one in solutions["train"]]
    assert all(row["source"] == "montecarlo" for row in rows)
    figures = json.loads((folder / "figures.json").read_text())
    assert "gold" not in figures["thresholds"]["montecarlo"][1]
    prompts = [{one["prompt"] for one in solutions[name]} for name in ("train", "dev", "test", "injected", "best_of")]
    assert len(set.union(*prompts)) == sum(map(len, prompts))


def test_a_finished_run_is_reported_again_without_work(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {path: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file() and path.parent != work}
    first = json.loads((work / "prm_arithmetic.json").read_text())["seeds"]
    assert main(["--quick", "--work", str(work)]) == 0
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert json.loads((work / "prm_arithmetic.json").read_text())["seeds"] == first
    assert "First errors" in capsys.readouterr().out
