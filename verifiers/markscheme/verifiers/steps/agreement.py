"""When the two sides of a relation agree: exactly, or to the digits that are written.

A decimal states its value to its last digit: 100/3 = 33.33 is how the quotient is written with two places. An integer
states that nothing is left over: 100/3 = 33 does not agree where nothing says that it is rounded. A number of twelve
digits or more is a machine's, and agrees when it is off by the last places of double precision only.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from markscheme.verifiers.steps.runs import Item
from markscheme.verifiers.steps.values import Reading, Value, factor_of

About = Literal["", "about", "rounded"]
_MACHINE_DIGITS = 12
_MACHINE = Fraction(1, 10**13)  # of the largest number in sight
_ROUGHLY = Fraction(1, 100)  # of the value, where the text says "about"


class Agreement(StrEnum):
    """How two sides agree."""

    EXACT = "exact"
    ROUNDED = "rounded"
    """To the digits that are written, or within what "about" allows."""
    CUT = "cut"
    """Less than one unit of the last written digit apart, and not rounded: truncated, or a rounded whole number."""
    NONE = "none"


class Written:
    """A side that is one written number: its value and what its last digit is worth."""

    __slots__ = ("digits", "places", "unit", "value")

    def __init__(self, items: list[Item], value: Fraction, reading: Reading) -> None:
        number = next(item for item in items if item.kind == "num")
        percent = any(item.kind == "percent" for item in items) and reading.percent != "number"
        self.value = value
        self.places = number.places
        self.unit: Fraction = factor_of(number, reading) / 10**number.places / (100 if percent else 1)
        self.digits = len(number.text.replace(".", "").lstrip("0"))

    def rough_unit(self) -> Fraction:
        """What the last digit before trailing zeros is worth: "about 300" is said to the hundred."""
        if self.places or not self.value:
            return self.unit
        unit, whole = self.unit, abs(self.value / self.unit)
        while whole % 10 == 0 and whole >= 100:
            whole /= 10
            unit *= 10
        return unit


def agree(
    one: Value, other: Value, number: Written | None, *, about: About, shown: bool, seen: Sequence[Fraction]
) -> Agreement:
    """How two values agree.

    Args:
        one: a value.
        other: a value; the one that ``number`` is, if it is given.
        number: where ``other`` is one written number.
        about: the relation says "about", or the words beside it say that a value is rounded.
        shown: ``other`` only shows what stands exactly before it.
        seen: the numbers in sight, of which the largest bounds the error of machine arithmetic.
    """
    if one.exact is None or other.exact is None:
        return _rough(one, other, number, about=about)
    gap = abs(one.exact - other.exact)
    if not gap:
        return Agreement.EXACT
    if number is None:
        close = about and gap <= _ROUGHLY * abs(one.exact)
        return Agreement.ROUNDED if close else Agreement.NONE
    if number.digits >= _MACHINE_DIGITS and gap <= _MACHINE * max(abs(value) for value in (one.exact, *seen)):
        return Agreement.EXACT
    if _rounded(gap, abs(one.exact), number, about) or (shown and gap < number.unit):
        return Agreement.ROUNDED
    between = number.places or (one.exact / number.unit).denominator != 1
    return Agreement.CUT if gap < number.unit and between else Agreement.NONE


def _rounded(gap: Fraction, size: Fraction, number: Written, about: About) -> bool:
    """Whether a number that is ``gap`` off a value of that size is the value to the digits that are written."""
    if number.places and 2 * gap <= number.unit:
        return True
    if about == "rounded":
        return gap < number.rough_unit()
    if about == "about":
        cut = number.places and gap < number.unit and abs(number.value) < size
        return bool(cut) or 2 * gap <= number.rough_unit() or gap <= _ROUGHLY * size
    return False


def _rough(one: Value, other: Value, number: Written | None, *, about: About) -> Agreement:
    """The same where a side is irrational: its double-precision value and a bound on its error."""
    (a, da), (b, db) = _float(one), _float(other)
    gap, error = Fraction(abs(a - b)), Fraction(da + db)
    near = max(gap - error, Fraction(0))
    if number is None:
        limit = _ROUGHLY * Fraction(abs(a)) if about else 3 * error
        return Agreement.ROUNDED if near <= limit else Agreement.NONE  # shown equal to double precision only
    if _rounded(near, Fraction(abs(a)), number, about):
        return Agreement.ROUNDED
    return Agreement.CUT if near < number.unit else Agreement.NONE


def _float(value: Value) -> tuple[float, float]:
    if value.rough is not None:
        return value.rough
    assert value.exact is not None  # noqa: S101 - for the type checker
    return float(value.exact), abs(float(value.exact)) * 2.0**-50
