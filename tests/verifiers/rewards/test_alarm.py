"""The alarm: what sets it off, that it tells once and arms itself again, and what its message holds."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from collections.abc import Sequence
from itertools import cycle, islice

import pytest

from markscheme.verifiers import Reason, Verdict
from markscheme.verifiers.rewards import BrokenVerifierAlarm, MathReward, RewardAlarm
from scripted import ScriptedVerifier, make_verdict

HEALTHY = ["correct", "incorrect"]


def observe(
    alarm: BrokenVerifierAlarm,
    outcomes: Sequence[str],
    count: int = 8,
    *,
    completion: str = "\\boxed{4}",
    reason: Reason | None = None,
    golds: Sequence[str] = ("4", "5"),
) -> str | None:
    """Show ``count`` rewards, the outcomes in turn. Return the warning's message, or None when there was none."""
    verdicts: list[Verdict] = [make_verdict(outcome, reason) for outcome in islice(cycle(outcomes), count)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        message = alarm.observe(verdicts, [completion] * count, list(islice(cycle(golds), count)))
    assert [str(one.message) for one in caught] == ([] if message is None else [message])
    assert all(one.category is RewardAlarm for one in caught)
    return message


def test_healthy_rewards_set_nothing_off() -> None:
    alarm = BrokenVerifierAlarm(window=8)
    assert [observe(alarm, HEALTHY, 3) for _ in range(20)] == [None] * 20


def test_waits_until_the_window_is_filled() -> None:
    assert BrokenVerifierAlarm().window == BrokenVerifierAlarm().min_filled == 256
    alarm = BrokenVerifierAlarm(window=8)
    assert observe(alarm, ["incorrect"], 7) is None
    assert observe(alarm, ["incorrect"], 1) is not None
    assert observe(BrokenVerifierAlarm(window=8, min_filled=4), ["incorrect"], 4) is not None


def test_tells_once_and_arms_itself_again_after_a_healthy_window() -> None:
    alarm = BrokenVerifierAlarm(window=8)
    assert observe(alarm, ["incorrect"]) is not None
    assert [observe(alarm, ["incorrect"]) for _ in range(5)] == [None] * 5
    assert observe(alarm, HEALTHY, 7) is None
    assert [observe(alarm, ["incorrect"]) for _ in range(3)] == [None] * 3, "no whole healthy window between"
    assert [observe(alarm, HEALTHY, 8) for _ in range(2)] == [None] * 2
    assert observe(alarm, ["incorrect"]) is not None


def test_another_symptom_is_told_while_the_first_lasts() -> None:
    alarm = BrokenVerifierAlarm(window=8)
    assert "all 8 rewards 0" in (observe(alarm, ["incorrect"]) or "")
    message = observe(alarm, ["broken", "incorrect", "incorrect"]) or ""
    assert "3 BROKEN; all 5 rewards 0" in message
    assert "the verifier itself failed" in message
    assert "'made broken'" in message


@pytest.mark.parametrize(
    ("outcome", "figures", "cause"),
    [
        ("correct", "all 8 rewards 1", "leaks into the prompt, or the set is too easy"),
        ("incorrect", "all 8 rewards 0", "check that gold_column holds the final answers"),
        ("unreadable", "8 UNREADABLE; all 8 rewards 0", "state no answer in \\boxed{}"),
        ("undecided", "8 UNDECIDED", "8 of 8 ran out of time or budget (timeout): raise deadline"),
        ("broken", "8 BROKEN", "8 of 8 have the reason worker_failed: the verifier itself failed"),
    ],
)
def test_causes_by_outcome(outcome: str, figures: str, cause: str) -> None:
    message = observe(BrokenVerifierAlarm(window=8, reading="boxed"), [outcome], completion="It is 4.") or ""
    assert f"of the last 8 completions: {figures}.\n" in message
    assert cause in message


@pytest.mark.parametrize(
    ("completion", "cause"),
    [
        ("2 + 2 = 4\n#### 4", 'set reading="auto"'),
        ("The answer is 4.", 'set reading="auto"'),
        ("**Final Answer:** 4", 'set reading="auto"'),
        ("2 + 2 = 4\nA: 4", 'set reading="auto"'),
        ("<answer>4</answer>", 'set reading="auto"'),
        ("<think>2 + 2 is \\boxed{4}, or is it", "the thinking block never closes"),
        ("So it is $\\boxed{\\frac{1}{", "end inside the box that would hold the answer: raise max_completion_length"),
        ("So it is $\\boxed{\\{1, 2\\}", "raise max_completion_length"),
        ("\\boxed{5} no, \\boxed{", "raise max_completion_length"),
        ("", "the completions are empty"),
        ("It is four.", "state no answer in \\boxed{}: ask for it in the prompt"),
    ],
)
def test_causes_of_unreadable(completion: str, cause: str) -> None:
    message = observe(BrokenVerifierAlarm(window=8, reading="boxed"), ["unreadable"], completion=completion) or ""
    assert cause in message.split("likely cause: ")[1].splitlines()[0]


def test_causes_told_by_settings_and_reasons() -> None:
    def cause(alarm: BrokenVerifierAlarm, outcome: str, completion: str = "It is 4.", **more: object) -> str:
        return (observe(alarm, [outcome], completion=completion, **more) or "").split("likely cause: ")[1]  # type: ignore[arg-type]

    thinking = BrokenVerifierAlarm(window=8, reading="boxed", thinking=True)
    assert "no </think> follows" in cause(thinking, "unreadable", "So \\boxed{4}")
    auto = BrokenVerifierAlarm(window=8, reading="auto")
    assert 'the form of reading="auto"' in cause(auto, "unreadable", "The answer is unclear")
    cut = BrokenVerifierAlarm(window=8)
    assert "raise max_completion_length" in cause(cut, "unreadable", "<answer>4", reason=Reason.CUT_OFF)
    words = BrokenVerifierAlarm(window=8)
    assert "is no mathematics" in cause(words, "unreadable", "\\boxed{so}", reason=Reason.NOT_GRAMMATICAL)
    kinds = BrokenVerifierAlarm(window=8)
    assert "of different types" in cause(kinds, "incorrect", reason=Reason.TYPE_MISMATCH)
    same = BrokenVerifierAlarm(window=8)
    assert "every gold is the same text" in cause(same, "incorrect", golds=["4"])
    gold = BrokenVerifierAlarm(window=8)
    assert "8 of 8 golds cannot be read" in cause(gold, "broken", reason=Reason.UNREADABLE_GOLD)
    beyond = BrokenVerifierAlarm(window=8)
    assert "cannot decide" in cause(beyond, "undecided", reason=Reason.BEYOND_KNOWLEDGE)


def test_mostly_unreadable_is_enough() -> None:
    four_in_five = ["unreadable"] * 4 + ["correct"]
    assert "16 UNREADABLE" in (observe(BrokenVerifierAlarm(window=20), four_in_five, 20) or "")
    assert observe(BrokenVerifierAlarm(window=20, unreadable=0.9), four_in_five, 20) is None


def test_a_tenth_without_score_is_enough() -> None:
    few = ["undecided"] + HEALTHY * 5
    assert observe(BrokenVerifierAlarm(window=22), few, 22) is None
    many = ["undecided"] + ["correct", "incorrect"] * 4
    assert "3 UNDECIDED" in (observe(BrokenVerifierAlarm(window=22), many, 22) or "")


def test_a_sharp_rise_below_the_threshold_is_told() -> None:
    alarm = BrokenVerifierAlarm(window=100)
    steady = ["undecided"] + HEALTHY * 50
    assert [observe(alarm, steady, 101) for _ in range(4)] == [None] * 4, "one in a hundred, always"
    message = observe(alarm, ["undecided"] * 3 + HEALTHY * 25, 100) or ""
    assert "UNDECIDED or BROKEN, a rate of 6.0% after 1.0% before" in message
    assert "raise deadline" in message


def test_rewards_may_differ_from_scores() -> None:
    alarm = BrokenVerifierAlarm(window=4)
    verdicts = [make_verdict(outcome) for outcome in ("correct", "incorrect", "correct", "incorrect")]
    with pytest.warns(RewardAlarm, match=r"all 4 rewards 0\.5"):
        alarm.observe(verdicts, ["a"] * 4, ["4"] * 4, [0.5] * 4)


def test_message_holds_an_escaped_shortened_sample() -> None:
    hostile = "\x1b[31mred\x07 [bold]x[/bold]\n" + "la " * 40_000 + "\u202eend \\boxed{7}"
    message = observe(BrokenVerifierAlarm(window=8, name="math_reward"), ["incorrect"], completion=hostile) or ""
    assert message.startswith("math_reward look broken: of the last 8 completions")
    assert "\\x1b[31mred\\x07" in message
    assert "end \\\\boxed{7}'" in message
    assert "its gold: '5'" in message
    assert "its verdict: incorrect (different)" in message
    assert len(message) < 1500
    assert all(line.isprintable() for line in message.splitlines())


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="zip"):
        BrokenVerifierAlarm().observe([make_verdict("correct")], ["a", "b"], ["4", "4"])


