"""The calculator's annotations in GSM8K's solutions give the truth: every false equation is found, and no true one."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from markscheme.verifiers.steps import ClaimOutcome, EquationStepVerifier

_ANNOTATION = re.compile(r"<<([^<>=]+)=([^<>=]+)>>")
_PLAIN = re.compile(r"[\d+\-*/(). ]+")


def truth(left: str, right: str) -> bool | None:
    """Whether an annotation holds, by exact arithmetic on its own text, or to its result's digits; None: not read."""
    if not _PLAIN.fullmatch(left) or not re.fullmatch(r"-?\d*\.?\d+", right.strip()):
        return None
    numbers = re.sub(r"\d*\.?\d+", lambda m: f"F('{m.group()}')", left)
    try:
        value = eval(numbers, {"__builtins__": {}, "F": Fraction})  # a pattern of digits and signs passed before
    except (SyntaxError, TypeError, ZeroDivisionError, ValueError):
        return None
    result = Fraction(right.strip())
    places = len(right.strip().partition(".")[2])
    return value == result or (places > 0 and abs(value - result) * 2 <= Fraction(1, 10**places))


def solutions(data: Path) -> list[str]:
    rows = (data / "suites" / "gsm8k_test.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(row)["answer"] for row in rows]


def annotations(data: Path) -> list[tuple[str, str, bool]]:
    found = [match for text in solutions(data) for match in _ANNOTATION.findall(text)]
    judged = [(left, right, truth(left, right)) for left, right in found]
    return [(left, right, holds) for left, right, holds in judged if holds is not None]


@pytest.fixture(scope="module")
def verifier() -> EquationStepVerifier:
    return EquationStepVerifier()


def test_every_annotation_is_judged_as_exact_arithmetic_has_it(data: Path, verifier: EquationStepVerifier) -> None:
    checked = annotations(data)
    assert len(checked) > 3000
    wrong = []
    for left, right, holds in checked:
        verdict = verifier.verify_step(f"<<{left}={right}>>")
        outcomes = {claim.outcome for claim in verdict.claims}
        if holds and left.strip().lstrip("+") == right.strip():
            outcomes = outcomes or {ClaimOutcome.RIGHT}  # a number that is itself claims nothing
        if outcomes != {ClaimOutcome.RIGHT if holds else ClaimOutcome.WRONG}:
            wrong.append((left, right, holds, verdict.outcome))
    assert wrong == []


def test_a_changed_result_is_always_found(data: Path, verifier: EquationStepVerifier) -> None:
    missed = []
    changed = 0
    for left, right, holds in annotations(data):
        number = right.strip()
        if not holds or not number.isdigit() or truth(left, str(int(number) + 1)) is not False:
            continue
        changed += 1
        texts = [f"<<{left}={int(number) + 1}>>"]
        if re.search(r"\d[ )]*[-+*/]", left):  # "So 125 = 126" may name two things; a calculation may not
            texts.append(f"So {left} = {int(number) + 1} in all.")
        missed += [text for text in texts if verifier.verify_step(text).first_wrong is None]
    assert changed > 3000
    assert missed == []


def test_no_true_line_of_a_solution_is_called_wrong(data: Path, verifier: EquationStepVerifier) -> None:
    """A line whose annotations all hold makes no false claim in its prose either."""
    accused = []
    for text in solutions(data):
        for line in text.split("\n"):
            found = _ANNOTATION.findall(line)
            if found and all(truth(*pair) for pair in found):
                claim = verifier.verify_step(line).first_wrong
                if claim is not None:
                    accused.append((line, claim.text))
    # Lines whose prose contradicts their own annotation are wrong and may be named; there are few.
    assert len(accused) <= 6, accused
