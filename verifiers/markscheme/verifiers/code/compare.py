"""Comparing what a program gave with what is expected: in the parent, on data that may mean harm.

Sizes are looked at before anything is split or built, nesting is capped by ``codec``, and no hash container is made of
a program's values: sets and dictionaries are compared as sorted keys.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.cases import CallCase
from markscheme.verifiers.code.codec import Unordered
from markscheme.verifiers.code.forms import Form, arranged, by_key

SLACK_BYTES = 1 << 16
"""An answer may be four times as long as what is expected, and this much more, before it is wrong unseen."""
SLACK_VALUES = 1 << 14
"""And four times as many values, with this many more."""
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")
_LONGEST_NUMBER = 400
_REAL = (int, float, Fraction, Decimal)

Text = Literal["tokens", "lines", "unordered_lines", "unordered_tokens"]


class Checker(BaseModel):
    """A program of the user's that says whether an output is right, where several are. It runs in a jail itself.

    It reads a JSON object from standard input, with the texts ``input``, ``expected`` and ``output`` (what the judged
    program wrote). Exit status 0 accepts; any other end rejects.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str = Field(min_length=1)
    """Python."""


class Comparator(BaseModel):
    """How answers are compared. As it stands: every token of an output, and Python's ``==`` on results."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Text = "tokens"
    """What of an output must agree: its tokens between white space; its lines (white space at their ends and empty
    lines at the end apart); lines or tokens in any order."""
    abs_tol: float = Field(default=0.0, ge=0, lt=math.inf)
    """Numbers with a fraction or exponent, of outputs and results, may differ by this; 0: not at all."""
    rel_tol: float = Field(default=0.0, ge=0, lt=1)
    """Or by this share of the greater one."""
    tuples_as_lists: bool = False
    """A tuple equals a list of the same items."""
    unordered: bool = False
    """A list equals one of the same items in another order, at the outermost level."""
    checker: Checker | None = None
    """Judges outputs in place of ``text``."""

    @model_validator(mode="after")
    def _sense(self) -> Self:
        if self.text.startswith("unordered") and self.tolerant:
            raise ValueError("a tolerance of floats needs an order: text='tokens' or 'lines'")
        return self

    @property
    def tolerant(self) -> bool:
        """Whether floats may differ."""
        return self.abs_tol > 0 or self.rel_tol > 0

    def same_text(self, expected: str, output: bytes) -> bool:
        """Whether an output is right."""
        wanted = expected.encode("utf-8", "surrogatepass")
        if len(output) > most_bytes(len(wanted)):
            return False
        if self.text in ("lines", "unordered_lines"):
            ours, theirs = _lines(wanted), _lines(output)
            if self.text == "unordered_lines":
                return sorted(ours) == sorted(theirs)
            return len(ours) == len(theirs) and all(
                one == other or (self.tolerant and self._same_tokens(one, other))
                for one, other in zip(ours, theirs, strict=True)
            )
        if self.text == "unordered_tokens":
            return sorted(wanted.split()) == sorted(output.split())
        return self._same_tokens(wanted, output)

    def _same_tokens(self, wanted: bytes, output: bytes) -> bool:
        ours, theirs = wanted.split(), output.split()
        if ours == theirs:
            return True
        if not self.tolerant or len(ours) != len(theirs):
            return False
        return all(one == other or self._close_tokens(one, other) for one, other in zip(ours, theirs, strict=True))

    def _close_tokens(self, one: bytes, other: bytes) -> bool:
        if max(len(one), len(other)) > _LONGEST_NUMBER or not (_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)):
            return False
        if one.lstrip(b"+-").isdigit() and other.lstrip(b"+-").isdigit():
            return int(one) == int(other)
        return self.close(float(one), float(other))

    def close(self, one: float, other: float) -> bool:
        """Whether two finite floats are within the tolerance."""
        return (
            math.isfinite(one)
            and math.isfinite(other)
            and abs(one - other) <= max(self.abs_tol, self.rel_tol * max(abs(one), abs(other)))
        )

    # Values -----------------------------------------------------------------------------------------------------

    def same_value(self, expected: Any, value: Any, *, tuples_as_lists: bool = False) -> bool:
        """Whether a decoded value equals an expected one. NaN equals nothing.

        Args:
            expected: a value of exact built-in types.
            value: what ``codec.decode`` gave.
            tuples_as_lists: as in the settings, for this pair.
        """
        ours = codec.decode(codec.encode(expected), 1 << 62)
        form = Form(tuples_as_lists or self.tuples_as_lists)
        if self.unordered and isinstance(ours, list | tuple) and isinstance(value, list | tuple):
            if len(ours) != len(value) or not (form.loose or type(ours) is type(value)):
                return False
            ours, value = arranged(list(ours), form), arranged(list(value), form)
        one, other = form.key(ours), form.key(value)
        if one is not None and one == other:
            return True
        return self.tolerant and self._near(ours, value, form)

    def _near(self, ours: Any, value: Any, form: Form) -> bool:
        """Equal but for floats within the tolerance."""
        if isinstance(ours, Unordered) and isinstance(value, Unordered):
            if (ours.kind == "d") != (value.kind == "d") or len(ours.items) != len(value.items):
                return False
            if ours.kind == "d":
                pairs = zip(by_key(ours, form), by_key(value, form), strict=True)
                return all(a.key == b.key and self._near(a.value, b.value, form) for a, b in pairs)
            mine_items, their_items = arranged(list(ours.items), form), arranged(list(value.items), form)
            return all(self._near(a, b, form) for a, b in zip(mine_items, their_items, strict=True))
        if isinstance(ours, list | tuple) and isinstance(value, list | tuple):
            if len(ours) != len(value) or not (form.loose or type(ours) is type(value)):
                return False
            return all(self._near(a, b, form) for a, b in zip(ours, value, strict=True))
        if type(ours) in _REAL and type(value) in _REAL and (type(ours), type(value)) != (int, int):
            try:
                return self.close(float(ours), float(value))
            except (OverflowError, ValueError):  # a signalling NaN
                return False
        key = form.key(ours)
        return key is not None and key == form.key(value)

    def holds(self, case: CallCase, value: Any) -> bool:
        """Whether a decoded result stands to a case's expected value as it must."""
        loose = case.tuples_as_lists
        match case.relation:
            case "==":
                return self.same_value(case.expected, value, tuples_as_lists=loose)
            case "!=":
                return not self.same_value(case.expected, value, tuples_as_lists=loose)
            case "in":
                return any(self.same_value(one, value, tuples_as_lists=loose) for one in case.expected)
            case "is":
                return value is case.expected
            case "close":
                return _within(case, value)
        truth = bool(value.items) if isinstance(value, Unordered) else bool(value)
        return truth is (case.relation == "true")


def most_bytes(expected: int) -> int:
    """How long an answer may be before it is wrong unseen."""
    return 4 * expected + SLACK_BYTES


def most_values(case: CallCase) -> int:
    """How many values an answer may hold before it is wrong unseen: a multiple of what is expected."""
    return 4 * codec.count(case.expected) + SLACK_VALUES


def _within(case: CallCase, value: Any) -> bool:
    if type(value) not in (*_REAL, bool):
        return False
    try:
        one, other = float(case.expected), float(value)
    except (OverflowError, ValueError):  # a signalling NaN
        return False
    absolute, relative = case.tolerance
    if relative or not case.strict:
        return math.isclose(one, other, rel_tol=relative, abs_tol=absolute)
    return abs(one - other) < absolute


def _lines(text: bytes) -> list[bytes]:
    lines = [line.rstrip() for line in text.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
