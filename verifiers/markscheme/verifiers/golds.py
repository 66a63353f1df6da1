"""Gold answers: read once, when the data set is loaded; the unreadable ones are all listed then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from markscheme.verifiers.errors import GoldError
from markscheme.verifiers.reading import read_answer

GoldReading = Literal["auto", "bare", "boxed", "gsm8k"]


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold answer: its row, the text it came in, and the answer in it."""

    row: int
    text: str
    answer: str


def read_gold(text: str, reading: GoldReading = "auto") -> str:
    """Return the answer in a gold column's text. Raises ValueError where there is none."""
    del reading
    found = read_answer(text)
    return found.text if found.text is not None else text


def load_golds(
    golds: Iterable[object], *, reading: GoldReading = "auto", on_bad: Literal["error", "skip"] = "error"
) -> list[Gold]:
    """Read a whole gold column. Raises GoldError that lists every unreadable row, or skips those with a warning."""
    good, bad = [], []
    for row, text in enumerate(golds):
        try:
            good.append(Gold(row, str(text), read_gold(str(text), reading)))
        except ValueError as error:
            bad.append((row, str(text), str(error)))
    if bad and on_bad == "error":
        raise GoldError(bad)
    return good
