from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from fakes import TextVerifier, verdict, write_jsonl
from markscheme.prm.metrics.bestofn import Candidate, Sampled, best_of_n, load_sampled
from markscheme.verifiers import Outcome
from markscheme.verifiers.errors import DataError, StepDataError


def sampled(*answers: str, gold: str = "4", steps: int = 2) -> Sampled:
    """A problem whose candidates are only their answers."""
    judge = TextVerifier()
    texts = tuple(f"step {i}" for i in range(steps))
    verdicts = [judge.verify_answer(answer, gold) for answer in answers]
    return Sampled("p", tuple(Candidate(texts, v.outcome is Outcome.CORRECT, v) for v in verdicts))


PROBLEMS = [sampled("4", "4", "5"), sampled("5", "5", "4"), sampled("5", "6", "7")]


def test_figures_by_hand() -> None:
    scores = [[[1, 0.2], [0.9, 0.9], [0.5, 0.5]], [[0, 1], [0, 1], [1, 0.4]], [[1, 1], [0, 0], [0, 0]]]
    found = best_of_n(PROBLEMS, scores, verifier=TextVerifier())
    assert found.accuracy == pytest.approx(200 / 3)  # right, right, nothing to choose
    assert found.majority == pytest.approx(100 / 3)
    assert found.pass_at_n == pytest.approx(200 / 3)
    assert found.mean == pytest.approx(100 * (2 / 3 + 1 / 3 + 0) / 3)
    assert (found.n, found.samples, found.unscored) == (3, (3, 3), 0)
    assert found.last_smallest == pytest.approx(100 * 2 / 9)
    json.dumps(found.summary())


def test_a_judge_that_knows_the_answer_reaches_pass_at_n_and_a_constant_one_the_mean() -> None:
    oracle = [[[float(c.right)] * 2 for c in one.candidates] for one in PROBLEMS]
    found = best_of_n(PROBLEMS, oracle, verifier=TextVerifier())
    assert found.accuracy == found.pass_at_n
    for constant in (0.0, 0.5, 1.0):
        flat = [[[constant] * 2 for _ in one.candidates] for one in PROBLEMS]
        found = best_of_n(PROBLEMS, flat, verifier=TextVerifier())
        assert found.accuracy == pytest.approx(found.mean)


def test_only_the_very_best_are_chosen() -> None:
    found = best_of_n([sampled("4", "5", "4")], [[[0.5, 1], [0.51, 1], [0.5, 1]]], verifier=TextVerifier())
    assert found.accuracy == 0
    tied = best_of_n([sampled("4", "5", "4")], [[[0.5, 1], [0.5, 0.6], [0.4, 1]]], verifier=TextVerifier())
    assert tied.accuracy == 50


def test_a_solution_without_a_score_is_chosen_last() -> None:
    cut = [[[0.1, 0.1], [1.0, math.nan], [1.0]]]
    found = best_of_n([sampled("4", "5", "5")], cut, verifier=TextVerifier())
    assert (found.accuracy, found.unscored) == (100, 2)
    none = best_of_n([sampled("4", "5")], [[[], []]], verifier=TextVerifier())
    assert none.accuracy == 50


def test_the_aggregation_counts() -> None:
    problem = [sampled("4", "5")]
    scores = [[[0.2, 0.9], [0.5, 0.5]]]
    by = {how: best_of_n(problem, scores, aggregation=how, verifier=TextVerifier()).accuracy for how in ("min", "last")}
    assert by == {"min": 0, "last": 100}


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(DataError, match="no problems"):
        best_of_n([], [])
    with pytest.raises(DataError, match="the scores of each solution"):
        best_of_n(PROBLEMS, [[[1, 1]]])


def test_a_file_of_samples(tmp_path: Path) -> None:
    rows = [
        {"problem": "2+2?", "ground_truth": "#### 4", "solutions": [{"text": "2+2\nA: 4", "is_correct": True}, "A: 5"]},
        {"question": "1+1?", "gold": "2", "samples": ["so\n\n\nA: 2", " "]},
    ]
    loaded = load_sampled(write_jsonl(tmp_path / "a.jsonl", rows))
    assert [[c.right for c in one.candidates] for one in loaded.problems] == [[True, False], [True, False]]
    assert [[c.steps for c in one.candidates] for one in loaded.problems] == [
        [("2+2", "A: 4"), ("A: 5",)],
        [("so", "A: 2"), ()],
    ]
    assert (loaded.disagree, loaded.name) == (0, "a.jsonl")
    short = load_sampled(tmp_path / "a.jsonl", limit=1, splitter="\n\n\n")
    assert [len(one.candidates) for one in short.problems] == [1, 1]
    assert short.problems[1].candidates[0].steps == ("so", "A: 2")


def test_where_the_file_and_the_verifier_disagree_the_file_counts(tmp_path: Path) -> None:
    row = {"problem": "2+2?", "gold": "4", "solutions": [{"text": "A: 5", "is_correct": True}]}
    loaded = load_sampled(write_jsonl(tmp_path / "a.jsonl", [row]))
    assert (loaded.problems[0].candidates[0].right, loaded.disagree) == (True, 1)


def test_bad_rows_are_named_or_left_out(tmp_path: Path) -> None:
    good = {"problem": "p", "gold": "4", "solutions": ["4"]}
    bad = [
        {"problem": "p", "gold": "4", "solutions": [], "id": "x"},
        {"problem": "p", "solutions": ["4"]},
        {"problem": "p", "gold": "4", "solutions": [{"answer": "4"}]},
        {"problem": "p", "gold": "4", "solutions": [{"text": "4", "is_correct": "yes"}]},
    ]
    path = write_jsonl(tmp_path / "a.jsonl", [good, *bad])
    with pytest.raises(StepDataError) as caught:
        load_sampled(path)
    assert [row for row, _, _ in caught.value.rows] == [1, 2, 3, 4]
    text = str(caught.value)
    assert "row 1 (x): expected a list of solutions in 'solutions' or 'samples' or 'completions'" in text
    assert "row 2: no gold answer" in text
    assert "row 3: solution 0: expected a text, or an object with 'text'" in text
    assert "row 4: solution 0: 'is_correct': expected true or false, found 'yes'" in text
    loaded = load_sampled(path, on_bad="skip")
    assert (len(loaded.problems), [row for row, _, _ in loaded.skipped]) == (1, [1, 2, 3, 4])
    with pytest.raises(StepDataError):
        load_sampled(write_jsonl(tmp_path / "b.jsonl", bad), on_bad="skip")


def test_the_four_models_on_gsm8k(data: Path) -> None:
    path = data / "prm" / "bon_gsm8k_4models.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path.name} in the evaluation data")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    right = [[one["is_correct"] for one in row["solutions"]] for row in rows]
    loaded = load_sampled(path)
    flat = [[[1.0] * len(c.steps) for c in one.candidates] for one in loaded.problems]
    found = best_of_n(loaded.problems, flat)
    assert found.pass_at_n == pytest.approx(100 * sum(map(any, right)) / len(right))
    assert found.mean == found.accuracy == pytest.approx(100 * sum(map(sum, right)) / (4 * len(right)))
    assert loaded.disagree <= 6


def test_unread_answers_do_not_vote() -> None:
    unread = Candidate(("a",), right=False, verdict=verdict(Outcome.UNREADABLE, answer=None))
    one = Sampled("p", (unread, unread, sampled("4").candidates[0]))
    assert best_of_n([one], [[[1], [1], [1, 1]]], verifier=TextVerifier()).majority == 100
