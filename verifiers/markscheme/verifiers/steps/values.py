"""The value of an expression that stands in a step, in the ways in which its units and percentages can be read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from markscheme.verifiers.math.exact import exact
from markscheme.verifiers.math.grammar import AnswerParser
from markscheme.verifiers.math.lexer import END, NotMath, TooLarge, tokenize
from markscheme.verifiers.math.limits import OverBudget, Undefined, Unsupported, budget
from markscheme.verifiers.math.rough import NotRough, rough
from markscheme.verifiers.steps.runs import Item

MAX_ITEMS = 300
_MAX_BITS = 8_000
_BUDGET = 20_000  # units of work, about a microsecond each, for one expression that the grammar reads
_PLAIN = frozenset("+-*/")


class Reading(NamedTuple):
    """One way to read an expression.

    ``units``: numbers count in the base unit of their dimension (cents, seconds, metres …). ``scales``: "million" and
    "dozen" count. ``percent``: 20 % is a fifth ("hundredth"), 20 ("number"), or of what it is added to ("relative").
    """

    units: bool = False
    scales: bool = True
    percent: Literal["hundredth", "number", "relative"] = "hundredth"
    tight: bool = False  # "6 / 1/3" divides by a third


class Value(NamedTuple):
    """An exact value, or a rough one with a bound on its error."""

    exact: Fraction | None
    rough: tuple[float, float] | None = None


class NoValue(ValueError):
    """The expression has no value here; the message says why."""


def evaluate(items: Sequence[Item], reading: Reading) -> Value:
    """The value of an expression.

    Raises:
        NoValue: it has none, or finding it takes more work than the caps allow.
    """
    if len(items) > MAX_ITEMS:
        raise NoValue(f"an expression of more than {MAX_ITEMS} parts")
    if any(item.text == "?" for item in items):
        raise NoValue("a part without a value")
    try:
        if all(item.kind not in ("fn", "const") and (item.kind != "op" or item.text in _PLAIN) for item in items):
            return Value(_Arithmetic(items, reading).value())
        return _by_grammar(items, reading)
    except ZeroDivisionError:
        raise NoValue("a division by zero") from None
    except RecursionError:
        raise NoValue("nested too deeply") from None


class _Arithmetic:
    """Sums, products, quotients and percentages of exact numbers."""

    def __init__(self, items: Sequence[Item], reading: Reading) -> None:
        self.items = items
        self.reading = reading
        self.at = 0

    def value(self) -> Fraction:
        total = self.sum()
        if self.at != len(self.items):
            raise NoValue("an expression that does not parse")
        return total

    def peek(self) -> str:
        if self.at >= len(self.items):
            return ""
        item = self.items[self.at]
        return item.text if item.kind == "op" else item.kind

    def sum(self) -> Fraction:
        total = self.term()
        while (sign := self.peek()) in ("+", "-"):
            self.at += 1
            start = self.at
            part = self.term()
            if self.reading.percent == "relative" and [item.kind for item in self.items[start : self.at]] == [
                "num",
                "percent",
            ]:
                part *= total
            total = _within(total + part if sign == "+" else total - part)
        return total

    def term(self) -> Fraction:
        total = self.factor()
        while (sign := self.peek()) in ("*", "/"):
            self.at += 1
            part = self.factor()
            total = _within(total * part if sign == "*" else total / part)
        return total

    def factor(self) -> Fraction:
        sign = 1
        while self.peek() == "neg":
            self.at += 1
            sign = -sign
        kind = self.peek()
        if kind == "open":
            self.at += 1
            value = self.sum()
            if self.peek() != "close":
                raise NoValue("a bracket that is never closed")
        elif kind == "num":
            value = self.items[self.at].value or Fraction(0)
        else:
            raise NoValue("a number is missing")
        item = self.items[self.at]
        if item.scale is not None or item.unit is not None:
            value *= factor_of(item, self.reading)
        if sign < 0:
            value = -value
        self.at += 1
        while self.peek() == "percent":
            self.at += 1
            if self.reading.percent != "number":
                value /= 100
        if self.reading.tight and kind == "num" and self.peek() == "/" and self.items[self.at].tight:
            self.at += 1
            value /= self.factor()
        return value


def factor_of(item: Item, reading: Reading) -> Fraction:
    """What a reading multiplies a number by: its scale and its unit."""
    factor = item.scale if reading.scales and item.scale is not None else Fraction(1)
    return factor * item.unit[1] if reading.units and item.unit is not None else factor


def _within(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise NoValue("a number of too many digits")
    return value


def _by_grammar(items: Sequence[Item], reading: Reading) -> Value:
    """Powers, roots, factorials, π and LaTeX: the answer grammar reads them."""
    try:
        with budget(_BUDGET):
            parser = AnswerParser(tokenize(written(items, reading)))
            node = parser.sum()
            if parser.now is not END:
                raise NoValue("an expression that does not parse")
            try:
                return Value(exact(node))
            except Unsupported:
                return Value(None, rough(node, {}))
    except (NotMath, TooLarge, Undefined, OverBudget, NotRough, OverflowError) as error:
        raise NoValue(str(error) or "no value") from None


def written(items: Sequence[Item], reading: Reading) -> str:
    """An expression as the answer grammar reads it."""
    parts: list[str] = []
    for item in items:
        if item.kind == "percent":
            if reading.percent != "number":
                parts.append(r"\%")
            continue
        text = {"neg": "-", "op": item.text}.get(item.kind, item.text)
        factor = factor_of(item, reading)
        if factor != 1 and item.kind == "num":
            text = f"({text}*{factor.numerator}/{factor.denominator})"
        elif factor != 1:
            text = f"{text}*{factor.numerator}/{factor.denominator}"
        parts.append(f" {text} " if item.kind == "fn" else text)
    return "".join(parts)


def show(value: Value) -> str:
    """A value as text, short."""
    if value.exact is None:
        return f"about {value.rough[0]:.10g}" if value.rough else "no value"
    exact = value.exact
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > 160:
        try:
            return f"about {float(exact):.10g}"
        except OverflowError:
            return "a number of many digits"
    if exact.denominator == 1:
        return str(exact.numerator)
    twos = exact.denominator
    for prime in (2, 5):
        while twos % prime == 0:
            twos //= prime
    if twos == 1 and exact.denominator < 10**9:
        return f"{float(exact):.15g}" if abs(exact) < 10**6 else str(exact)
    return str(exact) if exact.denominator < 10**4 else f"about {float(exact):.10g}"
