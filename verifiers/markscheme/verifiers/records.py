"""Files of verdicts and the like: a line as soon as each is there, and a stopped run goes on from it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Generic, Protocol, Self, TypeVar

from pydantic import BaseModel, ValidationError

from markscheme.verifiers.errors import DataError
from markscheme.verifiers.grading import Setup
from markscheme.verifiers.jsonl import read_rows
from markscheme.verifiers.release import release
from markscheme.verifiers.tasks import Task
from markscheme.verifiers.verdict import Verdict

V = TypeVar("V", bound=BaseModel)
_OPENING = b'{"row":'
"""What every line begins with; anything else is not a file of ours and is left alone."""


def digest(task: Task, setup: Setup) -> str:
    """Fingerprint all that a verdict follows from: the row, the settings, the version. 16 hex digits."""
    return fingerprint(
        task.completion, task.gold, task.form, task.policy.model_dump(), list(task.keys.items()),
        setup.reading, setup.deadline, setup.thinking,
    )  # fmt: skip


def fingerprint(*parts: object) -> str:
    """Fingerprint values that JSON can hold, and this version of markscheme. 16 hex digits."""
    return hashlib.sha256(json.dumps([*parts, release()]).encode()).hexdigest()[:16]


class Judged(Protocol):
    """What a verdict is on: a row with the keys that name it."""

    @property
    def row(self) -> int:
        """Its number, from 0."""
        ...

    @property
    def keys(self) -> Mapping[str, str | int]:
        """Such as its ``id``."""
        ...


class LineFile(Generic[V]):
    """An output file of verdicts, or of other results, of one kind. Use it as a context manager.

    A line holds ``row`` (from 0), the row's keys (such as ``id``), ``digest``, and the verdict's fields.

    Args:
        path: the file; folders above it are made.
        digests: of all that the run is to judge, by row: the fingerprint of what its verdict follows from.
        kind: the verdicts.
        fresh: start over even where the file holds verdicts.
        noun: what messages call one.

    Raises:
        DataError: the file holds something else, or verdicts on other rows or by other settings.
        OSError: it cannot be read or written.
    """

    def __init__(
        self, path: Path, digests: Mapping[int, str], kind: type[V], *, fresh: bool = False, noun: str = "verdict"
    ) -> None:
        self.path = path
        self._digests = digests
        self.done: dict[int, V] = {}
        """The verdicts that an earlier run left, by row."""
        path.parent.mkdir(parents=True, exist_ok=True)
        _refuse_shards(path, fresh=fresh)
        if path.exists():
            drop_cut_off_line(path, noun)
            if not fresh:
                self.done = read_lines(path, digests, kind, noun)
        self._file: BinaryIO = path.open("wb" if fresh else "ab")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, task: Judged, verdict: V) -> None:
        """Write one verdict, and hand it to the operating system at once."""
        self._file.write(line_of(task, verdict, self._digests[task.row]))
        self._file.flush()


def shard_folder(path: Path) -> Path:
    """Where the shards of an output file stand while a run on a cluster is under way, or where it was stopped."""
    return path.with_name(f"{path.name}.shards")


def _refuse_shards(path: Path, *, fresh: bool) -> None:
    folder = shard_folder(path)
    if not folder.is_dir():
        return
    if fresh:
        shutil.rmtree(folder)
    elif any(folder.iterdir()):
        raise DataError(
            f"{folder} holds what a run with --engine ray has done so far: pass --engine ray to go on from it, or "
            "--fresh to start over"
        )


def line_of(task: Judged, verdict: BaseModel, digest: str) -> bytes:
    """Write one verdict as a line of a file."""
    line = {"row": task.row, **task.keys, "digest": digest, **verdict.model_dump(mode="json")}
    return json.dumps(line).encode() + b"\n"


def read_lines(path: Path, digests: Mapping[int, str], kind: type[V], noun: str = "verdict") -> dict[int, V]:
    """Read verdicts back, by row; see `LineFile`, which cuts off an unfinished last line before.

    Raises:
        DataError: the file holds something else, or verdicts on other rows or by other settings.
        OSError: it cannot be read.
    """
    done: dict[int, V] = {}
    if path.stat().st_size == 0:
        return done
    for line in read_rows(path):
        row = line.fields.get("row")
        if "digest" not in line.fields or not isinstance(row, int):
            raise _not_ours(path, line.line, noun)
        if digests.get(row) != line.fields["digest"]:
            raise DataError(
                f"{line.where}: the {noun} on row {row} is of another input, or was reached with other "
                "settings; choose another -o, or pass --fresh to start over"
            )
        try:
            done[row] = kind.model_validate(line.fields)
        except ValidationError:
            raise _not_ours(path, line.line, noun) from None
    return done


class VerdictFile(LineFile[Verdict]):
    """An output file of verdicts on answers. See `LineFile`.

    Args:
        path: the file; folders above it are made.
        tasks: all that the run is to judge.
        setup: how it judges.
        fresh: start over even where the file holds verdicts.
    """

    def __init__(self, path: Path, tasks: Sequence[Task], setup: Setup, *, fresh: bool = False) -> None:
        super().__init__(path, {task.row: digest(task, setup) for task in tasks}, Verdict, fresh=fresh)


def _not_ours(path: Path, line: int, noun: str) -> DataError:
    return DataError(f"{path}, line {line}: not a {noun}; the file is left as it is: choose another -o")


def drop_cut_off_line(path: Path, noun: str) -> None:
    """Cut off a last line without its end, as a killed run leaves one. Raises DataError if the file is not ours."""
    with path.open("r+b") as file:
        content = file.read()
        keep = content.rfind(b"\n") + 1
        for start in {0, keep}:
            head = content[start : start + len(_OPENING)]
            if not _OPENING.startswith(head):
                raise _not_ours(path, content[:start].count(b"\n") + 1, noun)
        if keep < len(content):
            file.truncate(keep)
