from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fakes import write_jsonl
from markscheme.benchmarks.suites import SUITES, Gsm8k, Math500
from markscheme.benchmarks.suites.gsm8k import asks_percentage
from markscheme.benchmarks.suites.join import Joiner, ranges
from markscheme.benchmarks.suites.suite import Problem
from markscheme.verifiers import DataError, MissingExtraError
from markscheme.verifiers.jsonl import Row

PROBLEMS = [Problem(0, "a", "q0", "1"), Problem(1, "b", "q1", "2")]


def test_gsm8k(tmp_path: Path) -> None:
    rows = [
        {"question": "A coat costs $50. It is 20% off. What is its price?", "answer": "50*0.8=40\n#### 40"},
        {"question": "Of 4 cats 1 is black. What percentage is that?", "answer": "1/4\n#### 25"},
    ]
    problems = Gsm8k().load(write_jsonl(tmp_path / "g.jsonl", rows))
    assert [(p.index, p.id, p.policy.percent) for p in problems] == [(0, "0", "lenient"), (1, "1", "interchangeable")]
    assert problems[0].gold.endswith("#### 40")


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("She saves 5%. What percent is left?", True),
        ("How many % are left?", True),
        ("Give the percentage.", True),
        ("It grows by 5 percent. How tall is it?", False),
        ("What is the percentile? How old is Ann?", False),
    ],
)
def test_asks_percentage(question: str, asks: bool) -> None:  # noqa: FBT001
    assert asks_percentage(question) is asks


def test_math500(tmp_path: Path) -> None:
    row = {"problem": "p", "answer": "\\frac12", "unique_id": "test/algebra/1.json", "solution": "s"}
    (problem,) = Math500().load(write_jsonl(tmp_path / "m.jsonl", [row]))
    assert (problem.id, problem.gold) == ("test/algebra/1.json", "\\frac12")
    assert SUITES["math500"].name == "math500"


def test_a_file_of_another_suite_names_the_missing_column(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "m.jsonl", [{"problem": "p", "answer": "1"}])
    with pytest.raises(DataError, match='line 1: no question: looked for "question"; the row has "problem", "answer"'):
        Gsm8k().load(path)


def test_without_datasets_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r'pip install "markscheme\[hub\]"; or pass a local copy with --data'):
        Math500().load()


@pytest.mark.parametrize("suite", [Gsm8k(), Math500()])
def test_the_hub_is_asked_by_the_official_name(monkeypatch: pytest.MonkeyPatch, suite: Gsm8k | Math500) -> None:
    asked = []

    class FakeDatasets:
        @staticmethod
        def load_dataset(name: str, config: str | None, split: str) -> list[dict[str, str]]:
            asked.append((name, config, split))
            return [{"question": "q", "problem": "q", "answer": "1", "unique_id": "u"}]

    monkeypatch.setitem(sys.modules, "datasets", FakeDatasets)
    assert [p.gold for p in suite.load()] == ["1"]
    assert asked[0] in [("openai/gsm8k", "main", "test"), ("HuggingFaceH4/MATH-500", None, "test")]


def test_an_unreachable_hub_points_to_a_local_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeDatasets:
        @staticmethod
        def load_dataset(name: str, config: str | None, split: str) -> list[object]:
            raise ConnectionError("offline")

    monkeypatch.setitem(sys.modules, "datasets", FakeDatasets)
    with pytest.raises(DataError, match=r"openai/gsm8k cannot be loaded from the Hub \(offline\).*--data PATH"):
        Gsm8k().load()


def test_rows_join_by_index_or_id_and_may_hold_lists() -> None:
    joiner = Joiner(PROBLEMS)
    rows = [{"index": 1, "completion": ["x", "y"]}, {"id": "b", "response": "z"}]
    tasks = [task for i, fields in enumerate(rows) for task in joiner.tasks(Row(Path("c"), i, i + 1, fields))]
    assert [(t.row, t.completion, t.gold, t.keys["sample"]) for t in tasks] == [
        (0, "x", "2", 0),
        (1, "y", "2", 1),
        (2, "z", "2", 2),
    ]
    assert joiner.missing() == [0]


def test_rows_beyond_the_limit_are_passed_over() -> None:
    joiner = Joiner(PROBLEMS, limit=1)
    rows = [{"index": 1, "completion": "x"}, {"id": "b", "completion": "y"}, {"index": 0, "completion": "z"}]
    tasks = [task for i, fields in enumerate(rows) for task in joiner.tasks(Row(Path("c"), i, i + 1, fields))]
    assert [(task.row, task.completion) for task in tasks] == [(0, "z")]
    assert joiner.missing() == joiner.notes() == []
    with pytest.raises(DataError, match="expected 0 to 1, found 2"):
        list(joiner.tasks(Row(Path("c"), 3, 4, {"index": 2, "completion": "x"})))
    assert "1 of 1 problems have no completion" in Joiner(PROBLEMS, limit=1).notes()[0]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"index": 2, "completion": "x"}, "'index': expected 0 to 1, found 2"),
        ({"index": True, "completion": "x"}, "'index': expected 0 to 1, found True"),
        ({"index": "0", "completion": "x"}, "'index': expected 0 to 1, found '0'"),
        ({"id": "c", "completion": "x"}, "'id': no problem is called 'c'; they are called such as 'a'"),
        ({"completion": "x"}, "no 'index' and no 'id': nothing names the problem"),
        ({"index": 0}, 'no completion: looked for "prediction", "completion", "response"; the row has "index"'),
        ({"index": 0, "completion": []}, "'completion': expected a string or a list of them, found an empty list"),
        ({"index": 0, "completion": ["a", None]}, "'completion', item 1: expected a string or a number, found null"),
    ],
)
def test_bad_rows(fields: dict[str, object], said: str) -> None:
    with pytest.raises(DataError) as caught:
        list(Joiner(PROBLEMS).tasks(Row(Path("c.jsonl"), 0, 1, fields)))
    assert str(caught.value) == f"c.jsonl, line 1: {said}" or said in str(caught.value)


def test_ranges() -> None:
    assert ranges([0, 3, 4, 5, 9]) == "0, 3-5, 9"
