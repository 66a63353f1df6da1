"""Steps checked by rule: what is a claim, what holds, and what does not."""

from __future__ import annotations

import time

import pytest

from markscheme.verifiers.steps import ClaimOutcome, EquationStepVerifier, StepOutcome

VERIFIER = EquationStepVerifier()
RIGHT = [
    "16 - 3 - 4 = 9",
    "<<16-3-4=9>>",
    "She has 16 - 3 - 4 = <<16-3-4=9>>9 eggs left.",
    "2 * 3 = 6 = 12 / 2",
    "20% of 50 = 10",
    "That is 150 * 10% = $15.",
    "He pays 3 x $4 = $12.",
    "5 × 4 = 20 apples",
    "100/3 = 33.33",
    "100/3 ≈ 33",
    r"\frac{1}{2} + \frac{1}{3} = \frac{5}{6}",
    r"$3 \times 4 = 12$ and $12 \div 2 = 6$.",
    "1 1/2 + 1/2 = 2",
    "1,200 + 300 = 1,500",
    "2^10 = 1024",
    "(2 + 3) * 4 = 20",
    "-3 + 5 = 2",
    "12 < 15",
]
WRONG = [
    ("16 - 3 - 4 = 10", "16 - 3 - 4 = 10"),
    ("<<16-3-4=8>>", "16-3-4=8"),
    ("2 * 3 = 6 = 7", "6 = 7"),
    ("20% of 50 = 11", "20% of 50 = 11"),
    ("He pays 3 x $4 = $13.", "3 x $4 = $13"),
    ("100/3 = 33.4", "100/3 = 33.4"),
    (r"\frac{1}{2} + \frac{1}{3} = \frac{2}{5}", None),
    ("1,200 + 300 = 1,600", None),
    ("2^10 = 1000", None),
    ("First 2 + 2 = 4, and then 4 + 4 = 9.", "4 + 4 = 9"),
]
NO_CLAIM = [
    "We need the number of apples.",
    "Let x = 5 + y.",
    "x = 12",
    "f(x) = 2x + 1",
    "2x + 3 = 11",
    "If 2 + 2 = 5, then anything follows.",
    "",
]


@pytest.mark.parametrize("step", RIGHT)
def test_a_claim_that_holds(step: str) -> None:
    verdict = VERIFIER.verify_step(step)
    assert verdict.outcome is StepOutcome.RIGHT, verdict
    assert verdict.score == 1.0
    assert verdict.first_wrong is None


@pytest.mark.parametrize(("step", "claim"), WRONG)
def test_a_claim_that_does_not_hold(step: str, claim: str | None) -> None:
    verdict = VERIFIER.verify_step(step)
    assert verdict.outcome is StepOutcome.WRONG, verdict
    assert verdict.score == 0.0
    found = verdict.first_wrong
    assert found is not None
    assert found.outcome is ClaimOutcome.WRONG
    assert found.detail
    assert step[slice(*found.span)] == found.text
    if claim is not None:
        assert found.text == claim


@pytest.mark.parametrize("step", NO_CLAIM)
def test_what_claims_nothing(step: str) -> None:
    verdict = VERIFIER.verify_step(step)
    assert verdict.outcome is StepOutcome.NO_CLAIM, verdict
    assert verdict.score is None


def test_a_step_must_be_text() -> None:
    with pytest.raises(TypeError, match="a step must be a string, not int"):
        VERIFIER.verify_step(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_claims must be at least 1, not 0"):
        EquationStepVerifier(max_claims=0)


def test_more_relations_than_are_looked_at_are_said() -> None:
    verdict = EquationStepVerifier(max_claims=3).verify_step("1 + 1 = 2. " * 5)
    assert len(verdict.claims) == 3
    assert not verdict.complete


@pytest.mark.parametrize(
    "step",
    [
        "1" * 100_000 + " = 1",
        "9^9^9^9 = 1",
        "(" * 50_000 + "1" + ")" * 50_000 + " = 1",
        "1 = " * 30_000 + "1",
        "<<" * 30_000 + "1=1",
        "2 + " * 40_000 + "2 = 4",
        "\\frac{" * 20_000 + " = 1",
        "10000! = 1",
        "= " * 50_000,
    ],
    ids=["digits", "tower", "brackets", "chain", "annotations", "sum", "fractions", "factorial", "relations"],
)
def test_hostile_steps_are_bounded(step: str) -> None:
    before = time.process_time()
    verdict = VERIFIER.verify_step(step)
    assert verdict.outcome in StepOutcome
    assert time.process_time() - before < 5.0  # linear: a second here, minutes where it is not
