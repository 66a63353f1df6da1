"""Gold answers: read once, when the data set is loaded; the unreadable ones are all listed then."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markscheme.verifiers.boxes import last_answer
from markscheme.verifiers.errors import GoldError
from markscheme.verifiers.math.answers import parse_answer
from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.nodes import Text
from markscheme.verifiers.math.notation import strip_blanks
from markscheme.verifiers.reading import read_answer

GoldReading = Literal["auto", "bare", "boxed", "gsm8k"]


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold answer: its row, the text it came in, and the answer in it."""

    row: int
    text: str
    answer: str


@lru_cache(maxsize=4096)
def read_gold(text: str, reading: GoldReading = "auto") -> str:
    r"""Return the answer in a gold column's text.

    ``auto`` reads a GSM8K rationale with ``#### 18``, a solution with ``\boxed{18}`` and a bare ``18``; prose that
    ends by stating its answer is read as a completion is.

    Raises:
        ValueError: no answer can be read; the message says why.
    """
    if reading in ("auto", "gsm8k") and "####" in text:
        found = read_answer(text, "gsm8k")
        if found.text is None:
            raise ValueError(found.why)
        return _checked(found.text)
    if reading == "gsm8k":
        raise ValueError('no "####" in it')
    answer, span, why = last_answer(text) if reading != "bare" else (None, None, "")
    if answer is not None:
        return _checked(answer)
    if reading == "boxed" or span is not None:
        raise ValueError(why or "no box in it")
    if reading == "auto" and (len(text) > 60 or re.search(r"[a-z]{3,}.*[.!?]\s", text)) and _is_prose(text):
        stated = read_answer(text, "auto").text
        if stated is not None:
            return _checked(stated)
    return _checked(text)


def _is_prose(text: str) -> bool:
    try:
        node = parse_answer(text).node
    except TooLarge:
        return True
    return node is None or isinstance(node, Text)


def _checked(answer: str) -> str:
    """The answer, when it can be read as mathematics or as words."""
    if not answer.strip():
        raise ValueError("it is empty")
    try:
        parsed = parse_answer(answer)
    except TooLarge as error:
        raise ValueError(str(error)) from None
    if parsed.node is None and not parsed.calculus and not re.search(r"[^\W\d_]{2,}", parsed.words):
        raise ValueError(parsed.why)
    if (parsed.node is None or isinstance(parsed.node, Text)) and (fault := _unmatched(answer)):
        raise ValueError(fault)
    return strip_blanks(answer)


def _unmatched(answer: str) -> str:
    r"""Say what LaTeX opens without closing it; "" where nothing is. A cut-off ``\frac{1`` would pass for words."""
    tokens = Counter(re.findall(r"\\[A-Za-z]+|\\.|[{}]", answer, re.DOTALL)) if "\\" in answer else Counter()
    for opening, closing in (("{", "}"), (r"\begin", r"\end"), (r"\left", r"\right")):
        if (opened := tokens[opening]) != (closed := tokens[closing]):
            return f"{opened} {opening} and {closed} {closing} in it: it is cut off or mistyped"
    return ""


def load_golds(
    golds: Iterable[object], *, reading: GoldReading = "auto", on_bad: Literal["error", "skip"] = "error"
) -> list[Gold]:
    """Read a whole gold column, a row a value. Numbers are taken as they print.

    Args:
        golds: the values of the column.
        reading: how a gold states its answer; see ``read_gold``.
        on_bad: ``error`` raises one GoldError that lists every unreadable row; ``skip`` leaves them out with a warning
            that lists them, and the ``row`` of each Gold tells which are left.

    Raises:
        GoldError: rows cannot be read.
    """
    good: list[Gold] = []
    bad: list[tuple[int, str, str]] = []
    for row, value in enumerate(golds):
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            bad.append((row, repr(value), f"expected a string or a number, found {type(value).__name__}"))
            continue
        text = str(value)
        try:
            good.append(Gold(row, text, read_gold(text, reading)))
        except ValueError as error:
            bad.append((row, text, str(error)))
    if bad and on_bad == "error":
        raise GoldError(bad)
    if bad:
        warnings.warn(f"left out {len(bad)} row(s):\n{GoldError(bad, fix='')}", stacklevel=2)
    return good
