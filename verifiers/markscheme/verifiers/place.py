"""The place in a completion where an answer was found."""

from __future__ import annotations

from dataclasses import dataclass


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
