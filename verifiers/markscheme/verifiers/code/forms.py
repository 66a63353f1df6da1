"""Texts of values that agree exactly where Python's ``==`` does: nothing of a program's is hashed or compared."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from markscheme.verifiers.code.codec import Unordered

_LONGEST_EXPONENT = 400  # floats have no longer one


class Keyed(NamedTuple):
    """An item of a dictionary by its key's text."""

    key: bytes
    value: Any


def by_key(mapping: Unordered, form: Form) -> list[Keyed]:
    """A dictionary's items in the order of their keys' texts."""
    keyed = [Keyed(form.text(key), item) for key, item in mapping.items]
    keyed.sort(key=lambda one: one.key)
    return keyed


def arranged(items: list[Any], form: Form) -> list[Any]:
    """Items in an order of their own: numbers by value, others by their keys."""
    if all(type(item) in (int, float, bool) for item in items):
        return sorted(items)
    return sorted(items, key=form.text)


class Form:
    """Texts of values that agree exactly where Python's ``==`` does; None where a NaN is inside."""

    def __init__(self, loose: bool) -> None:  # noqa: FBT001 - one field
        self.loose = loose
        self.nan = False

    def key(self, value: Any) -> bytes | None:
        """The text of a decoded value; None where a NaN is inside."""
        self.nan = False
        text = self.text(value)
        return None if self.nan else text

    def text(self, value: Any) -> bytes:
        """The text; ``nan`` is set where a NaN is inside."""
        kind = type(value)
        if value is None:
            return b"N"
        if kind in (bool, int, float, complex, Fraction, Decimal):
            return self._number(value)
        if kind is str:
            return _sized(b"s", value.encode("utf-8", "surrogatepass"))
        if kind in (bytes, bytearray):
            return _sized(b"b", bytes(value))
        if kind in (list, tuple):
            tag = b"l" if kind is list or self.loose else b"t"
            return _sized(tag, b"".join([self.text(item) for item in value]))
        if type(value) is not Unordered:
            return _sized(b"x", kind.__name__.encode() + repr(value).encode())
        if value.kind == "d":
            pairs = sorted(self.text(key) + self.text(item) for key, item in value.items)
            return _sized(b"d", b"".join(pairs))
        return _sized(b"S", b"".join(sorted([self.text(item) for item in value.items])))

    def _number(self, value: complex | Fraction | Decimal) -> bytes:
        if isinstance(value, Decimal):
            value = _of_decimal(value)
        if isinstance(value, Decimal):
            return _sized(b"D", _digits(value))
        if isinstance(value, Fraction):
            if value.denominator != 1:
                return self._fraction(value)
            value = value.numerator
        if isinstance(value, complex):
            if value.imag:
                return b"c" + self._number(value.real) + self._number(value.imag)
            value = value.real
        if isinstance(value, float):
            self.nan = self.nan or math.isnan(value)
            if not value.is_integer():
                return b"f" + struct.pack(">d", value)
            value = int(value)
        whole = int(value.real)
        return _sized(b"i", whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True))

    def _fraction(self, value: Fraction) -> bytes:
        """As the float that it equals, should there be one."""
        try:
            near = float(value)
        except OverflowError:
            near = math.inf
        if math.isfinite(near) and Fraction(near) == value:
            return b"f" + struct.pack(">d", near)
        whole, below = self._number(value.numerator), self._number(value.denominator)
        return _sized(b"q", whole + below)


def _of_decimal(value: Decimal) -> float | Fraction | Decimal:
    """The number that a decimal is; itself where that would be far longer than it."""
    if not value.is_finite():
        return math.nan if value.is_nan() else -math.inf if value.is_signed() else math.inf
    if value.is_zero():
        return 0.0
    return value if abs(int(value.as_tuple().exponent)) > _LONGEST_EXPONENT else Fraction(value)


def _digits(value: Decimal) -> bytes:
    """A finite decimal without zeros at its end: its own arithmetic would round and overflow."""
    sign, digits, exponent = value.as_tuple()
    kept = bytes(digits).rstrip(b"\0")
    return b"%d %s %d" % (sign, kept, int(exponent) + len(digits) - len(kept))


def _sized(tag: bytes, data: bytes) -> bytes:
    return tag + len(data).to_bytes(8, "big") + data
