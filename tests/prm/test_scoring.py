"""The scorer: one forward pass a solution, whatever it is batched with, and honest about what it could not score."""

from __future__ import annotations

import math
import warnings

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import tiny_judges as tiny  # noqa: E402
from markscheme.prm import LostStepsWarning, StepScorer  # noqa: E402
from markscheme.prm.calibration import Temperature  # noqa: E402
from markscheme.prm.checkpoints import FORMATS, detect_format  # noqa: E402
from markscheme.prm.model.batching import batches_by_length  # noqa: E402
from markscheme.prm.scoring import PRMScorer  # noqa: E402
from markscheme.verifiers.errors import DataError, StepDataError  # noqa: E402

MANY = [(row["prompt"], row["completions"]) for row in tiny.toy_rows(14)]


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """A token classifier of random weights, with spread scores."""
    return tiny.save_small_judge(tmp_path_factory.mktemp("judge"))


@pytest.fixture(scope="module")
def scorer(judge):
    return PRMScorer.from_pretrained(judge, format="trl", separator="\n\n")


def test_batches_give_what_single_solutions_give(scorer):
    many = scorer.score_many(MANY)
    for (problem, steps), found in zip(MANY, many, strict=True):
        assert found == pytest.approx(scorer.score(problem, steps), abs=1e-5)
    scores = [score for row in many for score in row]
    assert max(scores) - min(scores) > 0.05


def test_one_pass_over_a_solution_scores_what_one_over_each_prefix_does(scorer):
    problem, steps = "Add.", [f"{n} + {n} = {2 * n}." for n in range(1, 9)]
    prefixes = [scorer.score(problem, steps[:count])[-1] for count in range(1, len(steps) + 1)]
    assert scorer.score(problem, steps) == pytest.approx(prefixes, abs=1e-5)


def test_each_solution_goes_through_the_model_once(judge, monkeypatch):
    scorer = PRMScorer.from_pretrained(judge, format="trl", batch_size=4, separator="\n\n")
    seen = []
    forward = scorer.checkpoint.model.forward
    monkeypatch.setattr(
        scorer.checkpoint.model,
        "forward",
        lambda **given: (seen.append(tuple(given["input_ids"].shape)), forward(**given))[1],
    )
    told = []
    scorer.score_many(MANY, done=told.append)
    assert sum(rows for rows, _ in seen) == len(MANY)
    assert max(rows for rows, _ in seen) <= 4
    assert sum(told) == len(MANY)
    assert (scorer.report.batches, scorer.report.solutions) == (len(seen), len(MANY))
    padded = sum(rows * tokens for rows, tokens in seen)
    assert scorer.report.tokens <= padded <= 1.3 * scorer.report.tokens, "like lengths go together"


@settings(max_examples=60)
@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 7), st.integers(20, 200))
def test_batches_hold_each_solution_once_within_their_bounds(lengths, size, tokens):
    found = batches_by_length(lengths, size, tokens)
    assert sorted(place for batch in found for place in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) <= size
        assert len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= tokens


