"""Labeling many solutions: in chunks, resumably."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from markscheme.prm.labels.result import Labeler, StepLabels
from markscheme.prm.labels.tasks import LabelTask
from markscheme.verifiers.errors import DataError

CHUNK = 32
"""Solutions that go to a labeler at once: enough to batch rollouts, few enough that a stopped run loses little."""


def label_many(
    labeler: Labeler, tasks: Sequence[LabelTask], *, done: Collection[int] = (), chunk: int = CHUNK
) -> Iterator[tuple[LabelTask, StepLabels]]:
    """Yield each solution with its labels, in order, as soon as they are there.

    Chunks are cut from all tasks, whatever is done already: a run that was stopped asks for what an unbroken one would
    have asked for, and draws the same with a generator that is seeded by its prompts.

    Args:
        labeler: labels them.
        tasks: all solutions.
        done: rows that an earlier run labelled; they are not yielded.
        chunk: solutions that go to the labeler at once.

    Raises:
        DataError: the labeler gives another number of results than it was given solutions; and as the labeler does.
            What was yielded before is whole.
    """
    for start in range(0, len(tasks), chunk):
        part = tasks[start : start + chunk]
        if all(task.row in done for task in part):
            continue
        found = labeler.label(part)
        if len(found) != len(part):
            raise DataError(f"the labeler was given {len(part)} solutions and gave {len(found)} results")
        yield from ((task, labels) for task, labels in zip(part, found, strict=True) if task.row not in done)