@pytest.mark.parametrize(
    "settings", [{"window": 1}, {"window": 8, "min_filled": 9}, {"unreadable": 0.0}, {"unscored": 1.5}]
)
def test_settings_out_of_range(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"expected 2 <= min_filled|rates must lie in"):
        BrokenVerifierAlarm(**settings)  # type: ignore[arg-type]


def test_copies_keep_what_was_seen() -> None:
    alarm = BrokenVerifierAlarm(window=8)
    observe(alarm, ["incorrect"], 7)
    for again in (copy.deepcopy(alarm), pickle.loads(pickle.dumps(alarm))):
        assert observe(again, ["incorrect"], 1) is not None


def test_from_threads_it_still_tells_once() -> None:
    alarm = BrokenVerifierAlarm(window=64)
    messages: list[str | None] = []

    def work() -> None:
        for _ in range(50):
            messages.append(alarm.observe([make_verdict("incorrect")], ["a"], ["4"]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(message is not None for message in messages) == 1


def test_math_reward_sets_it_off() -> None:
    reward = MathReward(alarm=BrokenVerifierAlarm(window=8, reading="boxed", name="math_reward"))
    with pytest.warns(RewardAlarm, match=r"math_reward look broken.*8 UNREADABLE(?s:.*)state no answer"):
        reward(completions=["I do not know."] * 8, answer=["4"] * 8)
    reward(completions=["I do not know."] * 8, answer=["4"] * 8)


def test_undecided_as_zero_is_told_as_undecided() -> None:
    reward = MathReward(verifier=ScriptedVerifier(), undecided="zero", alarm=BrokenVerifierAlarm(window=8))
    with pytest.warns(RewardAlarm, match="8 UNDECIDED; all 8 rewards 0"):
        reward(completions=["undecided"] * 8, answer=["4"] * 8)
