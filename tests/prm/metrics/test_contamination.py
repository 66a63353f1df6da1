from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from markscheme.prm.load import load_samples
from markscheme.prm.metrics import contamination, decontaminate, normalised
from markscheme.prm.schema import StepSample

SAME = [
    ("What is $2+3$?", "what is  \\(2 + 3\\) ?"),
    ("Find $\\left(\\dfrac12\\right)^2$.", "Find \\[ (\\frac12)^2 \\]"),
    ("Let $f(x)$ be\n\nreal.", "Let f(x) be real"),
    ("Cost in $\\text{ cents}$", "cost in cents."),
    ("ﬁnd x", "Find x"),
]
DIFFERENT = [
    ("What is 2+3?", "What is 2-3?"),
    ("What is 2.5?", "What is 25?"),
    ("What is 12?", "What is 21?"),
    ("Is x < 3?", "Is x > 3?"),
    ("Find x^2", "Find x2"),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_the_same_problem_in_other_clothes(one: str, two: str) -> None:
    assert normalised(one) == normalised(two)


@pytest.mark.parametrize(("one", "two"), DIFFERENT)
def test_problems_that_differ_in_substance(one: str, two: str) -> None:
    assert normalised(one) != normalised(two)


def test_what_two_sets_share() -> None:
    found = contamination(["a b", "c", "c."], ["C", "d", "c", "e"])
    assert (found.test_problems, found.shared, found.test_rows, found.train_rows) == (3, 1, (0, 2), (1, 2))
    assert found.sentence() == "1 of 3 test problems are in the training set (2 test rows, 2 training rows)."


def test_decontaminate_leaves_out_what_is_shared() -> None:
    train = [StepSample(prompt=p, completions=("a",), labels=(1,)) for p in ("one", "two", "One!")]
    kept, found = decontaminate(train, ["ONE"])
    assert [sample.prompt for sample in kept] == ["two"]
    assert found.train_rows == (0, 2)


def test_the_public_sets(data: Path) -> None:
    """All of ProcessBench's GSM8K problems are GSM8K test problems; PRMBench holds 70 of its 955 MATH problems."""
    folder = data / "prm"
    if not folder.is_dir():
        pytest.skip("no prm/ in the evaluation data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trained = load_samples(folder / "prmbench.jsonl", on_bad="skip").samples
    tested = [one.problem for one in load_samples(folder / "processbench_math.jsonl").samples]
    found = contamination([one.problem for one in trained], tested)
    assert (found.test_problems, found.shared) == (955, 70)
    gsm8k = data / "suites" / "gsm8k_test.jsonl"
    questions = [json.loads(line)["question"] for line in gsm8k.read_bytes().splitlines()]
    tested = [one.problem for one in load_samples(folder / "processbench_gsm8k.jsonl").samples]
    found = contamination(questions, tested)
    assert found.shared == found.test_problems == 375
