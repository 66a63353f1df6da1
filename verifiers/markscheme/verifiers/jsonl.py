"""JSON Lines: one object a line, read strictly, with errors that name the file, the line and the column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from markscheme.verifiers.errors import DataError

GOLD_FIELDS = ("gold", "answer", "reference")
"""Where a row's gold answer is looked for; the first that is there counts."""
COMPLETION_FIELDS = ("prediction", "completion", "response")
"""Where a row's completion is looked for; the first that is there counts."""

ANSWERED = '{"gold": "18", "completion": "… \\\\boxed{18}"}'
"""A row to grade, as messages show it."""
MAX_INT_DIGITS = 4000
"""Python refuses to turn longer texts into an ``int``; such a number is kept as an exact ``Decimal``."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file.

    Attributes:
        path: the file.
        number: the row, counted from 0; blank lines are not rows.
        line: the line, counted from 1.
        fields: the object. Numbers with a fraction are ``Decimal``, so that their digits stay as written.
    """

    path: Path
    number: int
    line: int
    fields: dict[str, Any]

    @property
    def where(self) -> str:
        """The file and the line, as errors name them."""
        return f"{self.path}, line {self.line}"

    def text(self, names: Sequence[str], what: str) -> str:
        """Return the first of the fields ``names`` as text; a number is taken as it is written.

        Raises:
            DataError: none of the fields is there, or its value is neither a string nor a number.
        """
        name = next((name for name in names if name in self.fields), None)
        if name is None:
            found = _listed(self.fields) or "no fields"
            raise DataError(f"{self.where}: no {what}: looked for {_listed(names)}; the row has {found}")
        return as_text(self.fields[name], f"{self.where}: {name!r}")

    def optional_text(self, name: str) -> str:
        """Return a field as text, or "" where it is missing or null. Raises DataError as `text` does."""
        if self.fields.get(name) is None:
            return ""
        return self.text((name,), name)

    def identity(self) -> str | int | None:
        """Return the row's ``id``, or None. Raises DataError when it is neither a string nor a number."""
        value = self.fields.get("id")
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        return as_text(value, f"{self.where}: 'id'")


def as_text(value: object, where: str) -> str:
    """Return a string as it is and a number as written; a lone surrogate, which no file can hold, becomes U+FFFD.

    Raises:
        DataError: ``value`` is something else; the message begins with ``where``.
    """
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"{where}: expected a string or a number, found {kind(value)}")


def kind(value: object) -> str:
    """Name the JSON type of ``value``, as messages do."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return "a string"
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a number"


def read_rows(path: Path, example: str = "") -> Iterator[Row]:
    """Read the rows of a file, one at a time: what stands before a bad line has been yielded when it raises.

    Args:
        path: the file.
        example: a row as it should be, for messages.

    Raises:
        DataError: the file is empty, or a line is not UTF-8, holds a NUL byte, is not JSON or is not an object.
        OSError: the file cannot be opened or read.
    """
    expected = "expected one JSON object a line" + (f", such as {example}" if example else "")
    number = offset = 0
    with path.open("rb") as file:
        for line, raw in enumerate(file, 1):
            content = raw.removeprefix(b"\xef\xbb\xbf") if line == 1 else raw
            text = _decode(content, f"{path}, line {line}", offset + len(raw) - len(content), expected)
            offset += len(raw)
            if text.strip():
                yield Row(path, number, line, _parse(text.rstrip("\r\n"), path, line, expected))
                number += 1
    if number == 0:
        raise DataError(f"{path}: the file is empty: {expected}")


def _decode(raw: bytes, where: str, offset: int, expected: str) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start
        raise DataError(
            f"{where}: not UTF-8: byte 0x{raw[at]:02x} at byte offset {offset + at} of the file; save the file as UTF-8"
        ) from None
    if "\0" in text:
        raise DataError(f"{where}: a NUL byte at byte offset {offset + raw.index(0)} of the file; {expected}")
    return text


def _parse(text: str, path: Path, line: int, expected: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_float=Decimal, parse_int=_integer, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {line}, column {error.colno}: {error.msg}; {expected}") from None
    except RecursionError:
        raise DataError(f"{path}, line {line}, column 1: nested too deeply; {expected}") from None
    except _NotJsonError as error:
        column = text.find(str(error)) + 1
        raise DataError(f"{path}, line {line}, column {column}: {error} is not JSON; write it as a string") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}, line {line}, column 1: found {kind(value)}; {expected}")
    return value


class _NotJsonError(Exception):
    """NaN or an infinity, which Python's reader would let through."""


def _no_constant(name: str) -> NoReturn:
    raise _NotJsonError(name)


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= MAX_INT_DIGITS else Decimal(text)


def _listed(names: Sequence[str] | dict[str, Any]) -> str:
    shown = [f'"{name[:40]}"' for name in list(names)[:12]]
    return ", ".join([*shown, "…"] if len(names) > len(shown) else shown)
