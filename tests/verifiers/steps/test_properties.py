"""Arithmetic written in many ways: what is true is never called wrong, what is false never right."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

import profiles  # noqa: F401 - loads the profile
from markscheme.verifiers import EquationStepVerifier, StepOutcome
from markscheme.verifiers.math.exact import exact
from markscheme.verifiers.math.grammar import AnswerParser
from markscheme.verifiers.math.lexer import tokenize
from markscheme.verifiers.steps.clauses import match_brackets
from markscheme.verifiers.steps.sides import SideReader
from markscheme.verifiers.steps.tokens import scan
from markscheme.verifiers.steps.values import NoValue, Reading, evaluate

VERIFIER = EquationStepVerifier()
PLAIN = Reading(scales=False)


@dataclass(frozen=True)
class Sum:
    """An expression of numbers and signs, with its value."""

    numbers: tuple[Fraction, ...]
    signs: tuple[str, ...]

    @property
    def value(self) -> Fraction:
        total, product, sign = Fraction(0), self.numbers[0], "+"
        for op, number in zip(self.signs, self.numbers[1:], strict=True):
            if op in "*/":
                product = product * number if op == "*" else product / number
            else:
                total = total + product if sign == "+" else total - product
                product, sign = number, op
        return total + product if sign == "+" else total - product

    def written(self, number: Any, sign: Any) -> str:
        text = number(self.numbers[0], 0)
        for n, (op, one) in enumerate(zip(self.signs, self.numbers[1:], strict=True), 1):
            text += sign(op) + number(one, n)
        return text


NUMBERS = st.one_of(
    st.integers(1, 99).map(Fraction),
    st.integers(100, 2_000_000).map(Fraction),
    st.integers(1, 999).map(lambda n: Fraction(n, 4)),
)
SUMS = st.integers(1, 4).flatmap(
    lambda n: st.builds(Sum, st.tuples(*[NUMBERS] * (n + 1)), st.tuples(*[st.sampled_from("+-*/")] * n))
)


def digits(value: Fraction, *, thousands: bool = False) -> str:
    """A number with a finite decimal, to its last digit."""
    text = f"{float(abs(value)):,.4f}" if thousands else f"{float(abs(value)):.4f}"
    text = text.rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text


def finite(value: Fraction) -> bool:
    return (value * 10_000).denominator == 1 and abs(value) < 10**12


STYLES: dict[str, Any] = {
    "plain": (lambda v, n: digits(v), lambda op: f" {op} "),
    "tight": (lambda v, n: digits(v), lambda op: op),
    "thousands": (lambda v, n: digits(v, thousands=True), lambda op: f" {op} "),
    "unicode": (lambda v, n: digits(v), lambda op: {"*": " × ", "/": " ÷ ", "-": " − ", "+": " + "}[op]),
    "latex": (lambda v, n: digits(v), lambda op: {"*": r" \times ", "/": r" \div "}.get(op, f" {op} ")),
    "money": (lambda v, n: f"${digits(v)}", lambda op: f" {op} "),
    "nouns": (lambda v, n: f"{digits(v)} apples", lambda op: f" {op} "),
    "units": (lambda v, n: f"{digits(v)} miles", lambda op: f" {op} "),
    "words": (
        lambda v, n: digits(v),
        lambda op: {"*": " times ", "/": " divided by ", "-": " minus ", "+": " plus "}[op],
    ),
}
FRAMES = [
    "{}",
    "So she has {} left.",
    "The total is {}.",
    "\\[ {} \\]",
    "**{}**",
    "- {}",
    "Step 2: {}",
    "We find that {}, as said.",
]


@given(sum_=SUMS, style=st.sampled_from(sorted(STYLES)), frame=st.sampled_from(FRAMES))
def test_true_equations_are_right(sum_: Sum, style: str, frame: str) -> None:
    number, sign = STYLES[style]
    assume(finite(sum_.value))
    claim = f"{sum_.written(number, sign)} = {digits(sum_.value)}"
    verdict = VERIFIER.verify_step(frame.format(claim))
    assert verdict.outcome is StepOutcome.RIGHT, (claim, verdict)


@given(sum_=SUMS, style=st.sampled_from(sorted(STYLES)), frame=st.sampled_from(FRAMES), off=st.integers(1, 40))
def test_false_equations_are_wrong(sum_: Sum, style: str, frame: str, off: int) -> None:
    number, sign = STYLES[style]
    assume(finite(sum_.value))
    claim = f"{sum_.written(number, sign)} = {digits(sum_.value + off)}"
    verdict = VERIFIER.verify_step(frame.format(claim))
    assert verdict.outcome is StepOutcome.WRONG, (claim, verdict)


@given(sum_=SUMS, places=st.integers(1, 6))
def test_a_rounded_decimal_is_right_and_the_next_one_wrong(sum_: Sum, places: int) -> None:
    assume(not finite(sum_.value) and abs(sum_.value) < 10**6)
    unit = Fraction(1, 10**places)
    steps = round(sum_.value / unit)
    for shift, outcome in ((0, StepOutcome.RIGHT), (3, StepOutcome.WRONG), (-3, StepOutcome.WRONG)):
        value = (steps + shift) * unit
        sign = "-" if value < 0 else ""
        whole, part = divmod(abs(value) * 10**places, 10**places)
        text = f"{sum_.written(*STYLES['plain'])} = {sign}{whole}.{int(part):0{places}d}"
        assert VERIFIER.verify_step(text).outcome is outcome, text


@given(sum_=SUMS)
def test_a_doubles_result_is_right(sum_: Sum) -> None:
    assume(sum_.value and max(map(abs, sum_.numbers)) < 10**7)
    assert VERIFIER.verify_step(f"<<{sum_.written(*STYLES['tight'])}={float(sum_.value)!r}>>").outcome is not (
        StepOutcome.WRONG
    )


@given(text=st.text(alphabet="0123456789.+-*/() ", min_size=1, max_size=30))
def test_plain_arithmetic_is_read_as_the_grammar_reads_it(text: str) -> None:
    tokens = scan(text)
    runs = SideReader(tokens, match_brackets(tokens)).runs(0, len(tokens))
    assume(len(runs) == 1 and (runs[0].first, runs[0].last) == (0, len(tokens)) and not runs[0].unknown)
    try:
        ours = evaluate(runs[0].items, PLAIN).exact
    except NoValue:
        return
    spaced = " ".join(token.text for token in tokens)
    try:
        parser = AnswerParser(tokenize(spaced))
        theirs = exact(parser.sum())
    except ValueError:
        return
    assume(parser.now.kind == "end")
    assert ours == theirs


@given(text=st.text(max_size=200))
def test_nothing_raises_on_any_text(text: str) -> None:
    verdict = VERIFIER.verify_step(text)
    assert all(0 <= claim.span[0] <= claim.span[1] <= len(text) for claim in verdict.claims)


PIECES = st.sampled_from(
    (
        "1 23 0.5 1/2 $ = ≈ < > + - * / ^ ( ) [ ] { } % ! x n of is equals and half times \\frac{ \\sqrt{ \\text{ << >>"
        " \n , . : ; apples hours $5 20% 3rd ½ ² π \\pi \\times \\approx \\[ \\] ** twice 2:30 1,000 k"
    ).split(" ")
)


@given(pieces=st.lists(PIECES, max_size=40), joint=st.sampled_from(["", " "]))
def test_nothing_raises_on_any_mixture(pieces: list[str], joint: str) -> None:
    text = joint.join(pieces)
    verdict = VERIFIER.verify_step(text)
    assert all(text[slice(*claim.span)][:200] == claim.text for claim in verdict.claims)
