"""MathReward by itself; ``test_grpo.py`` runs it inside TRL."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any

import pytest

from markscheme.verifiers import DataError, GoldError, Verifier, rewards
from markscheme.verifiers.rewards import BrokenVerifierAlarm, MathReward, scoring
from markscheme.verifiers.rewards.trl import completion_text
from scripted import ScriptedVerifier

RIGHT, WRONG, NONE = "So it is $\\boxed{4}$.", "So it is $\\boxed{5}$.", "I do not know."


class Logged:
    """Stands in for TRL's two logging callbacks."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {}
        self.metrics: dict[str, float] = {}

    def extra(self, column: str, values: list[Any]) -> None:
        self.columns[column] = values

    def metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


def test_called_as_trl_calls_it() -> None:
    logged = Logged()
    rewards = MathReward()(
        prompts=["2 + 2?"] * 3,
        completions=[RIGHT, WRONG, NONE],
        completion_ids=[[1], [2], [3]],
        answer=["4"] * 3,
        level=[1, 1, 1],
        trainer_state=object(),
        log_extra=logged.extra,
        log_metric=logged.metric,
    )
    assert rewards == [1.0, 0.0, 0.0]
    assert logged.columns["math_reward/outcome"] == ["correct", "incorrect", "unreadable"]
    assert logged.columns["math_reward/reason"][0] == "equal"
    assert logged.columns["math_reward/answer"] == ["4", "5", ""]
    assert logged.metrics == {
        "math_reward/correct": pytest.approx(1 / 3),
        "math_reward/unreadable": pytest.approx(1 / 3),
        "math_reward/undecided": 0.0,
        "math_reward/broken": 0.0,
    }
    assert all(type(value) is str for values in logged.columns.values() for value in values)


def test_works_without_logging_callbacks_and_on_no_completions() -> None:
    assert MathReward()(prompts=[], completions=[], answer=[]) == []
    assert MathReward()(completions=[RIGHT], answer=["4"]) == [1.0]


def test_names_and_kind_that_trl_looks_at() -> None:
    assert MathReward().__name__ == "math_reward"
    assert MathReward(name="strict").__name__ == "strict"
    assert not inspect.iscoroutinefunction(MathReward().__call__)


@pytest.mark.parametrize(
    "gold", ["4", "$\\boxed{4}$", "2 + 2 = <<2+2=4>>4\n#### 4", 4], ids=["bare", "boxed", "gsm8k", "a number"]
)
def test_gold_forms(gold: object) -> None:
    assert MathReward()(completions=[RIGHT, WRONG], answer=[gold, gold]) == [1.0, 0.0]


def test_finds_trl_solution_column() -> None:
    assert MathReward()(completions=[RIGHT], solution=["$\\boxed{4}$"]) == [1.0]
    assert MathReward()(completions=[RIGHT], solution=["5"], answer=["4"]) == [1.0], "`answer` comes first"


def test_a_named_column_is_the_only_one() -> None:
    assert MathReward("final")(completions=[RIGHT], final=["4"]) == [1.0]
    with pytest.raises(DataError, match=r"expected 'final' in the data set; the columns that came: 'solution'"):
        MathReward("final")(completions=[RIGHT], solution=["4"])


def test_missing_column_names_those_that_came() -> None:
    with pytest.raises(
        DataError,
        match=r"expected 'answer' or 'solution' .* came: 'label', 'level'\. Name the right one: MathReward\(gold_col",
    ):
        MathReward()(completions=[RIGHT], level=[1], label=["4"])
    with pytest.raises(DataError, match="came: none"):
        MathReward()(completions=[RIGHT])


@pytest.mark.parametrize("empty", ["", "  \n", None])
def test_empty_gold_is_an_error_of_the_data_set(empty: str | None) -> None:
    with pytest.raises(GoldError, match=r"1 gold answer\(s\) cannot be read:\n  row 1: .*it is empty"):
        MathReward()(completions=[RIGHT, RIGHT], answer=["4", empty])