def test_steps_beyond_the_models_length_have_no_score_and_are_counted(judge):
    scorer = PRMScorer.from_pretrained(judge, format="trl", max_length=40, separator="\n\n")
    steps = [f"{n} + 1 = {n + 1}." for n in range(8)]
    with pytest.warns(LostStepsWarning, match=r"\d steps are beyond the model's length and have no score \(NaN\)"):
        found = scorer.score("Add.", steps)
    kept = [score for score in found if not math.isnan(score)]
    assert 0 < len(kept) < len(steps) == len(found)
    assert all(map(math.isnan, found[len(kept) :]))
    whole = PRMScorer.from_pretrained(judge, format="trl", separator="\n\n").score("Add.", steps)
    assert kept == pytest.approx(whole[: len(kept)], abs=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scorer.score_many([("Add.", steps), ("A long problem. " * 20, ["1 + 1 = 2."])])
    assert (scorer.report.lost, scorer.report.cut) == (2 * (len(steps) - len(kept)) + 1, 3)
    assert math.isnan(scorer.solution("Add.", steps))


def test_strict_refuses_a_lost_step(judge):
    scorer = PRMScorer.from_pretrained(judge, format="trl", max_length=40, strict=True, separator="\n\n")
    with pytest.raises(DataError, match=r"solution 1: \d of 8 steps are beyond the model's length"):
        scorer.score_many([("Add.", ["1 + 1 = 2."]), ("Add.", [f"{n} + 1 = {n + 1}." for n in range(8)])])


def test_a_limit_beyond_the_models_own_is_refused(judge):
    with pytest.raises(DataError, match="max_length is 9999, but this model has 512 positions"):
        PRMScorer.from_pretrained(judge, format="trl", max_length=9999)


def test_bad_solutions_are_named_all_at_once(scorer):
    with pytest.raises(StepDataError) as raised:
        scorer.score_many([("p", ["fine"]), ("p", ["one", "  "]), ("p", ["ok"]), ("p", ["", "two"])])
    assert [(row, why) for row, _, why in raised.value.rows] == [(1, "step 1 is empty"), (3, "step 0 is empty")]


def test_one_text_is_no_list_of_steps(scorer):
    with pytest.raises(DataError, match="expected a list of steps, found one text: 'two words'"):
        scorer.score("p", "two words")
    with pytest.raises(StepDataError, match="row 1: expected a list of steps"):
        scorer.score_many([("p", ["fine"]), ("p", "fine")])


@pytest.mark.parametrize(("dtype", "near"), [("bfloat16", 0.05), ("float16", 0.01)])
def test_half_precision_scores_are_near(judge, scorer, dtype, near):
    half = PRMScorer.from_pretrained(judge, format="trl", dtype=dtype, separator="\n\n")
    assert half.checkpoint.model.dtype == getattr(torch, dtype)
    for found, expected in zip(half.score_many(MANY), scorer.score_many(MANY), strict=True):
        assert found == pytest.approx(expected, abs=near)


def test_calibration_is_applied_to_scores_and_not_to_rewards(judge):
    scorer = PRMScorer.from_pretrained(judge, format="trl", separator="\n\n")
    plain = scorer.score_many(MANY)
    scorer.checkpoint.calibration = Temperature(temperature=2.0)
    expected = [[1 / (1 + ((1 - s) / s) ** 0.5) for s in row] for row in plain]
    assert [pytest.approx(row) for row in expected] == scorer.score_many(MANY)
    assert scorer.rewards_many(MANY) == [pytest.approx(row) for row in plain]


def test_a_solution_is_aggregated(scorer):
    problem, steps = max(MANY, key=lambda item: len(item[1]))
    scores = scorer.score(problem, steps)
    assert scorer.solution(problem, steps) == min(scores)
    assert scorer.solution(problem, steps, "last") == scores[-1]


def test_it_is_a_step_scorer(scorer):
    assert isinstance(scorer, StepScorer)


@pytest.mark.parametrize(
    ("architecture", "name", "expected"),
    [
        ("Qwen2ForProcessRewardModel", "anything", "qwen2.5-math-prm"),
        ("Qwen2ForPrmModel", "anything", "skywork-o1"),
        ("MistralForCausalLM", "math-shepherd-mistral-7b-prm", "math-shepherd"),
        ("LlamaForCausalLM", "RLHFlow--Llama3.1-8B-PRM-Deepseek-Data", "rlhflow"),
        ("Qwen2ForCausalLM", "EurusPRM-Stage1", "eurus"),
        ("Qwen2ForTokenClassification", "PURE-PRM-7B", "pure"),
    ],
)
def test_formats_are_told_by_architecture_then_by_name(tmp_path, architecture, name, expected):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "config.json").write_text(f'{{"model_type": "qwen2", "architectures": ["{architecture}"]}}')
    assert detect_format(folder) == expected
    assert expected in FORMATS


def test_what_cannot_be_told_is_asked_for(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}')
    with pytest.raises(
        DataError, match=r"neither its architecture \(Qwen2ForCausalLM\) nor its name tells.*pass format="
    ):
        PRMScorer.from_pretrained(tmp_path)
    with pytest.raises(DataError, match=r"format: expected auto or one of markscheme, .*, got 'other'"):
        PRMScorer.from_pretrained(tmp_path, format="other")
    with pytest.raises(DataError, match=r"has no prm_config\.json"):
        PRMScorer.from_pretrained(tmp_path, format="markscheme")


def test_a_checkpoint_without_its_heads_weights_is_refused(tmp_path):
    """transformers would fill the head with random numbers and warn."""
    folder = tiny.save_causal(tmp_path / "model", "small")
    with pytest.raises(DataError, match=r"4 weights are missing .*score\.0\.bias.*name the right `format`"):
        PRMScorer.from_pretrained(folder, format="qwen2.5-math-prm")
