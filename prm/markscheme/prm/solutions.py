"""Unlabelled solutions from a file: what a judge is asked to score."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from markscheme.prm.judging import Solution
from markscheme.prm.load import SkippedRowsWarning
from markscheme.prm.segment import StepSplitter
from markscheme.verifiers.errors import DataError, StepDataError
from markscheme.verifiers.jsonl import Row, read_rows

_PROBLEMS = ("problem", "prompt", "question")
_STEPS = ("steps", "completions")
_TEXTS = ("completion", "response", "solution", "prediction")
_KEYS = ("id", "index")


def read_solutions(
    path: Path | str, splitter: StepSplitter | str = "\n\n", *, on_bad: Literal["error", "skip"] = "error"
) -> list[Solution]:
    """Read solutions from a JSON Lines file.

    A row has a ``problem`` (or ``prompt``, ``question``: a text, or messages of which the user's last counts), and
    ``steps`` (or ``completions``: a list of texts) or a ``completion`` (or ``response``, ``solution``, ``prediction``)
    that the splitter parts. ``id`` or ``index`` names it in the scores.

    Args:
        path: the file.
        splitter: finds the steps of solutions that are one text.
        on_bad: what to do with rows that cannot be used: ``error`` raises once for all of them, ``skip`` leaves them
            out and shows them in a SkippedRowsWarning.

    Raises:
        StepDataError: rows that have no problem, no steps, or a blank one; it lists every one.
        DataError: the file is no JSON Lines file.
        OSError: the file cannot be read.
    """
    finder = StepSplitter(splitter) if isinstance(splitter, str) else splitter
    found: list[Solution] = []
    bad = []
    for row in read_rows(Path(path)):
        try:
            found.append(solution_of(row, finder))
        except DataError as error:
            bad.append((row.number, str(row.fields.get("id", "")), str(error)))
    if bad and (on_bad == "error" or not found):
        raise StepDataError(bad, str(path))
    if bad:
        shown = "; ".join(f"row {row}: {why}" for row, _, why in bad[:5])
        left = f"{path}: left out {len(bad)} of {len(bad) + len(found)} rows: {shown}{' …' if len(bad) > 5 else ''}"
        warnings.warn(left, SkippedRowsWarning, stacklevel=2)
    return found


def solution_of(row: Row, finder: StepSplitter) -> Solution:
    """Read one row. Raises DataError, without the row's number, where it has no problem or no steps."""
    steps = _steps(row, finder)
    keys = {name: value for name in _KEYS if isinstance(value := row.fields.get(name), str | int)}
    return Solution(row.number, _problem(row), steps, keys)


def _problem(row: Row) -> str:
    given = next((row.fields[name] for name in _PROBLEMS if row.fields.get(name)), None)
    if isinstance(given, list):
        asked = [one for one in given if isinstance(one, Mapping) and one.get("role") == "user"]
        given = asked[-1].get("content") if asked else None
    if not isinstance(given, str) or not given.strip():
        raise DataError(f"no problem: looked for {', '.join(_PROBLEMS)}")
    return given


def _steps(row: Row, splitter: StepSplitter) -> tuple[str, ...]:
    listed: Any = next((row.fields[name] for name in _STEPS if name in row.fields), None)
    if isinstance(listed, list):
        wrong = next((place for place, one in enumerate(listed) if not isinstance(one, str) or not one.strip()), None)
        if wrong is not None:
            raise DataError(f"step {wrong}: expected a text that is not blank, found {listed[wrong]!r:.40}")
        steps = tuple(listed)
    else:
        text: Any = next((row.fields[name] for name in _TEXTS if name in row.fields), None)
        if not isinstance(text, str):
            raise DataError(f"no steps: looked for {', '.join((*_STEPS, *_TEXTS))}")
        steps = tuple(splitter.split(text))
    if not steps:
        raise DataError("the solution has no steps")
    return steps