@pytest.mark.parametrize("gold", [["4"], [1, 4], ("4",), {"value": 4}, True], ids=repr)
def test_a_gold_that_is_no_text_is_never_read_as_its_print(gold: object) -> None:
    found = rf"row 1: .*expected a string or a number, found {type(gold).__name__} \(the row is counted within this"
    with pytest.raises(GoldError, match=found):
        MathReward()(completions=[RIGHT, RIGHT], answer=["4", gold])


def test_the_fix_is_one_that_a_reward_function_has() -> None:
    with pytest.raises(GoldError, match=r"\nMend them, or leave these rows out of the data set\.$"):
        MathReward()(completions=[RIGHT], answer=["\\boxed{"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reading": "box"}, "reading must be one of auto, boxed, .* not 'box'"),
        ({"gold_reading": "box"}, "gold_reading must be one of auto, bare, boxed, gsm8k, not 'box'"),
        ({"deadline": 0.0}, "deadline must be a positive number of seconds"),
        ({"undecided": None}, 'undecided must be "none" or "zero", not None'),
    ],
)
def test_wrong_settings_are_told_before_the_first_batch(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MathReward(**settings)


def test_a_whole_data_set_is_checked_by_its_columns() -> None:
    with pytest.raises(GoldError, match=r"row 1: '': it is empty\nMend"):
        MathReward().check({"answer": ["4", ""]})
    with pytest.raises(DataError, match=r"expected columns by their names, as rows\[:\] of a data set, not list"):
        MathReward().check([{"answer": "4"}])  # type: ignore[arg-type]


def test_unreadable_golds_are_all_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(golds: list[str], **_: object) -> list[object]:
        raise GoldError([(0, golds[0], "does not parse")])

    monkeypatch.setattr(scoring, "load_golds", refuse)
    with pytest.raises(GoldError) as caught:
        MathReward()(completions=[RIGHT, RIGHT], answer=["(((", ")))"])
    assert [(row, text) for row, text, _ in caught.value.rows] == [(0, "((("), (1, ")))")]
    assert "row 1: ')))': does not parse (the row is counted within this batch" in str(caught.value)


def test_one_gold_a_completion() -> None:
    with pytest.raises(ValueError, match="2 completions came with 1 golds"):
        MathReward()(completions=[RIGHT, RIGHT], answer=["4"])


OUTCOMES = ["correct", "incorrect", "unreadable", "undecided", "broken"]


def test_any_verifier_can_be_plugged_in_and_gets_the_gold_as_it_stands() -> None:
    verifier = ScriptedVerifier()
    assert isinstance(verifier, Verifier)
    reward = MathReward(verifier=verifier, alarm=False)
    assert reward(completions=OUTCOMES, answer=["assert f(2) == 4"] * 5) == [1.0, 0.0, 0.0, None, None]
    assert verifier.calls[0] == ("correct", "assert f(2) == 4")


def test_undecided_zero_leaves_broken_without_reward() -> None:
    reward = MathReward(verifier=ScriptedVerifier(), undecided="zero", alarm=False)
    assert reward(completions=OUTCOMES, answer=["4"] * 5) == [1.0, 0.0, 0.0, 0.0, None]
    with pytest.raises(ValueError, match="undecided must be"):
        MathReward(undecided="skip")  # type: ignore[arg-type]


def test_broken_is_judged_a_second_time() -> None:
    verifier = ScriptedVerifier()
    reward = MathReward(verifier=verifier, alarm=False)
    assert reward(completions=["correct", "mended", "broken"], answer=["4"] * 3) == [1.0, 1.0, None]
    assert len(verifier.calls) == 5


def test_rates_of_all_outcomes() -> None:
    logged = Logged()
    reward = MathReward(verifier=ScriptedVerifier(), alarm=False, name="r")
    reward(completions=OUTCOMES, answer=["4"] * 5, log_extra=logged.extra, log_metric=logged.metric)
    assert logged.metrics == dict.fromkeys(("r/correct", "r/unreadable", "r/undecided", "r/broken"), 0.2)


def test_logged_answers_are_fit_for_a_terminal() -> None:
    logged = Logged()
    hostile = "\\boxed{4\x1b[31m\u202e" + "9" * 500 + "}"
    MathReward()(completions=[hostile], answer=["4"], log_extra=logged.extra)
    (shown,) = logged.columns["math_reward/answer"]
    assert len(shown) < 300
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("plain", "plain"),
        ([{"role": "assistant", "content": "a"}], "a"),
        ([{"content": "no role"}], "no role"),
        (
            [
                {"role": "assistant", "content": "first"},
                {"role": "tool", "content": "7"},
                {"role": "assistant", "content": "last"},
                {"role": "tool", "content": "8"},
            ],
            "last",
        ),
        (
            [
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}],
                }
            ],
            "ab",
        ),
        ([{"role": "assistant", "content": None, "tool_calls": []}], ""),
        ([{"role": "user", "content": "\\boxed{4}"}], ""),
        ([], ""),
    ],
)
def test_completion_text(completion: Any, text: str) -> None:
    assert completion_text(completion) == text


