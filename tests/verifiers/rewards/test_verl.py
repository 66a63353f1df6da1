"""The function for verl."""

from __future__ import annotations

import importlib.util
import inspect

import pytest

from markscheme.verifiers import GoldError, Outcome
from markscheme.verifiers.rewards import verl
from markscheme.verifiers.rewards.verl import compute_score
from scripted import ScriptedVerifier


def test_called_as_verl_calls_it() -> None:
    result = compute_score(
        data_source="openai/gsm8k",
        solution_str="So it is $\\boxed{4}$.",
        ground_truth="4",
        extra_info={"index": 0, "num_turns": 1},
    )
    assert result == {
        "score": 1.0,
        "acc": 1.0,
        "unreadable": 0.0,
        "undecided": 0.0,
        "broken": 0.0,
        "pred": "4",
        "outcome": "correct",
        "reason": "equal",
    }
    assert not inspect.iscoroutinefunction(compute_score)


def test_wrong_and_unreadable() -> None:
    wrong = compute_score("d", "\\boxed{5}", "4", None)
    assert (wrong["score"], wrong["acc"], wrong["pred"]) == (0.0, 0.0, "5")
    nothing = compute_score("d", "I do not know.", "4")
    assert (nothing["score"], nothing["unreadable"], nothing["pred"]) == (0.0, 1.0, "")


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_every_key_and_no_none(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = verl.Scorer(verifier=ScriptedVerifier())
    monkeypatch.setattr(verl, "_scorer", lambda *_: scorer)
    result = compute_score("d", str(outcome), "4")
    assert list(result) == ["score", "acc", "unreadable", "undecided", "broken", "pred", "outcome", "reason"]
    assert [type(value) for value in result.values()] == [float] * 5 + [str] * 3
    assert result["score"] == float(outcome is Outcome.CORRECT)
    assert result["undecided"] == float(outcome is Outcome.UNDECIDED)
    assert result["broken"] == float(outcome is Outcome.BROKEN)


def test_keyword_arguments_of_the_configuration() -> None:
    assert compute_score("d", "It is 4.\n#### 4", "4", reading="gsm8k")["score"] == 1.0
    assert compute_score("d", "\\boxed{4}", "4", reward_router_address="x", reward_model_tokenizer=None)["score"] == 1.0


def test_unreadable_gold_names_the_row_of_the_data_set() -> None:
    with pytest.raises(GoldError, match="row 17: ''"):
        compute_score("d", "\\boxed{4}", "", {"index": 17})
    with pytest.raises(GoldError, match="row 0: ''"):
        compute_score("d", "\\boxed{4}", "")


def test_loads_from_its_path_as_verl_loads_it() -> None:
    spec = importlib.util.spec_from_file_location("custom_module", verl.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.compute_score("d", "\\boxed{4}", "4")["score"] == 1.0


def test_the_verifier_is_made_once() -> None:
    settings = ("boxed", "auto", 5.0, False, None)
    assert verl._scorer(*settings) is verl._scorer(*settings)
