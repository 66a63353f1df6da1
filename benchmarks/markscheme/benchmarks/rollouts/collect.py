"""Sampling a suite: a row a problem as soon as it is there, and a stopped run goes on from its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from markscheme.benchmarks.rollouts.backend import Backend, Generated
from markscheme.benchmarks.rollouts.prompts import Prompter
from markscheme.benchmarks.rollouts.sampling import Sampling
from markscheme.benchmarks.suites.suite import Problem
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.jsonl import read_rows
from markscheme.verifiers.records import fingerprint

CHUNK = 32
"""Problems that are given to the backend at once, and share a seed: a stopped run loses at most these."""
_OPENING = b'{"index": '


class SampleFile:
    """The file of samples, which ``markscheme eval --completions`` reads. Use it as a context manager.

    A line holds ``index`` and ``id`` of the problem, ``completion`` (a list), and for each of it ``tokens`` and
    ``finish`` ("stop", or "length" where it was cut off); ``digest`` is of all that the samples follow from.

    Args:
        path: the file; folders above it are made.
        digests: of the problems that are to be sampled, by index.
        fresh: start over even where the file holds samples.

    Raises:
        DataError: the file holds something else, which ``fresh`` does not excuse, or samples by other settings.
    """

    def __init__(self, path: Path, digests: dict[int, str], *, fresh: bool = False) -> None:
        self.path = path
        self.digests = digests
        self.done: set[int] = set()
        """Problems whose samples an earlier run left."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size:
            self._cut()
            if path.stat().st_size:
                self._load(fresh=fresh)
        self._file = path.open("wb" if fresh else "ab")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, problem: Problem, samples: Sequence[Generated]) -> None:
        """Write a problem's samples, and hand them to the operating system at once."""
        row = {
            "index": problem.index,
            "id": problem.id,
            "completion": [sample.text for sample in samples],
            "tokens": [sample.tokens for sample in samples],
            "finish": [sample.finish for sample in samples],
            "digest": self.digests[problem.index],
        }
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()
        self.done.add(problem.index)

    def _cut(self) -> None:
        """Cut off a last line without its end, as a killed run leaves one."""
        content = self.path.read_bytes()
        keep = content.rfind(b"\n") + 1
        if not content.startswith(_OPENING) and not _OPENING.startswith(content):
            raise DataError(f"{self.path}: not a file of samples; it is left as it is: choose another")
        if keep < len(content):
            with self.path.open("r+b") as file:
                file.truncate(keep)

    def _load(self, *, fresh: bool) -> None:
        for row in read_rows(self.path):
            index = row.fields.get("index")
            if "digest" not in row.fields or not isinstance(index, int):
                raise DataError(f"{row.where}: not samples of ours; the file is left as it is: choose another")
            if fresh:
                return
            if self.digests.get(index, row.fields["digest"]) != row.fields["digest"]:
                raise DataError(
                    f"{row.where}: the samples of problem {index} are of another model or other settings; "
                    "choose another file, or start over: sample --fresh, eval --resample"
                )
            self.done.add(index)


def digests(problems: Sequence[Problem], backend: Backend, prompter: Prompter, sampling: Sampling) -> dict[int, str]:
    """Fingerprints, by index, of all that samples follow from."""
    found = {}
    for problem in problems:
        prompt = prompter(problem.question)
        found[problem.index] = fingerprint(
            backend.identity, list(prompt.messages), prompt.text, sampling.model_dump(mode="json")
        )
    return found


def collect(
    problems: Sequence[Problem],
    backend: Backend,
    prompter: Prompter,
    sampling: Sampling,
    file: SampleFile,
    advance: Callable[[int], object] = lambda _: None,
) -> None:
    """Sample problems that are not in the file yet.

    Problems go in chunks of 32, each with a seed of its own: a run that was stopped draws what an unbroken one would
    have drawn.

    Args:
        problems: of a suite.
        backend: generates.
        prompter: makes the prompts.
        sampling: how.
        file: where samples go.
        advance: called with the number of problems that are done anew.
    """
    sampling = sampling.model_copy(update={"stop": (*sampling.stop, *prompter.stop)})
    for start in range(0, len(problems), CHUNK):
        chunk = problems[start : start + CHUNK]
        if all(problem.index in file.done for problem in chunk):
            continue
        seed = sampling.seed_of(chunk[0].index)
        found = backend.generate([prompter(problem.question) for problem in chunk], sampling, seed)
        todo = [
            (problem, samples) for problem, samples in zip(chunk, found, strict=True) if problem.index not in file.done
        ]
        for problem, samples in todo:
            file.append(problem, samples)
        advance(len(todo))