@pytest.mark.parametrize("completion", [None, 4, {"role": "assistant", "content": "a"}, ["a"]])
def test_completion_of_another_kind(completion: Any) -> None:
    with pytest.raises(DataError, match="expected a completion as text or as a list of messages"):
        completion_text(completion)
    with pytest.raises(DataError, match="expected a message's content as text"):
        completion_text([{"role": "assistant", "content": 4}])


def test_conversations_are_rewarded() -> None:
    completions = [[{"role": "assistant", "content": RIGHT}], [{"role": "assistant", "content": WRONG}]]
    assert MathReward()(completions=completions, answer=["4", "4"]) == [1.0, 0.0]


@pytest.mark.parametrize("remake", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))], ids=["copy", "pickle"])
@pytest.mark.parametrize("used", [False, True])
def test_copies_and_pickles(remake: Any, *, used: bool) -> None:
    reward = MathReward("final", undecided="zero", name="mine")
    if used:
        reward(completions=[RIGHT], final=["4"])
    again = remake(reward)
    assert again.__name__ == "mine"
    assert again(completions=[RIGHT, WRONG], final=["4", "4"]) == [1.0, 0.0]


def test_alarm_is_told_the_reading_and_may_be_ones_own_or_none() -> None:
    default = MathReward(reading="auto", thinking=True).scorer.alarm
    assert default is not None
    assert (default.reading, default.thinking, default.window) == ("auto", True, 256)
    own = BrokenVerifierAlarm(window=8)
    assert MathReward(alarm=own).scorer.alarm is own
    assert MathReward(alarm=False).scorer.alarm is None


def test_core_imports_neither_torch_nor_trl() -> None:
    code = (
        "import sys; from markscheme.verifiers.rewards import MathReward, openrlhf_reward_func, verl_compute_score;"
        "MathReward()(completions=['\\\\boxed{4}'], answer=['4']);"
        "print(*sorted({'torch', 'trl', 'transformers', 'sympy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_exported_names() -> None:
    assert list(rewards.__all__) == sorted(rewards.__all__, key=str) == dir(rewards)
    assert {name: getattr(rewards, name).__module__.rpartition(".")[2] for name in rewards.__all__} == {
        "Ahead": "ahead",
        "BrokenVerifierAlarm": "alarm",
        "CodeReward": "code",
        "CompositeReward": "composite",
        "MathReward": "trl",
        "OpenRLHFCodeReward": "code",
        "OpenRLHFReward": "openrlhf",
        "RewardAlarm": "alarm",
        "openrlhf_code_reward_func": "code",
        "openrlhf_reward_func": "openrlhf",
        "verl_code_compute_score": "code",
        "verl_compute_score": "verl",
    }
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = rewards.nothing
