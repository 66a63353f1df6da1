from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.prm.load import load_samples
from markscheme.prm.metrics import BASELINES, last_smallest, process_bench
from markscheme.prm.metrics.baselines import outcome_oracle, require_outcomes
from markscheme.prm.schema import StepSample
from markscheme.verifiers.errors import DataError, StepDataError
from step_strategies import Judged, judged, sample

NAN = math.nan


def independent(path: Path) -> tuple[float, float, float]:
    """The outcome oracle's figures by a script that shares nothing with the package."""
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    hit = {True: 0, False: 0}
    size = {True: 0, False: 0}
    for row in rows:
        gold = row["first_error_index"]
        said = -1 if row["final_answer_correct"] else 1
        size[gold == -1] += 1
        hit[gold == -1] += said == gold
    error, correct = 100 * hit[False] / size[False], 100 * hit[True] / size[True]
    return error, correct, 2 * error * correct / (error + correct)


@pytest.mark.parametrize(("subset", "published"), [("gsm8k", 44.4), ("math", 35.9)])
def test_the_outcome_oracle_on_the_real_set(data: Path, subset: str, published: float) -> None:
    path = data / "prm" / f"processbench_{subset}.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path.name} in the evaluation data")
    samples = load_samples(path).samples
    found = process_bench(samples, [outcome_oracle(one) for one in samples])
    assert (found.acc_error, found.acc_correct, found.f1) == pytest.approx(independent(path), abs=0.005)
    assert found.f1 == pytest.approx(published, abs=0.05)
    assert [one.name for one in found.subsets] == [subset]


def test_judges_that_follow_from_the_definition(data: Path) -> None:
    path = data / "prm" / "processbench_gsm8k.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path.name} in the evaluation data")
    samples = load_samples(path).samples
    golds = [json.loads(line)["first_error_index"] for line in path.read_bytes().splitlines()]
    at_once = 100 * golds.count(0) / sum(gold != -1 for gold in golds)
    perfect = [[float(i != gold) for i in range(len(one.steps))] for one, gold in zip(samples, golds, strict=True)]
    figures = {
        "perfect": (perfect, (100, 100, 100)),
        "always right": ([BASELINES["always-right"](one) for one in samples], (0, 100, 0)),
        "always wrong": ([BASELINES["always-wrong"](one) for one in samples], (at_once, 0, 0)),
        "constant at the threshold": ([[0.5] * len(one.steps) for one in samples], (0, 100, 0)),
        "constant below it": ([[0.49] * len(one.steps) for one in samples], (at_once, 0, 0)),
    }
    for name, (scores, wanted) in figures.items():
        found = process_bench(samples, scores)
        assert (found.acc_error, found.acc_correct, found.f1) == pytest.approx(wanted), name
        assert (found.n, found.truncated) == (400, 0)


def by_hand(rows: list[Judged], threshold: float) -> dict[str, tuple[float | None, float | None, float | None]]:
    """ProcessBench's figures, subset by subset, as its definition reads."""
    figures = {}
    for name in {one.subset for one, _ in rows}:
        hits: dict[bool, list[bool]] = {True: [], False: []}
        for one, scores in rows:
            if one.subset != name:
                continue
            prediction: int | None = -1
            for i in range(len(one.steps)):
                if i >= len(scores) or math.isnan(scores[i]):
                    prediction = None
                    break
                if scores[i] < threshold:
                    prediction = i
                    break
            hits[one.first_error == -1].append(prediction == one.first_error)
        error, correct = (100 * sum(h) / len(h) if h else None for h in (hits[False], hits[True]))
        both = error is not None and correct is not None
        f1 = (2 * error * correct / (error + correct) if error + correct else 0.0) if both else None  # type: ignore[operator]
        figures[name] = (error, correct, f1)
    return figures


@given(st.lists(judged(), min_size=1, max_size=12), st.sampled_from([0.0, 0.25, 0.5, 0.6, 1.0]))
def test_figures_are_the_definitions(rows: list[Judged], threshold: float) -> None:
    found = process_bench([one for one, _ in rows], [scores for _, scores in rows], threshold=threshold)
    wanted = by_hand(rows, threshold)
    assert {one.name: (one.acc_error, one.acc_correct, one.f1) for one in found.subsets} == {
        name: pytest.approx(figures) for name, figures in wanted.items()
    }
    f1s = [f1 for _, _, f1 in wanted.values() if f1 is not None]
    assert found.f1 == (pytest.approx(sum(f1s) / len(f1s)) if f1s else None)
    assert found.n == len(rows)
    assert sum(one.n_error + one.n_correct for one in found.subsets) == len(rows)
    json.dumps(found.summary())


