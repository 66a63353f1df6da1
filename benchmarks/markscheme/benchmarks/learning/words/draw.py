"""Problems drawn from the templates, demonstrations, and rows of GSM8K of one or two steps."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from markscheme.benchmarks.learning.words.problems import Problem, compute, number, read_plan
from markscheme.benchmarks.learning.words.templates import HELD_OUT, NAMES, THINGS, TRAINING, Template
from markscheme.verifiers.errors import DataError

RANGE = (2, 12)
FOLD = 5
"""One set of numbers in five is never trained on, nor one row of GSM8K in ten."""
LARGEST = 999
_LETTERS = re.compile(r"\{([a-c])\}")
_ANNOTATION = re.compile(r"<<[^>]*>>")


def held_out_numbers(numbers: Sequence[int]) -> bool:
    """Whether a template's numbers are kept for evaluation."""
    return (sum((place + 1) * value for place, value in enumerate(numbers)) + len(numbers)) % FOLD == 0


def draw(rng: random.Random, template: Template, *, held_out: bool) -> tuple[Problem, str]:
    """Draw a problem and its demonstration.

    All results are whole, above 0 and at most 999. Numbers are those kept for evaluation where ``held_out``, else
    others.
    """
    letters = list(dict.fromkeys(_LETTERS.findall(template.text)))
    name, other = rng.sample(NAMES, 2)
    words = {"name": name, "other": other, "things": rng.choice(THINGS)}
    for _ in range(10_000):
        givens = {letter: rng.randint(*template.ranges.get(letter, RANGE)) for letter in letters}
        equations = solve(template.plans[0], givens)
        if equations is not None and held_out_numbers(list(givens.values())) is held_out:
            break
    else:
        raise DataError(f"template {template.name!r}: no numbers in its ranges give whole results from 1 to {LARGEST}")
    texts = {str(place): text for place, (text, _) in enumerate(equations, 1)}
    answer = equations[-1][1]
    lines = [_fill(line, {**words, **texts}) for line in template.says]
    problem = Problem(
        _fill(template.text, {**words, **{letter: str(value) for letter, value in givens.items()}}),
        Fraction(answer),
        tuple(givens.items()),
        tuple(map(read_plan, template.plans)),
        template.name,
    )
    return problem, "\n".join([*lines, f"#### {answer}"])


def solve(plan: str, givens: dict[str, int]) -> list[tuple[str, int]] | None:
    """Return each step's equation and result; None where one is not whole, below 1 or too large."""
    found: list[tuple[str, int]] = []
    for one in read_plan(plan):
        left, right = (found[int(n) - 1][1] if n.isdigit() else givens[n] for n in (one.left, one.right))
        result = compute(left, one.sign, right)
        if result is None or result.denominator != 1 or not 1 <= result <= LARGEST:
            return None
        found.append((f"{left} {one.sign} {right} = {result}", int(result)))
    return found


def _fill(text: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def training(rng: random.Random, count: int) -> list[tuple[Problem, str]]:
    """Draw problems to train on, with demonstrations."""
    return [draw(rng, rng.choice(TRAINING), held_out=False) for _ in range(count)]


def evaluation(count: int, *, templates: str) -> list[Problem]:
    """Return the problems of an evaluation, all different: of ``seen`` templates with new numbers, or of ``new`` ones.

    The same for every arm, seed and run.
    """
    rng = random.Random(f"words {templates}")  # noqa: S311 - no secret
    kinds, found = TRAINING if templates == "seen" else HELD_OUT, dict[str, Problem]()
    while len(found) < count:
        problem, _ = draw(rng, kinds[len(found) % len(kinds)], held_out=True)
        found[problem.text] = problem
    return list(found.values())


def gsm8k(path: Path) -> tuple[list[tuple[Problem, str]], list[Problem]]:
    """Return the rows of GSM8K with one or two calculations: nine in ten to train on, the tenth for evaluation.

    The rationale is the demonstration, its annotations left out. A row has no plan: any true equation is a right step.

    Raises:
        DataError: a line is no row of GSM8K.
    """
    kept: list[tuple[Problem, str]] = []
    for line_number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            question, rationale = row["question"], row["answer"]
            steps, _, final = rationale.partition("\n#### ")
            answer = number(final.strip())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path}, line {line_number}: expected a row of GSM8K with 'question' and 'answer' that ends in "
                f"'#### N', got {line[:80]!r}"
            ) from error
        if 1 <= len(_ANNOTATION.findall(steps)) <= 2:
            kept.append((Problem(question, answer, source="gsm8k"), _ANNOTATION.sub("", rationale)))
    return [row for place, row in enumerate(kept) if place % 10], [row[0] for row in kept[::10]]
