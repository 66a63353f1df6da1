from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from fakes import read_jsonl, write_jsonl
from markscheme.prm.judging import ScoreFile, Solution, StepScores, judge_solutions, read_scores
from markscheme.verifiers.errors import DataError, StepDataError


class ByLength:
    """Scores a step by its length; refuses steps that say so."""

    def __init__(self) -> None:
        self.asked = 0

    def score(self, problem: str, steps: Sequence[str]) -> list[float]:
        self.asked += 1
        if "bad" in steps:
            raise DataError("step holds the separator")
        return [math.nan if step == "cut" else len(step) / 10 for step in steps]


class InBatches(ByLength):
    """The same, many at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def score_many(self, items: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        self.batches.append(len(items))
        bad = [(row, "", "step holds the separator") for row, (_, steps) in enumerate(items) if "bad" in steps]
        if bad:
            raise StepDataError(bad)
        return [self.score(problem, steps) for problem, steps in items]


SOLUTIONS = [
    Solution(0, "p", ("a", "bb")),
    Solution(1, "p", ("bad",), {"id": "x"}),
    Solution(2, "p", ()),
    Solution(3, "p", ("ccc", "cut")),
]


@pytest.mark.parametrize("scorer", [ByLength(), InBatches()], ids=["one by one", "in batches"])
@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_every_solution_gets_its_scores_or_its_reason(scorer: ByLength, chunk: int) -> None:
    found = list(judge_solutions(scorer, SOLUTIONS, on_bad="skip", chunk=chunk))
    assert [one.row for one, _ in found] == [0, 1, 2, 3]
    assert [line.scores for _, line in found] == [(0.1, 0.2), (), (), (0.3, None)]
    assert [line.error for _, line in found] == ["", "step holds the separator", "", ""]
    assert math.isnan(found[3][1].found[1])


@pytest.mark.parametrize("scorer", [ByLength(), InBatches()], ids=["one by one", "in batches"])
def test_an_error_names_the_row_and_keeps_what_came_before(scorer: ByLength) -> None:
    got = []
    with pytest.raises(StepDataError, match=r"row 1 \(x\): step holds the separator"):
        for one, _ in judge_solutions(scorer, SOLUTIONS, chunk=1):
            got.append(one.row)
    assert got == [0]


def test_chunks() -> None:
    scorer = InBatches()
    list(judge_solutions(scorer, [Solution(i, "p", ("a",)) for i in range(7)], chunk=3))
    assert scorer.batches == [3, 3, 1]


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    good = [SOLUTIONS[0], SOLUTIONS[3]]
    with ScoreFile(path, good, "judge") as file:
        for one, line in judge_solutions(ByLength(), good[:1]):
            file.append(one, line)
    with ScoreFile(path, good, "judge") as file:
        assert file.done == {0: StepScores(scores=(0.1, 0.2))}
        for one, line in judge_solutions(ByLength(), [one for one in good if one.row not in file.done]):
            file.append(one, line)
    assert [row["scores"] for row in read_jsonl(path)] == [[0.1, 0.2], [0.3, None]]
    for changed in ([Solution(0, "q", ("a", "bb")), good[1]], [Solution(0, "p", ("a",)), good[1]]):
        with pytest.raises(DataError, match="the line of scores on row 0 is of another input"):
            ScoreFile(path, changed, "judge")
    with pytest.raises(DataError, match="reached with other settings"):
        ScoreFile(path, good, "another judge")
    assert [line.scores for line in read_scores(path, good)] == [(0.1, 0.2), (0.3, None)]


def test_a_plain_file_of_scores(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", [{"scores": [1, None]}, {"scores": []}])
    assert [line.scores for line in read_scores(path, SOLUTIONS[:2])] == [(1.0, None), ()]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"scores": [1]}], "it has the scores of 1 solutions, but 2 are to be judged; row 1 has none"),
        ([{"scores": [1]}] * 3, "it has the scores of 3 solutions, but 2 are to be judged"),
        ([{"score": 1}], "no 'scores': expected a list"),
        ([{"scores": ["x"]}], "'scores': expected a number or null for each step"),
        ([{"row": 0, "scores": [1]}, {"row": 0, "scores": [1]}], "row 0 has scores already"),
    ],
)
def test_scores_of_something_else(tmp_path: Path, rows: list[dict[str, object]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_scores(write_jsonl(tmp_path / "s.jsonl", rows), SOLUTIONS[:2])


def test_a_line_survives_json() -> None:
    line = StepScores(scores=(0.1, None))
    assert StepScores.model_validate(json.loads(line.model_dump_json())) == line
