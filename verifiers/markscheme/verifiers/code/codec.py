"""Values that cross the wall of the jail: exact built-in types and a few of the standard library, in one encoding.

The jail encodes what a function returned; the parent reads it as hostile data. Lengths are checked before anything is
built, nesting and the number of values are capped, and no hash container is made of it: sets and dictionaries stay
sorted lists of encodings.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

MAX_DEPTH = 200
MAX_VALUES = 10_000_000
_MOST_STRANGE = 1 << 16  # bytes of text that holds lone surrogates, each of which takes 0.5 µs to decode
_SIZE = struct.Struct(">I")
_FLOAT = struct.Struct(">d")
_SINGLE = {b"N": None, b"T": True, b"F": False}


class NotPlain(ValueError):
    """A value that is not of an exact built-in type, or nested too deep."""


class Damaged(ValueError):
    """Bytes that are no encoding."""


class TooLong(ValueError):
    """A value whose encoding is longer than was allowed."""


def encode(value: Any, *, ordered: bool = False, most: int | None = None) -> bytes:
    """Encode a value of exact built-in types.

    Args:
        value: what to encode.
        ordered: keep dictionaries in their own order, as arguments need; else equal values have equal encodings.
        most: bytes that the encoding may take.

    Raises:
        NotPlain: a value of another type.
        TooLong: more than ``most`` bytes; told before much is built.
    """
    data = _encode(value, 0, ordered, [most if most is not None else 1 << 62])
    if most is not None and len(data) > most:
        raise TooLong(f"longer than {most} bytes")
    return data


def _encode(value: Any, depth: int, ordered: bool, left: list[int]) -> bytes:  # noqa: FBT001 - by position for speed
    if depth > MAX_DEPTH:
        raise NotPlain(f"nested more than {MAX_DEPTH} deep")
    left[0] -= 1
    if left[0] < 0:
        raise TooLong("longer than allowed")
    kind = type(value)
    if value is None:
        return b"N"
    if kind is bool:
        return b"T" if value else b"F"
    if kind is int:
        data: bytes = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
        return b"i" + _SIZE.pack(len(data)) + data
    if kind is float:
        return b"f" + _FLOAT.pack(value)
    if kind is complex:
        return b"c" + _FLOAT.pack(value.real) + _FLOAT.pack(value.imag)
    if kind is str:
        data = value.encode("utf-8", "surrogatepass")
        return b"s" + _SIZE.pack(len(data)) + data
    if kind is bytes or kind is bytearray:
        return (b"b" if kind is bytes else b"a") + _SIZE.pack(len(value)) + bytes(value)
    if kind is list or kind is tuple:
        items = [_encode(item, depth + 1, ordered, left) for item in value]
        return (b"l" if kind is list else b"t") + _SIZE.pack(len(items)) + b"".join(items)
    if kind is set or kind is frozenset:
        items = sorted(_encode(item, depth + 1, ordered, left) for item in value)
        return (b"S" if kind is set else b"Z") + _SIZE.pack(len(items)) + b"".join(items)
    if kind is dict:
        pairs = [
            (_encode(key, depth + 1, ordered, left), _encode(item, depth + 1, ordered, left))
            for key, item in value.items()
        ]
        if not ordered:
            pairs.sort()
        return b"d" + _SIZE.pack(len(pairs)) + b"".join(key + item for key, item in pairs)
    if kind in _KINDS:
        name, parts, _ = _KINDS[kind]
        return b"x" + _encode([name, *parts(value)], depth + 1, ordered, left)
    raise NotPlain(f"a value of type {kind.__name__}")


def _moment(value: datetime | time) -> list[Any]:
    if value.tzinfo is not None:
        raise NotPlain("a time with a time zone")
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    return [getattr(value, name) for name in names if hasattr(value, name)]


_KINDS: dict[type, tuple[str, Callable[[Any], list[Any]], Callable[..., Any]]] = {
    Fraction: ("Fraction", lambda value: [value.numerator, value.denominator], Fraction),
    Decimal: ("Decimal", lambda value: [str(value)], Decimal),
    date: ("date", lambda value: [value.year, value.month, value.day], date),
    datetime: ("datetime", _moment, datetime),
    time: ("time", _moment, time),
    timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds], timedelta),
}
"""Exact types of the standard library that cross too: name, parts, and how to make one."""
EXACT = tuple(_KINDS)
_MADE = {name: (text, make) for (name, _, make), text in zip(_KINDS.values(), [False, True] + 4 * [False], strict=True)}
_LONGEST_PART = 4096  # bytes of a number's part: a fraction is reduced when it is made


def count(value: Any) -> int:
    """The values that an encodable value holds, itself and each item of its containers counted."""
    total, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        total += 1
        if type(one) is dict:
            waiting += one
            waiting += one.values()
        elif type(one) in (list, tuple, set, frozenset):
            waiting += one
    return total


@dataclass(frozen=True, slots=True)
class Unordered:
    """A set ("S"), frozen set ("Z") or dictionary ("d") as its items, in the order of the encoding."""

    kind: str
    items: tuple[Any, ...]


class _Reader:
    def __init__(self, data: bytes, most: int) -> None:
        self.data = data
        self.at = 0
        self.left = most - 1
        self.strange = _MOST_STRANGE

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise Damaged("it ends too early")
        piece = self.data[self.at : self.at + size]
        self.at += size
        return piece

    def count(self, least: int) -> int:
        """A length; ``least`` bytes an item must still be there."""
        size = int(_SIZE.unpack(self.take(4))[0])
        if size * least > len(self.data) - self.at:
            raise Damaged("a length past the end")
        return size

    def items(self, count: int, depth: int) -> list[Any]:
        """So many values, if so many are still allowed: looked at before any is built. Those of one byte at once."""
        self.left -= count
        if self.left < 0 or (count and depth > MAX_DEPTH):
            raise Damaged("too deep or too many values")
        found = []
        for _ in range(count):
            at = self.at
            tag = self.data[at : at + 1]
            if tag in _SINGLE:
                self.at = at + 1
                found.append(_SINGLE[tag])
            else:
                found.append(self.value(depth))
        return found

    def text(self, data: bytes) -> str:
        """Text; with lone surrogates in it, only so much."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.strange -= len(data)
        try:
            if self.strange >= 0:
                return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            pass
        raise Damaged("text that is not UTF-8")

    def value(self, depth: int = 0) -> Any:
        tag = self.take(1)
        if tag in _SINGLE:
            return _SINGLE[tag]
        if tag == b"i":
            return int.from_bytes(self.take(self.count(1)), "big", signed=True)
        if tag == b"f":
            return _FLOAT.unpack(self.take(8))[0]
        if tag == b"c":
            return complex(_FLOAT.unpack(self.take(8))[0], _FLOAT.unpack(self.take(8))[0])
        if tag == b"s":
            return self.text(self.take(self.count(1)))
        if tag in (b"b", b"a"):
            data = self.take(self.count(1))
            return data if tag == b"b" else bytearray(data)
        if tag in (b"l", b"t"):
            items = self.items(self.count(1), depth + 1)
            return items if tag == b"l" else tuple(items)
        if tag in (b"S", b"Z"):
            return Unordered(tag.decode(), tuple(self.items(self.count(1), depth + 1)))
        if tag == b"d":
            flat = iter(self.items(2 * self.count(2), depth + 1))
            return Unordered("d", tuple(zip(flat, flat, strict=True)))
        if tag == b"x":
            return self.made(depth)
        raise Damaged("an unknown tag")

    def made(self, depth: int) -> Any:
        """A value of the standard library's exact types."""
        before = self.at
        self.left -= 1
        parts = self.value(depth + 1)
        if type(parts) is not list or not parts or self.at - before > _LONGEST_PART:
            raise Damaged("no parts of a value, or too long")
        name, *rest = parts
        text, make = _MADE.get(name, (False, None)) if type(name) is str else (False, None)
        if make is None or any(type(part) is not (str if text else int) for part in rest):
            raise Damaged("parts that make no value")
        try:
            return make(*rest)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise Damaged(f"parts that make no value: {error}") from error


def decode(data: bytes, most: int = MAX_VALUES) -> Any:
    """Decode hostile bytes: exact built-in values, sets and dictionaries as ``Unordered``.

    Args:
        data: an encoding, or what a program says is one.
        most: values that it may hold, each item of a container counted: time and memory are bounded by it, where bytes
            alone would let 16 MB of empty lists take seconds.

    Raises:
        Damaged: it is none, or holds more.
    """
    reader = _Reader(data, most)
    value = reader.value()
    if reader.at != len(data):
        raise Damaged("bytes after the end")
    return value


def rebuild(value: Any) -> Any:
    """Make real sets and dictionaries again: inside the jail only, for arguments that the parent encoded."""
    if isinstance(value, Unordered):
        if value.kind == "d":
            return {rebuild(key): rebuild(item) for key, item in value.items}
        items = (rebuild(item) for item in value.items)
        return set(items) if value.kind == "S" else frozenset(items)
    if type(value) is list:
        return [rebuild(item) for item in value]
    return tuple(rebuild(item) for item in value) if type(value) is tuple else value
