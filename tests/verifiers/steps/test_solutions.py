"""Real solutions: their ``<<…>>`` give the truth, worked out here with exact rationals by Python's own parser."""

from __future__ import annotations

import ast
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from markscheme.verifiers import ClaimOutcome, EquationStepVerifier, StepOutcome

VERIFIER = EquationStepVerifier()
ANNOTATION = re.compile(r"<<(.*?)>>")
_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
}


def value(text: str) -> Fraction:
    """The exact value of plain arithmetic. Raises ValueError or SyntaxError for anything else."""
    text = re.sub(r"(?<![\d.])0+(?=\d)", "", text.replace(",", "").strip())
    text = re.sub(r"(\d)\s*%(?![\d.])", r"\1/100", text)

    def of(node: ast.AST) -> Fraction:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp):
            return -of(node.operand) if isinstance(node.op, ast.USub) else of(node.operand)
        if isinstance(node, ast.Constant):
            return Fraction(ast.get_source_segment(text, node) or "")
        raise ValueError(ast.dump(node))

    return of(ast.parse(text, mode="eval").body)


def truth(equation: str) -> bool | None:
    """Whether every sign of equality holds: exactly, rounded to the written decimals, or as a double gives it.

    None where the annotation is no plain arithmetic, or only a number beside itself.
    """
    sides = equation.split("=")
    try:
        values = [value(side) for side in sides]
    except (ValueError, SyntaxError, ZeroDivisionError):
        return None
    beside = len(sides) == 2 and (sides[0] == sides[1] or not re.search(r"[\d)][-+*/]", equation))
    if len(sides) < 2 or (beside and values[0] == values[1]):
        return None
    largest = max(abs(Fraction(number)) for number in re.findall(r"\d+\.?\d*", equation.replace(",", "")))
    for one, other, side in zip(values, values[1:], sides[1:], strict=False):
        places = len(side.strip().partition(".")[2])
        machine = len(re.sub(r"\D", "", side).lstrip("0")) >= 12 and abs(one - other) <= largest / 10**13
        if one != other and not machine and not (places and abs(one - other) <= Fraction(1, 2) / 10**places):
            return False
    return True


def solutions(data: Path, name: str) -> Iterator[str]:
    files = {"test": "suites/gsm8k_test", "train": "suites/gsm8k_train", "models": "math/gsm8k_model_solutions"}
    path = data / f"{files.get(name, 'prm/bon_gsm8k_4models')}.jsonl"
    with path.open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            texts = [row.get("answer") or row.get("prediction"), *(one["text"] for one in row.get("solutions", ()))]
            yield from (line for text in texts if text for line in text.split("\n") if "=" in line)


def outcome(line: str, start: int, end: int) -> ClaimOutcome | None:
    """What is said of the annotation at a place of a line."""
    found = {
        claim.outcome
        for claim in VERIFIER.verify_step(line).claims
        if claim.source == "annotation" and start <= claim.span[0] and claim.span[1] <= end
    }
    return next((one for one in (ClaimOutcome.WRONG, ClaimOutcome.RIGHT, ClaimOutcome.UNDECIDED) if one in found), None)


