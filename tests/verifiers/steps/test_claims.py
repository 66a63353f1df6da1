from __future__ import annotations

import threading

import pytest

from markscheme.verifiers import ClaimOutcome, EquationStepVerifier, Reason, StepOutcome, StepVerdict

VERIFIER = EquationStepVerifier()
STEP = "Janet sells 16 - 3 - 4 = <<16-3-4=9>>9 eggs.\nShe makes 9 * 2 = $19 a day, and 100/3 = 33."


def test_claims_say_where_and_why() -> None:
    verdict = VERIFIER.verify_step(STEP)
    assert verdict.outcome is StepOutcome.WRONG
    assert [(claim.source, claim.text, claim.outcome.value) for claim in verdict.claims] == [
        ("prose", "16 - 3 - 4 = <<16-3-4=9>>9 eggs", "right"),
        ("annotation", "16-3-4=9", "right"),
        ("prose", "9 * 2 = $19 a", "wrong"),
        ("prose", "100/3 = 33", "undecided"),
    ]
    assert all(STEP[claim.span[0] : claim.span[1]] == claim.text for claim in verdict.claims)
    wrong = verdict.claims[2]
    assert verdict.first_wrong is wrong
    assert (wrong.left, wrong.relation, wrong.right, wrong.reason) == ("18", "=", "19", Reason.DIFFERENT)
    assert wrong.detail == "18 is not 19"
    assert verdict.claims[3].reason is Reason.PRECISION_AMBIGUOUS
    assert verdict.claims[3].detail == "100/3 is not 33, unless it is rounded or cut off"


def test_a_chain_is_judged_link_by_link() -> None:
    claims = VERIFIER.verify_step("x = 3 * 4 = 13 = 26 / 2").claims
    assert [(claim.text, claim.outcome.value) for claim in claims] == [
        ("3 * 4 = 13", "wrong"),
        ("13 = 26 / 2", "right"),
    ]


@pytest.mark.parametrize(
    ("step", "outcome", "score"),
    [
        ("2 + 2 = 4", "right", 1.0),
        ("2 + 2 = 5", "wrong", 0.0),
        ("two", "no_claim", None),
        ("100/3 = 33", "no_claim", None),
    ],
)
def test_scores(step: str, outcome: str, score: float | None) -> None:
    verdict = VERIFIER.verify_step(step)
    assert (verdict.outcome.value, verdict.score) == (outcome, score)


def test_one_wrong_claim_makes_the_step_wrong_wherever_it_stands() -> None:
    for step in ("1 + 1 = 3. 2 + 2 = 4.", "2 + 2 = 4. 1 + 1 = 3.", "2 + 2 = 4 and 1 + 1 = 3, so 5 + 5 = 10"):
        assert VERIFIER.verify_step(step).outcome is StepOutcome.WRONG


def test_verdicts_are_json_and_the_same_every_time() -> None:
    verdict = VERIFIER.verify_step(STEP)
    assert StepVerdict.model_validate_json(verdict.model_dump_json()) == verdict == VERIFIER.verify_step(STEP)
    assert EquationStepVerifier().verify_steps([STEP, "two"]) == [verdict, VERIFIER.verify_step("two")]


def test_it_works_in_threads() -> None:
    results: list[StepVerdict] = []
    threads = [threading.Thread(target=lambda: results.append(VERIFIER.verify_step(STEP))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [VERIFIER.verify_step(STEP)] * 8


def test_long_claims_are_shown_short() -> None:
    (claim,) = VERIFIER.verify_step("1" + " + 1" * 100 + " = 102").claims
    assert claim.outcome is ClaimOutcome.WRONG
    assert len(claim.text) == 200
    assert claim.detail == "101 is not 102"
    (huge,) = VERIFIER.verify_step("2^1000 = 5").claims
    assert huge.left == "about 1.071508607e+301"
