from __future__ import annotations

from itertools import combinations

import pytest

from fakes import TextVerifier, verdict
from markscheme.verifiers import Outcome
from markscheme.verifiers.statistics import clustered_interval, ks, majority_correct, pass_at_k, wilson


def test_wilson_against_published_values() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_samples_that_agree_count_as_one() -> None:
    problems = [[i % 4 != 0] for i in range(40)]
    agreeing = [group * 8 for group in problems]
    assert clustered_interval(problems) == wilson(30, 40)
    assert clustered_interval(agreeing) == pytest.approx(wilson(30, 40), abs=1e-9)


def test_samples_that_are_independent_count_each() -> None:
    groups = [[True, False]] * 50
    assert clustered_interval(groups) == wilson(50, 100)
    assert clustered_interval([[True] * 4] * 10) == wilson(10, 10)


@pytest.mark.parametrize(("n", "correct", "k"), [(5, 2, 1), (5, 2, 3), (6, 1, 6), (6, 0, 2), (4, 4, 2)])
def test_pass_at_k_is_the_share_of_subsets_with_a_right_one(n: int, correct: int, k: int) -> None:
    subsets = list(combinations([True] * correct + [False] * (n - correct), k))
    assert pass_at_k(n, correct, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def test_pass_at_k_refuses_more_than_there_are() -> None:
    with pytest.raises(ValueError, match="expected 1 <= k <= n, got k=5, n=4"):
        pass_at_k(4, 1, 5)


def test_ks() -> None:
    assert [ks(n) for n in (0, 1, 2, 6, 8)] == [[], [1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]


class HalfVerifier(TextVerifier):
    """Knows that 0.5 and 1/2 are equal, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def verify_answer(self, answer: str, gold: str):  # type: ignore[no-untyped-def]
        self.asked.append((answer, gold))
        return super().verify_answer(answer.replace("0.5", "1/2"), gold.replace("0.5", "1/2"))


@pytest.mark.parametrize(
    ("answers", "gold", "won"),
    [
        pytest.param(["3", "3", "1"], "3", True, id="most are right"),
        pytest.param(["3", "1", "1"], "3", False, id="most agree on a wrong one"),
        pytest.param(["3", "1/2", "0.5"], "3", False, id="two spellings of a wrong one vote together"),
        pytest.param(["3", "1", "2"], "3", True, id="tie, the right one first"),
        pytest.param(["1", "3", "2"], "3", False, id="tie, a wrong one first"),
        pytest.param([None, None, "3"], "3", True, id="unread answers do not vote"),
        pytest.param([None], "3", False, id="nobody votes"),
        pytest.param(["1", "2"], "3", False, id="nobody is right"),
    ],
)
def test_majority(answers: list[str | None], gold: str, won: bool) -> None:  # noqa: FBT001
    verdicts = [
        verdict(Outcome.UNREADABLE if a is None else Outcome.CORRECT if a == gold else Outcome.INCORRECT, answer=a)
        for a in answers
    ]
    assert majority_correct(verdicts, HalfVerifier()) is won


def test_equality_is_asked_only_where_it_matters() -> None:
    verifier = HalfVerifier()
    right, wrong = verdict(Outcome.CORRECT, answer="3"), verdict(Outcome.INCORRECT, answer="1")
    assert majority_correct([right, right, wrong], verifier)
    assert not majority_correct([wrong, verdict(Outcome.INCORRECT, answer="2")], verifier)
    assert verifier.asked == []
