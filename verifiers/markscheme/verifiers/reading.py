"""Where a completion states its answer: the reading contracts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Reading = Literal["auto", "boxed", "gsm8k", "answer_line", "tag", "last_number"]


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The place where an answer was found.

    Attributes:
        text: the answer as written, or None when the completion states none.
        reading: the contract that found it.
        span: its place in the completion, ``[start, end)`` in characters.
        why: when ``text`` is None, why ("no answer found", "the last box is cut off" …).
        cut_off: the completion ends inside the place that would hold the answer.
    """

    text: str | None
    reading: str
    span: tuple[int, int] | None = None
    why: str = ""
    cut_off: bool = False


def read_answer(completion: str, reading: Reading = "auto", *, thinking: bool = False) -> ReadAnswer:
    """Find where ``completion`` states its answer."""
    del thinking
    match = None
    for match in re.finditer(r"\\boxed\{([^{}]*)\}|#### *(\S+)", completion):
        pass
    if match is None:
        return ReadAnswer(None, reading, why="no answer found")
    group = 1 if match.group(1) is not None else 2
    return ReadAnswer(match.group(group), "boxed" if group == 1 else "gsm8k", match.span(group))
