"""What a labeler is given: solutions, and the gold answers that rollouts are checked against."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from markscheme.prm.load import SkippedRowsWarning
from markscheme.prm.segment import StepSplitter
from markscheme.prm.solutions import solution_of
from markscheme.verifiers.errors import DataError, StepDataError
from markscheme.verifiers.golds import read_gold
from markscheme.verifiers.jsonl import Row, read_rows

GOLDS = ("gold", "ground_truth", "answer", "reference")
"""Where a row's gold answer is looked for; the first that is there counts."""


@dataclass(frozen=True, slots=True)
class LabelTask:
    """One solution to label.

    Attributes:
        row: its number, from 0.
        problem: the problem's text.
        steps: its steps, none of them blank.
        gold: the problem's gold answer; "" where it is not known.
        keys: what its row of a file of labels names it by.
    """

    row: int
    problem: str
    steps: tuple[str, ...]
    gold: str = ""
    keys: Mapping[str, str | int] = field(default_factory=dict)


def read_tasks(
    path: Path | str,
    splitter: StepSplitter | str = "\n\n",
    *,
    need_gold: bool = False,
    on_bad: Literal["error", "skip"] = "error",
) -> list[LabelTask]:
    """Read solutions to label from a JSON Lines file.

    Rows are as `read_solutions` takes them, with the problem's answer in ``gold`` (or ``ground_truth``, ``answer``,
    ``reference``): a bare answer, a boxed solution, or a GSM8K rationale.

    Args:
        path: the file.
        splitter: finds the steps of solutions that are one text.
        need_gold: whether every row must have a gold answer that can be read.
        on_bad: what to do with rows that cannot be used: ``error`` raises once for all of them, ``skip`` leaves them
            out and shows them in a SkippedRowsWarning.

    Raises:
        StepDataError: rows without problem, steps or, where it is needed, a readable gold answer; it lists every one.
        DataError: the file is no JSON Lines file.
        OSError: the file cannot be read.
    """
    finder = StepSplitter(splitter) if isinstance(splitter, str) else splitter
    tasks: list[LabelTask] = []
    bad: list[tuple[int, str, str]] = []
    for row in read_rows(Path(path)):
        try:
            one = solution_of(row, finder)
            gold = _gold(row, need=need_gold)
        except (DataError, ValueError) as error:
            bad.append((row.number, str(row.fields.get("id", "")), str(error).removeprefix(f"{row.where}: ")))
            continue
        tasks.append(LabelTask(one.row, one.problem, one.steps, gold, one.keys))
    if bad and (on_bad == "error" or not tasks):
        raise StepDataError(bad, str(path))
    if bad:
        shown = "; ".join(f"row {row}: {why}" for row, _, why in bad[:5])
        left = f"{path}: left out {len(bad)} of {len(bad) + len(tasks)} rows: {shown}{' …' if len(bad) > 5 else ''}"
        warnings.warn(left, SkippedRowsWarning, stacklevel=2)
    return tasks


def _gold(row: Row, *, need: bool) -> str:
    if not need and all(row.fields.get(name) is None for name in GOLDS):
        return ""
    text = row.text(GOLDS, "gold answer")
    if need:
        read_gold(text)  # one that cannot be read fails here, with its row, and not after hours of rollouts
    return text
