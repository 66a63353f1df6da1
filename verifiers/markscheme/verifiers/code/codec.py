"""Values that cross the wall of the jail: exact built-in types, in one canonical encoding.

The jail encodes what a function returned; the parent reads it as hostile data. Lengths are checked before anything is
built, nesting is capped, and no hash container is made of it: sets and dictionaries stay sorted lists of encodings.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 200
MAX_NODES = 2_000_000
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
    raise NotPlain(f"a value of type {kind.__name__}")


@dataclass(frozen=True, slots=True)
class Unordered:
    """A set ("S"), frozen set ("Z") or dictionary ("d") as its items, in the order of the encoding."""

    kind: str
    items: tuple[Any, ...]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.nodes = 0

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
        """So many values; those of one byte at once."""
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

    def value(self, depth: int = 0) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise Damaged("too deep or too many values")
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
            try:
                return self.take(self.count(1)).decode("utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                raise Damaged("text that is not UTF-8") from error
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
        raise Damaged("an unknown tag")


def decode(data: bytes) -> Any:
    """Decode hostile bytes: exact built-in values, sets and dictionaries as ``Unordered``. Raises Damaged."""
    reader = _Reader(data)
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
