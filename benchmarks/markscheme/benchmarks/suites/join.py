"""Joining completions with the problems that they answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markscheme.benchmarks.suites.suite import Problem
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.jsonl import COMPLETION_FIELDS, Row, as_text, kind
from markscheme.verifiers.tasks import Task


@dataclass(slots=True)
class Joiner:
    """Turns rows of completions into tasks, in the order of the file.

    A row names its problem by ``index`` (from 0) or by ``id``, and holds a completion or a list of them; a problem may
    have many rows. Samples of a problem are numbered from 0 in the order in which they come.

    Attributes:
        problems: of the data set, all of them.
        completion_fields: where a row's completion is looked for.
        limit: rows of other problems than the first so many are passed over.
    """

    problems: Sequence[Problem]
    completion_fields: Sequence[str] = COMPLETION_FIELDS
    limit: int | None = None
    _by_id: dict[str, Problem] = field(init=False)
    _samples: dict[int, int] = field(init=False, default_factory=dict)
    _tasks: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._by_id = {problem.id: problem for problem in self.problems}

    def tasks(self, row: Row) -> Iterator[Task]:
        """Yield a task for each completion of a row. Raises DataError when the row names no problem or holds none."""
        problem = self._problem(row)
        if self.limit is not None and problem.index >= self.limit:
            return
        for completion in self._completions(row):
            sample = self._samples.get(problem.index, 0)
            yield Task(
                row=self._tasks,
                completion=completion,
                gold=problem.gold,
                policy=problem.policy,
                problem=problem.question,
                keys={"index": problem.index, "id": problem.id, "sample": sample},
            )
            self._samples[problem.index] = sample + 1
            self._tasks += 1

    def missing(self) -> list[int]:
        """The indices of the problems wanted that no row has answered so far."""
        wanted = self.problems[: self.limit]
        return [problem.index for problem in wanted if problem.index not in self._samples]

    def notes(self) -> list[str]:
        """A sentence that names the problems without a completion, if there are any."""
        missing = self.missing()
        if not missing:
            return []
        share = f"{len(missing)} of {len(self.problems[: self.limit])} problems"
        return [f"{share} have no completion and are not counted: index {ranges(missing)}."]

    def _problem(self, row: Row) -> Problem:
        if "index" in row.fields:
            index = row.fields["index"]
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(self.problems):
                shown = index if isinstance(index, int | str) else kind(index)
                raise DataError(f"{row.where}: 'index': expected 0 to {len(self.problems) - 1}, found {shown!r:.80}")
            return self.problems[index]
        identity = row.identity()
        if identity is None:
            raise DataError(f"{row.where}: no 'index' and no 'id': nothing names the problem that is answered")
        problem = self._by_id.get(str(identity))
        if problem is None:
            raise DataError(
                f"{row.where}: 'id': no problem is called {str(identity)[:80]!r}; they are called such as "
                f"{self.problems[0].id!r}"
            )
        return problem

    def _completions(self, row: Row) -> list[str]:
        name = next((name for name in self.completion_fields if name in row.fields), None)
        value = row.fields[name] if name is not None else None
        if not isinstance(value, list):
            return [row.text(self.completion_fields, "completion")]
        if not value:
            raise DataError(f"{row.where}: {name!r}: expected a string or a list of them, found an empty list")
        return [as_text(item, f"{row.where}: {name!r}, item {i}") for i, item in enumerate(value)]


def ranges(indices: Sequence[int]) -> str:
    """Write sorted indices briefly: ``0, 3-7, 12``."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