def test_the_edges() -> None:
    wrong, right = sample(1, 3, subset="a"), sample(-1, 3, subset="a")
    neither = process_bench([wrong, right], [[1, 1, 1], [0, 1, 1]])
    assert (neither.acc_error, neither.acc_correct, neither.f1) == (0, 0, 0)
    lone = process_bench([wrong], [[1, 0, 1]])
    assert (lone.acc_error, lone.acc_correct, lone.f1) == (100, None, None)
    assert process_bench([right], [[1, 1, 1]]).f1 is None
    on_it = process_bench([wrong, right], [[1, 0.3, 1], [0.3, 1, 1]], threshold=0.3)
    assert (on_it.acc_error, on_it.acc_correct) == (0, 100)  # a score on the threshold is not below it


def test_a_cut_off_solution_is_a_counted_miss() -> None:
    wrong, right = sample(1, 3), sample(-1, 3)
    cut = process_bench([wrong, wrong, right, right], [[1, NAN, NAN], [1, 0, NAN], [1, 1], [1, 1, 1]])
    assert (cut.acc_error, cut.acc_correct, cut.truncated) == (50, 50, 2)


def test_the_headline_is_the_unweighted_mean_over_subsets() -> None:
    samples = [sample(0, 1, subset="a"), sample(-1, 1, subset="a")]
    samples += [sample(0, 1, subset="b"), *[sample(-1, 1, subset="b")] * 7]
    found = process_bench(samples, [[0], [1], [1], *[[1]] * 7])
    assert [one.f1 for one in found.subsets] == [100, 0]
    assert (found.f1, found.acc_error, found.acc_correct) == (50, 50, 100)


def test_right_answers_by_wrong_steps_are_a_slice_of_their_own() -> None:
    flawed = {"final_answer_correct": True}
    samples = [sample(1, 2, **flawed), sample(1, 2, **flawed), sample(0, 2, final_answer_correct=False), sample(1, 2)]
    found = process_bench([*samples, sample(-1, 2, **flawed)], [[1, 0], [0, 1], [0, 1], [1, 0], [1, 1]]).flawed
    assert (found.n, found.acc_error, found.flagged) == (2, 50, 100)
    empty = process_bench(samples[2:], [[0, 1], [1, 0]]).flawed
    assert (empty.n, empty.acc_error, empty.flagged) == (0, None, None)


def test_the_share_with_the_smallest_score_on_the_last_step() -> None:
    samples = [sample(-1, 2)] * 4 + [sample(-1, 1)]
    scores = [[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.9, NAN], [0.1]]
    assert last_smallest(samples, scores) == pytest.approx(100 / 3)
    assert last_smallest(samples[4:], scores[4:]) is None


def test_the_oracle_blames_the_only_step_of_one_and_must_know_the_outcome() -> None:
    assert outcome_oracle(sample(0, 1, final_answer_correct=False)) == [0.0]
    assert outcome_oracle(sample(0, 3, final_answer_correct=False)) == [1.0, 0.0, 1.0]
    assert outcome_oracle(sample(0, 3, final_answer_correct=True)) == [1.0, 1.0, 1.0]
    with pytest.raises(DataError, match="does not say whether its final answer is right"):
        outcome_oracle(sample(0, 3))
    with pytest.raises(StepDataError, match=r"row 1 \(x\): it does not say whether its final answer is right"):
        require_outcomes([sample(0, 3, final_answer_correct=True), sample(0, 3, id="x")])


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([[1, 1], [1, 1, 1]], r"row 1 \(b\): the judge gave 3 scores for 2 steps"),
        ([[1, 1], [1, 1.5]], r"row 1 \(b\): the judge gave the score 1.5"),
        ([[1, -0.1], [1, 1]], r"row 0 \(a\): the judge gave the score -0.1"),
        ([[1, 1]], "expected the scores of 2 solutions, got 1"),
    ],
)
def test_scores_that_do_not_fit_are_an_error(scores: list[list[float]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        process_bench([sample(0, 2, id="a"), sample(-1, 2, id="b")], scores)


def test_labels_that_do_not_tell_the_first_error_are_an_error() -> None:
    unknown = StepSample(prompt="p", completions=("a", "b"), labels=(None, 0), id="x")
    with pytest.raises(StepDataError, match=r"row 1 \(x\): the labels do not tell the first wrong step"):
        process_bench([sample(0, 2), unknown], [[1, 1], [1, 1]])
