from __future__ import annotations

import pytest

from markscheme.prm.labels import JudgeLabeler, judge_messages, read_judgement
from markscheme.prm.labels.judge import TIED, UNPARSED
from markscheme.verifiers.errors import DataError
from rollout_fakes import Judge, task

THREE = task("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"Step 1 is wrong: \boxed{1}", 1),
        (r"All is well. \boxed{-1}", -1),
        (r"\boxed{ 2 }", 2),
        (r"\boxed{0} … so \boxed{0}.", 0),
        (r"<think>\boxed{0}?</think> \boxed{2}", 2),
        (r"\boxed{0}</think> \boxed{1}", 1),
    ],
)
def test_answers_as_they_were_asked_for(text: str, found: int) -> None:
    assert read_judgement(text, 3) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The first wrong step is 1.",
        r"\boxed{3}",  # there is no step 3
        r"\boxed{-2}",
        r"\boxed{1} or \boxed{2}",
        r"\boxed{1.0}",
        r"\boxed{01}",
        r"\boxed{+1}",
        r"\boxed{１}",
        r"\boxed{step 1}",
        r"\boxed{1",
        r"\boxed{}",
        r"\boxed{\text{1}}",
        r"<think>\boxed{1}",
        r"\boxed{99999999999999999999}",
    ],
)
def test_anything_else_is_no_answer(text: str) -> None:
    assert read_judgement(text, 3) is None


def test_steps_are_numbered_from_0_and_the_instruction_says_how_to_answer() -> None:
    (message,) = judge_messages(task("x = 1", "x = 2", problem="What is x?"))
    assert message["role"] == "user"
    assert "<problem>\nWhat is x?\n</problem>" in message["content"]
    assert "<step_1>\nx = 2\n</step_1>" in message["content"]
    assert r"\boxed{-1}" in message["content"]
    assert "\\\n" not in message["content"]


def test_labels_up_to_the_first_error() -> None:
    judge = Judge(r"\boxed{1}", r"\boxed{-1}")
    found = JudgeLabeler(judge).label([THREE, task("a", row=1)])
    assert [one.labels for one in found] == [(1, 0, None), (1,)]
    assert [(one.requests, one.unparsed) for one in found] == [(1, 0), (1, 0)]
    assert judge.asked == [(2, 1)]


def test_only_what_could_not_be_read_is_asked_again() -> None:
    judge = Judge("hm", r"\boxed{0}", "hm", r"\boxed{2}")
    found = JudgeLabeler(judge).label([THREE, THREE])
    assert judge.asked == [(2, 1), (1, 1), (1, 1)]
    assert [one.first_error for one in found] == [2, 0]
    assert [(one.requests, one.unparsed) for one in found] == [(3, 2), (1, 0)]


def test_after_the_last_retry_there_is_no_label_and_it_is_counted() -> None:
    (one,) = JudgeLabeler(Judge("hm", "hm"), retries=1).label([THREE])
    assert (one.labels, one.first_error, one.note) == ((None,) * 3, None, UNPARSED)
    assert (one.requests, one.unparsed) == (2, 2)


def test_votes() -> None:
    judge = Judge(r"\boxed{1}", r"\boxed{0}", r"\boxed{1}")
    assert JudgeLabeler(judge, votes=3).label([THREE])[0].first_error == 1
    (tied,) = JudgeLabeler(Judge(r"\boxed{1}", r"\boxed{0}"), votes=2).label([THREE])
    assert (tied.first_error, tied.note) == (None, TIED)
    judge = Judge("hm", r"\boxed{2}", r"\boxed{2}")
    (one,) = JudgeLabeler(judge, votes=2).label([THREE])
    assert (judge.asked, one.first_error) == ([(1, 2), (1, 1)], 2)


def test_settings_without_sense() -> None:
    with pytest.raises(DataError, match="at least one vote and no negative retries, got 0 and 2"):
        JudgeLabeler(Judge(), votes=0)
