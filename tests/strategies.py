"""Hypothesis strategies: answers in many written forms, with the values that they must have.

A written answer is a text with its exact value beside it, so that a property can compare the verifier with plain
arithmetic. Everything is built from integers; nothing here asks the code under test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

Draw = Callable[..., Any]
SMALL = st.integers(-60, 60)
DIGITS = st.integers(-999_999, 999_999)


@dataclass(frozen=True)
class Written:
    """A text and the exact value that it states."""

    text: str
    value: Fraction


@dataclass(frozen=True)
class Span:
    """An interval of rational ends, in both notations."""

    low: Fraction
    high: Fraction
    low_closed: bool
    high_closed: bool

    @property
    def brackets(self) -> str:
        """As ``[2, 8)``."""
        left, right = "(["[self.low_closed], ")]"[self.high_closed]
        return f"{left}{plain(self.low)}, {plain(self.high)}{right}"

    def inequality(self, name: str = "x") -> str:
        r"""As ``2 \\le x < 8``."""
        left, right = (r"\le" if closed else "<" for closed in (self.low_closed, self.high_closed))
        return rf"{plain(self.low)} {left} {name} {right} {plain(self.high)}"

    def falling(self, name: str = "x") -> str:
        r"""As ``8 > x \\ge 2``."""
        left, right = (r"\ge" if closed else ">" for closed in (self.high_closed, self.low_closed))
        return rf"{plain(self.high)} {left} {name} {right} {plain(self.low)}"


# Writing a rational number ---------------------------------------------------------------------------------------


def plain(value: Fraction) -> str:
    """As an integer or ``\\frac``."""
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def slashed(value: Fraction) -> str:
    """As ``-3/8``."""
    return str(value)


def inline_sign(value: Fraction) -> str:
    r"""With the sign in the numerator: ``\frac{-3}{8}``."""
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


def below_sign(value: Fraction) -> str:
    r"""With the sign turned into the denominator: ``\dfrac{3}{-8}``."""
    return rf"\dfrac{{{-value.numerator}}}{{{-value.denominator}}}"


def unreduced(value: Fraction, factor: int) -> str:
    """With a common factor."""
    return rf"\frac{{{value.numerator * factor}}}{{{value.denominator * factor}}}"


def finite_decimal(value: Fraction) -> str | None:
    """As a decimal, when it has a finite one of at most 12 places."""
    for places in range(13):
        if (value * 10**places).denominator == 1:
            return decimal(value, places)
    return None


def decimal(value: Fraction, places: int) -> str:
    """As a decimal of so many places, which must be exact."""
    scaled = value * 10**places
    assert scaled.denominator == 1
    digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
    body = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return ("-" if value < 0 else "") + body


def mixed(value: Fraction) -> str | None:
    r"""As ``-2\frac{3}{7}``, when it has a whole and a broken part."""
    whole, rest = divmod(abs(value.numerator), value.denominator)
    if not whole or not rest:
        return None
    return f"{'-' if value < 0 else ''}{whole}\\frac{{{rest}}}{{{value.denominator}}}"


def grouped(value: int, separator: str) -> str:
    """With a separator of thousands."""
    return f"{value:,}".replace(",", separator)


def scientific(value: int, *, code: bool) -> str:
    r"""As ``4.2\times 10^{5}`` or ``4.2e5``."""
    digits = str(abs(value))
    mantissa = (digits[0] + ("." + digits[1:] if len(digits) > 1 else "")).rstrip(".")
    exponent = len(digits) - 1
    power = f"e{exponent}" if code else rf"\times 10^{{{exponent}}}"
    return f"{'-' if value < 0 else ''}{mantissa}{power}"


fractions = st.builds(Fraction, SMALL, st.integers(1, 60))
nonzero = st.integers(1, 60).flatmap(lambda n: st.sampled_from([n, -n]))


@st.composite
def forms(draw: Draw, value: Fraction) -> str:
    """Any written form of a value that all readers agree on."""
    choices = [plain(value), slashed(value), unreduced(value, draw(st.integers(2, 9)))]
    choices += [text for text in (finite_decimal(value), mixed(value)) if text is not None]
    if value.denominator == 1:
        whole = value.numerator
        choices += [grouped(whole, "{,}"), grouped(whole, r"\,"), grouped(whole, ","), grouped(whole, r"\!")]
        choices += [f"{whole}.0", scientific(whole, code=False), scientific(whole, code=True)]
        choices += [unreduced(value, 3)]
    elif value:
        choices += [inline_sign(value), below_sign(value), plain(value).replace("frac", "tfrac")]
    return str(draw(st.sampled_from(choices)))


@st.composite
def numbers(draw: Draw) -> Written:
    """A rational number in any form."""
    value = draw(st.one_of(fractions, DIGITS.map(Fraction), st.builds(Fraction, DIGITS, st.sampled_from([10, 100, 8]))))
    return Written(draw(forms(value)), value)


@st.composite
def decimals(draw: Draw) -> Written:
    """A decimal of one to nine places."""
    places = draw(st.integers(1, 9))
    value = Fraction(draw(DIGITS), 10**places)
    return Written(decimal(value, places), value)


# Arithmetic ------------------------------------------------------------------------------------------------------


def _join(one: Written, op: str, two: Written) -> Written | None:
    wrapped = f"({two.text})"
    first = f"({one.text})"
    if op == "+":
        return Written(f"{one.text}+{wrapped}", one.value + two.value)
    if op == "-":
        return Written(f"{one.text}-{wrapped}", one.value - two.value)
    if op == r"\cdot":
        return Written(rf"{first}\cdot {wrapped}", one.value * two.value)
    if op == "beside":
        return Written(first + wrapped, one.value * two.value)
    if not two.value:
        return None
    if op == "/":
        return Written(f"{first}/{wrapped}", one.value / two.value)
    return Written(rf"\frac{{{one.text}}}{{{two.text}}}", one.value / two.value)


@st.composite
def _powers(draw: Draw, inner: st.SearchStrategy[Written]) -> Written:
    base = draw(inner)
    exponent = draw(st.integers(-2 if base.value else 0, 3))
    if not base.value and not exponent:
        exponent = 1
    return Written(f"({base.text})^{{{exponent}}}", base.value**exponent)


@st.composite
def _operations(draw: Draw, inner: st.SearchStrategy[Written]) -> Written:
    one, two = draw(inner), draw(inner)
    op = draw(st.sampled_from(["+", "-", r"\cdot", "beside", "/", "frac"]))
    joined = _join(one, op, two)
    return joined or Written(f"-({one.text})", -one.value)


_leaves = st.one_of(
    SMALL.map(lambda n: Written(str(n), Fraction(n))), fractions.map(lambda value: Written(plain(value), value))
)
arithmetic = st.recursive(_leaves, lambda inner: st.one_of(_operations(inner), _powers(inner)), max_leaves=7)


# Polynomials -----------------------------------------------------------------------------------------------------

Polynomial = tuple[Fraction, ...]


def multiply(one: Polynomial, two: Polynomial) -> Polynomial:
    """The product, by coefficients from the constant up."""
    product = [Fraction(0)] * (len(one) + len(two) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            product[i + j] += a * b
    return tuple(product)


def expanded(polynomial: Polynomial, name: str = "x", *, rising: bool = False) -> str:
    """Written out term by term."""
    terms = []
    for power, coefficient in enumerate(polynomial):
        if not coefficient:
            continue
        letter = "" if power == 0 else name if power == 1 else f"{name}^{{{power}}}"
        size = "" if abs(coefficient) == 1 and letter else plain(abs(coefficient))
        terms.append(("-" if coefficient < 0 else "+") + size + letter)
    if not terms:
        return "0"
    return "".join(terms if rising else reversed(terms)).removeprefix("+")


@st.composite
def factored(draw: Draw, name: str = "x") -> tuple[str, Polynomial]:
    """A product of up to three factors of degree one or two, and its coefficients."""
    text, product = "", (Fraction(1),)
    for _ in range(draw(st.integers(1, 3))):
        low, middle, high = draw(SMALL), draw(nonzero), draw(st.integers(-3, 3))
        factor = tuple(map(Fraction, (low, middle, high) if high else (low, middle)))
        text += f"({expanded(factor, name)})"
        product = multiply(product, factor)
    return text, product


@st.composite
def line_equations(draw: Draw) -> tuple[int, int, int]:
    """The coefficients of ``ax + by = c``, none of them 0."""
    return draw(nonzero), draw(nonzero), draw(nonzero)


def line(a: int, b: int, c: int) -> str:
    """``ax + by = c`` in full."""
    return f"{a}x{b:+d}y={c}"


# Compound answers ------------------------------------------------------------------------------------------------

lists = st.lists(fractions, min_size=2, max_size=5, unique=True)
pairs_apart = st.tuples(fractions, fractions).filter(lambda pair: pair[0] < pair[1])
units = st.sampled_from(["cm", "m", "km", "kg", "g", "seconds", "minutes", "hours", "liters", "dollars"])
words = st.sampled_from(
    ["Tuesday", "red", "odd", "Maria", "isosceles", "parallelogram", "clockwise", "north", "rational", "convex"]
)


@st.composite
def intervals(draw: Draw) -> Span:
    """A bounded interval of more than a point."""
    low, high = draw(pairs_apart)
    return Span(low, high, draw(st.booleans()), draw(st.booleans()))


def tuple_of(values: list[Fraction]) -> str:
    """As ``(1, 2)``."""
    return "(" + ", ".join(map(plain, values)) + ")"


def set_of(values: list[Fraction]) -> str:
    r"""As ``\\{1, 2\\}``."""
    return r"\{" + ", ".join(map(plain, values)) + r"\}"


def bare_list(values: list[Fraction]) -> str:
    """As ``1, 2``; a comma between integers is followed by a space, so that it groups no thousands."""
    return ", ".join(map(plain, values))


surds = st.builds(
    lambda a, b, c: rf"{a}{b:+d}\sqrt{{{c}}}", SMALL, nonzero, st.sampled_from([2, 3, 5, 6, 7, 10, 11, 13])
)
expressions = st.builds(
    lambda head, a, b, name: head.format(a=a, b=f"{b:+d}", x=name),
    st.sampled_from(
        [r"\sin({a}{x}{b})", r"{a}{x}^2{b}", r"\frac{{{a}}}{{{x}{b}}}", r"\sqrt{{{x}^2{b}}}", r"{a}e^{{{x}}}{b}"]
    ),
    st.integers(2, 9),
    st.integers(2, 60),
    st.sampled_from("xyt"),
)


@st.composite
def answers(draw: Draw) -> str:
    """Any kind of answer that has no meaning beyond its text."""
    kind = draw(st.integers(0, 9))
    if kind <= 1:
        return str(draw(numbers()).text)
    if kind == 2:
        return tuple_of(draw(lists))
    if kind == 3:
        return set_of(draw(lists))
    if kind == 4:
        return bare_list(draw(lists))
    if kind == 5:
        return str(draw(intervals()).brackets)
    if kind == 6:
        return rf"{draw(SMALL)}\text{{ {draw(units)}}}"
    if kind == 7:
        return rf"\text{{{draw(words)}}}"
    if kind == 8:
        return str(draw(factored())[0])
    return str(draw(st.one_of(surds, expressions, line_equations().map(lambda abc: line(*abc)))))


# Wrapping and spacing --------------------------------------------------------------------------------------------

DRESSES = r"\text{{{}}} \textbf{{{}}} \mathrm{{{}}} \mbox{{{}}} {} {}. **{}**".split()
WRAPPERS = r"${}$ \({}\) \[{}\] $${}$$ \boxed{{{}}} $\boxed{{{}}}$ {}. {{{}}} **{}** `{}`".split()


@st.composite
def spaced(draw: Draw, text: str) -> str:
    """The same text with blanks around its operators, brackets and commas."""
    blank = draw(st.sampled_from([" ", "  ", r"\ ", r"\;", r"\quad ", "\u00a0"]))
    out = []
    for char in text:
        out.append(f"{blank}{char}{blank}" if char in "+=()" and draw(st.booleans()) else char)
    return "".join(out)


def with_left_right(text: str) -> str:
    r"""Brackets as ``\\left( … \\right)``."""
    if text[0] in "([" and text[-1] in ")]":
        return rf"\left{text[0]}{text[1:-1]}\right{text[-1]}"
    return text
