"""Shards of an output file: each is written whole or not at all; together they become it, in the input's order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

from markscheme.verifiers.records import Judged, drop_cut_off_line, line_of, read_lines, shard_folder

V = TypeVar("V", bound=BaseModel)
J = TypeVar("J", bound=Judged)


class Shards(Generic[V]):
    """The shards of one output file, in the folder ``OUT.shards`` beside it.

    Names hold the first and the last row, so that shards of another size, or of what a run in one process left over,
    never meet under one name.

    Args:
        out: the file that they become; it may hold verdicts of an earlier run, of either kind.
        digests: of all that the run is to judge, by row.
        kind: the verdicts.
        fresh: start over even where there are verdicts.
        noun: what messages call one.

    Attributes:
        done: the verdicts that earlier runs left, by row, and those that `write` took.

    Raises:
        DataError: a file holds something else, or verdicts on other rows or by other settings.
        OSError: a file cannot be read or written.
    """

    def __init__(
        self, out: Path, digests: Mapping[int, str], kind: type[V], *, fresh: bool = False, noun: str = "verdict"
    ) -> None:
        self.out = out
        self.folder = shard_folder(out)
        self.done: dict[int, V] = {}
        self._digests = digests
        if out.exists():
            drop_cut_off_line(out, noun)  # raises where the file is not ours, which --fresh does not excuse
        if fresh:
            out.unlink(missing_ok=True)
            shutil.rmtree(self.folder, ignore_errors=True)
        if out.exists():
            self.done |= read_lines(out, digests, kind, noun)
        for path in sorted(self.folder.glob("rows-*.jsonl")):
            self.done |= read_lines(path, digests, kind, noun)
        self.folder.mkdir(parents=True, exist_ok=True)

    def missing(self, tasks: Iterable[J], size: int) -> list[list[J]]:
        """Part what has no verdict yet into shards of up to ``size`` rows.

        Bounds stay where they are in a run without gaps (at multiples of ``size``), so that what is judged in batches
        is judged in the same ones.
        """
        shards: dict[int, list[J]] = {}
        for place, task in enumerate(tasks):
            if task.row not in self.done:
                shards.setdefault(place // size, []).append(task)
        return list(shards.values())

    def write(self, tasks: Sequence[J], verdicts: Sequence[V]) -> None:
        """Keep one shard; it is on the disk, whole, when this returns."""
        first, last = tasks[0].row, tasks[-1].row
        path = self.folder / f"rows-{first:09d}-{last:09d}.jsonl"
        pairs = zip(tasks, verdicts, strict=True)
        _write_whole(path, (line_of(task, one, self._digests[task.row]) for task, one in pairs))
        self.done |= {task.row: one for task, one in zip(tasks, verdicts, strict=True)}

    def merge(self, tasks: Sequence[J]) -> None:
        """Write the output file, whole and in the order of ``tasks``, and remove the shards.

        Raises:
            KeyError: a task has no verdict.
        """
        _write_whole(self.out, (line_of(task, self.done[task.row], self._digests[task.row]) for task in tasks))
        shutil.rmtree(self.folder)

    def leave(self) -> None:
        """Remove the folder where it holds nothing."""
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


def _write_whole(path: Path, lines: Iterator[bytes]) -> None:
    """Write a file beside ``path``, and put it there when it is complete and on the disk."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
