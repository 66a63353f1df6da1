"""The rules of equality, case by case, both ways round unless a case says ``one_way``."""

from __future__ import annotations

from collections import Counter

import pytest

from cases import Case, load_cases, named
from markscheme.verifiers import MathVerifier, Outcome

VERIFIER = MathVerifier()
CASES = load_cases("equality")
OUTCOMES = {
    True: {Outcome.CORRECT},
    False: {Outcome.INCORRECT, Outcome.UNREADABLE},
    "undecided": {Outcome.UNDECIDED},
}


@pytest.mark.parametrize("case", named(CASES, "rule", "gold", "answer"))
def test_pair(case: Case) -> None:
    verdict = VERIFIER.verify_answer(case["answer"], case["gold"])
    assert verdict.outcome in OUTCOMES[case["expected"]], verdict.detail
    if "reason" in case:
        assert verdict.reason == case["reason"]
    assert case.get("detail", "") in verdict.detail


@pytest.mark.parametrize("case", named([case for case in CASES if not case.get("one_way")], "rule", "answer", "gold"))
def test_pair_the_other_way_round(case: Case) -> None:
    verdict = VERIFIER.verify_answer(case["gold"], case["answer"])
    if case["expected"] is True:
        assert verdict.outcome is Outcome.CORRECT, verdict.detail
    else:  # the other side as gold may be one that no data set would hold
        assert verdict.outcome is not Outcome.CORRECT, verdict.detail


@pytest.mark.parametrize("rule", sorted({case["rule"] for case in CASES}))
def test_every_rule_has_a_near_miss(rule: str) -> None:
    expected = Counter(case["expected"] for case in CASES if case["rule"] == rule)
    assert expected[True], "no pair that is equal"
    assert expected[False] or expected["undecided"], "no pair that is not"


@pytest.mark.parametrize("text", sorted({case["gold"] for case in CASES}), ids=ascii)
def test_gold_equals_itself(text: str) -> None:
    assert VERIFIER.verify_answer(text, text).outcome is Outcome.CORRECT
