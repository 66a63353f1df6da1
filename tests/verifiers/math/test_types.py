"""The type of an answer."""

from __future__ import annotations

import pytest

from cases import Case, load_cases, named
from markscheme.verifiers.math.kinds import AnswerType, answer_type
from markscheme.verifiers.math.lexer import NotMath, TooLarge

CASES = load_cases("types")


@pytest.mark.parametrize("case", named(CASES, "type", "answer"))
def test_type(case: Case) -> None:
    assert answer_type(case["answer"]).value == case["type"]


def test_every_type_is_shown() -> None:
    assert {case["type"] for case in CASES} == {kind.value for kind in AnswerType}


def test_unreadable_has_no_type() -> None:
    with pytest.raises(NotMath, match=r"cannot read on from '\)'"):
        answer_type("5)")


def test_too_long_has_no_type() -> None:
    with pytest.raises(TooLarge, match="10001 characters, more than 10000"):
        answer_type("7" * 10_001)
