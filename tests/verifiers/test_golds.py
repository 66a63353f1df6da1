"""Reading gold columns: all that is unreadable is told at once, with its rows."""

from __future__ import annotations

import pytest

from cases import Case, load_cases, named
from markscheme.verifiers import (
    GoldError,
    MarkschemeError,
    MathVerifier,
    Outcome,
    Reason,
    load_golds,
    read_gold,
)

CASES = load_cases("golds")
GOOD = [case for case in CASES if "answer" in case]
BAD = [case for case in CASES if "error" in case]


@pytest.mark.parametrize("case", named(GOOD, "reading", "text"))
def test_read(case: Case) -> None:
    assert read_gold(case["text"], case["reading"]) == case["answer"]


@pytest.mark.parametrize("case", named(BAD, "reading", "text"))
def test_unreadable(case: Case) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        read_gold(case["text"], case["reading"])
    assert case["error"] in str(raised.value)


def test_a_gold_that_is_cut_off_is_no_text_to_differ_from() -> None:
    verdict = MathVerifier().verify(r"\boxed{\frac{1}{2}}", r"\frac{1}{2")
    assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.UNREADABLE_GOLD)


def test_too_long() -> None:
    with pytest.raises(ValueError, match=r"^10001 characters, more than 10000$"):
        read_gold("9" * 10_001)


def test_a_column_of_all_kinds() -> None:
    golds = load_golds(["46", r"so $\boxed{47}$.", "a\n#### 48", 49, 0.5])
    assert [(gold.row, gold.answer) for gold in golds] == [(0, "46"), (1, "47"), (2, "48"), (3, "49"), (4, "0.5")]
    assert golds[1].text == r"so $\boxed{47}$."


def test_all_unreadable_rows_are_listed() -> None:
    with pytest.raises(GoldError) as raised:
        load_golds(["46", "", r"\boxed{4", "7", None, True, "(5"])
    assert [row for row, _, _ in raised.value.rows] == [1, 2, 4, 5, 6]
    message = str(raised.value)
    assert message.startswith("5 gold answer(s) cannot be read:\n  row 1: '': it is empty\n")
    assert "row 2: '\\\\boxed{4': the last box is cut off" in message
    assert "row 4: 'None': expected a string or a number, found NoneType" in message
    assert "row 5: 'True': expected a string or a number, found bool" in message
    assert 'Mend them, or pass on_bad="skip" to leave these rows out.' in message
    assert isinstance(raised.value, MarkschemeError)
    assert isinstance(raised.value, ValueError)


def test_a_long_list_of_unreadable_rows_is_cut_in_the_message_only() -> None:
    with pytest.raises(GoldError, match=r"25 gold answer\(s\) cannot be read:(?s:.*)… and 5 more") as raised:
        load_golds([""] * 25)
    assert len(raised.value.rows) == 25


def test_skip_warns_and_keeps_the_rows_numbers() -> None:
    with pytest.warns(
        UserWarning, match=r"left out 2 row\(s\):(?s:.*)row 1: '': it is empty(?s:.*)row 3: '\(5'"
    ) as seen:
        golds = load_golds(["46", "", "47", "(5"], on_bad="skip")
    assert [(gold.row, gold.answer) for gold in golds] == [(0, "46"), (2, "47")]
    assert seen[0].filename == __file__


def test_skip_without_bad_rows_is_silent() -> None:
    assert len(load_golds(["46", "47"], on_bad="skip")) == 2


def test_no_golds() -> None:
    assert load_golds([]) == []


@pytest.mark.parametrize(
    ("reading", "message"), [("gsm8k", 'no "####" in it'), ("boxed", "no box in it")], ids=["gsm8k", "boxed"]
)
def test_the_reading_of_the_column_counts(reading: str, message: str) -> None:
    with pytest.raises(GoldError, match=message):
        load_golds(["46"], reading=reading)  # type: ignore[arg-type]