# Set, annotations that are true, that are false.
SETS = [
    pytest.param("test", 4205, 0, id="test golds"),
    pytest.param("models", 7999, 29, id="models"),
    pytest.param("four models", 16536, 52, id="four models", marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("name", "true", "false"), SETS)
def test_every_false_annotation_is_found_and_no_true_one(data: Path, name: str, true: int, false: int) -> None:
    counted: Counter[bool] = Counter()
    seen: dict[str, list[tuple[bool, ClaimOutcome | None]]] = {}
    for line in solutions(data, name):
        if line not in seen:
            seen[line] = [
                (holds, outcome(line, *match.span(1)))
                for match in ANNOTATION.finditer(line)
                if (holds := truth(match[1])) is not None
            ]
        for holds, found in seen[line]:
            assert found is (ClaimOutcome.RIGHT if holds else ClaimOutcome.WRONG), line
            counted[holds] += 1
    assert counted == Counter({True: true, False: false})


def altered(equation: str, random: random.Random) -> str:
    """The equation with one digit of one of its numbers changed."""
    number = random.choice(list(re.finditer(r"\d[\d,]*\.?\d*|\.\d+", equation)))
    place = random.choice([n for n in range(*number.span()) if equation[n].isdigit()])
    digit = random.choice([one for one in "123456789" if one != equation[place]])
    return equation[:place] + digit + equation[place + 1 :]


def test_every_true_annotation_made_false_is_found(data: Path) -> None:
    draw, checked = random.Random(0), 0
    for line in solutions(data, "test"):
        for match in ANNOTATION.finditer(line):
            if truth(match[1]):
                equation = altered(match[1], draw)
                if truth(equation) is False:
                    text = f"{line[: match.start(1)]}{equation}{line[match.end(1) :]}"
                    assert outcome(text, match.start(1), match.start(1) + len(equation)) is ClaimOutcome.WRONG, text
                    checked += 1
    assert checked > 4100


def prose(data: Path, name: str) -> Iterator[str]:
    """Lines with one true equation, their annotation taken out."""
    for line in solutions(data, name):
        found = ANNOTATION.findall(line)
        if len(found) == 1 and truth(found[0]):
            yield ANNOTATION.sub("", line)


# What is false as it is written in the golds themselves, beside a true annotation.
FALSE_AS_WRITTEN = {"364 / 4 = 273 yards"}


def test_prose_of_golds_is_right_and_altered_prose_is_wrong(data: Path) -> None:
    draw, clean, made_false = random.Random(0), Counter[StepOutcome](), Counter[StepOutcome]()
    for line in prose(data, "test"):
        verdict = VERIFIER.verify_step(line)
        wrong = verdict.first_wrong
        assert wrong is None or wrong.text in FALSE_AS_WRITTEN, wrong
        clean[verdict.outcome] += 1
        right = [claim for claim in verdict.claims if claim.outcome is ClaimOutcome.RIGHT]
        if right:
            start, end = right[-1].span
            made_false[VERIFIER.verify_step(line[:start] + altered(line[start:end], draw) + line[end:]).outcome] += 1
    assert clean[StepOutcome.RIGHT] > 0.99 * clean.total()
    # The others are quotients that a whole number may round, and equations whose words leave a way out.
    assert made_false[StepOutcome.WRONG] > 0.97 * made_false.total()
    assert made_false[StepOutcome.RIGHT] < 0.002 * made_false.total()


@pytest.mark.soak
def test_the_golds_of_the_training_set(data: Path) -> None:
    wrong: list[str] = []
    for line in solutions(data, "train"):
        verdict = VERIFIER.verify_step(line)
        wrong += [claim.text for claim in verdict.claims if claim.outcome is ClaimOutcome.WRONG]
        assert not [c for c in verdict.claims if c.source == "annotation" and c.outcome is ClaimOutcome.WRONG], line
    assert len(wrong) <= 35, wrong  # nearly all are slips of those who wrote them: "192*100=$1920"


def test_a_step_is_quick(data: Path) -> None:
    lines = list(solutions(data, "test"))[:1000]
    start = time.process_time()
    VERIFIER.verify_steps(lines)
    assert (time.process_time() - start) / len(lines) < 0.002  # seconds; 0.0003 where nothing else runs


def test_steps_that_people_labelled(data: Path) -> None:
    labelled: Counter[tuple[int | None, StepOutcome]] = Counter()
    with (data / "prm" / "processbench_gsm8k.jsonl").open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            labelled.update(
                (label, VERIFIER.verify_step(step).outcome)
                for step, label in zip(row["steps"], row["labels"], strict=True)
            )
    assert labelled[1, StepOutcome.WRONG] == 0
    assert labelled[0, StepOutcome.WRONG] >= 18
    assert labelled[1, StepOutcome.RIGHT] > 700
