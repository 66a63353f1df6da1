"""A run: tasks are judged under a progress bar, and written, counted and reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import typer

from markscheme.cli.progress import bar
from markscheme.cli.report import ANSWERS, Report, ReportRow, Words, write_report
from markscheme.cli.terminal import EXIT_STOPPED, clip, console, safe, table
from markscheme.verifiers.errors import DataError, GoldError, WorkerError
from markscheme.verifiers.golds import load_golds
from markscheme.verifiers.grading import Setup, grade
from markscheme.verifiers.jsonl import Row, read_rows
from markscheme.verifiers.records import LineFile, digest
from markscheme.verifiers.statistics import clustered_interval
from markscheme.verifiers.tasks import Task
from markscheme.verifiers.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from markscheme.verifiers.bulk import RayOptions, Work

BadGold = Literal["error", "skip"]
COMMONEST = 8
"""Reasons that the table shows."""


class Graded(NamedTuple):
    """A task and its verdict."""

    task: Task
    verdict: Verdict


class Ledger(NamedTuple):
    """What tells the verdicts of one run: the fingerprint of what each follows from, by row, and their kind."""

    digests: dict[int, str]
    kind: type[Any]


@dataclass(slots=True)
class Run:
    """What one command judges.

    Attributes:
        source: the file that the tasks came from.
        tasks: what is to be judged.
        setup: how the verifiers are made.
        workers: processes.
        out: the file of verdicts, if any.
        fresh: start that file over.
        problem: what is wrong with the line at which reading stopped; raised at the end, when all before it is done.
        notes: sentences for the table's foot and the report.
        ray: the cluster that judges; None: this machine.
    """

    source: Path
    tasks: list[Task]
    setup: Setup
    workers: int = 0
    out: Path | None = None
    fresh: bool = False
    problem: DataError | None = None
    notes: list[str] = field(default_factory=list)
    ray: RayOptions | None = None

    def judge(self) -> list[Graded]:
        """Judge what is not judged yet, under a progress bar on stderr.

        Raises:
            DataError: the file of verdicts belongs to something else.
            WorkerError: a process died; what is graded stays written.
            ClusterError: the cluster cannot be reached or used; what is graded stays written.
        """
        if self.ray is not None:
            return self._judge_on(self.ray)
        with ExitStack() as stack:
            file = stack.enter_context(self._file(self.out)) if self.out is not None else None
            verdicts = dict(file.done) if file is not None else {}
            todo = [task for task in self.tasks if task.row not in verdicts]
            if verdicts:
                self.notes.append(f"{counted(len(verdicts))} taken from an earlier run of this command.")
            advance = stack.enter_context(bar("grading", len(self.tasks), len(verdicts)))
            try:
                for task, verdict in zip(todo, self._verdicts(todo), strict=True):
                    if file is not None:
                        file.append(task, verdict)
                    verdicts[task.row] = verdict
                    advance(1)
            except KeyboardInterrupt:
                stack.close()
                typer.echo(f"\nstopped: {self._kept(len(verdicts))}", err=True)
                raise typer.Exit(EXIT_STOPPED) from None
            except WorkerError as error:
                raise WorkerError(f"{error}\n{self._kept(len(verdicts))}") from None
        return [Graded(task, verdicts[task.row]) for task in self.tasks]

    def _judge_on(self, cluster: RayOptions) -> list[Graded]:
        """`judge`, by a cluster."""
        from markscheme.cli.bulk import judge_in_shards
        from markscheme.verifiers.bulk import Shards

        ledger = self._ledger()
        shards = Shards(self.out or Path(), ledger.digests, ledger.kind, fresh=self.fresh)
        if shards.done:
            self.notes.append(f"{counted(len(shards.done))} taken from an earlier run of this command.")
        found = judge_in_shards("grading", shards, self.tasks, self._work(), self._pack, cluster, self.notes)
        return [Graded(task, found[task.row]) for task in self.tasks]

    def conclude(
        self,
        title: str,
        graded: Sequence[Graded],
        accuracy: Accuracy,
        *,
        page: Path | None,
        fail_under: float | None,
        figures: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Print the outcomes, write the report to ``page``, and exit with 1 where the accuracy is too low.

        Raises:
            DataError: what stopped the reading, if anything did.
        """
        figures = [("accuracy", str(accuracy)), *figures]
        show(graded, figures, self.notes)
        if page is not None:
            rows = [self._shown(item) for item in graded]
            write_report(page, Report(title, rows, figures, self.notes, accuracy, self._words()))
            typer.echo(f"report: {safe(str(page))}")
        if self.problem is not None:
            raise DataError(f"{self.problem}\n{self._kept(len(graded))}")
        if fail_under is not None and 100 * accuracy.value < fail_under:
            typer.echo(f"accuracy {100 * accuracy.value:.2f} % is below --fail-under {fail_under:g}", err=True)
            raise typer.Exit(1)

    def _verdicts(self, todo: Sequence[Task]) -> Iterator[Verdict]:
        """Judge tasks; verdicts in their order, each as soon as it is there."""
        return grade(todo, self.setup, self.workers)

    def _file(self, out: Path) -> LineFile[Any]:
        ledger = self._ledger()
        return LineFile(out, ledger.digests, ledger.kind, fresh=self.fresh)

    def _ledger(self) -> Ledger:
        """What the file of verdicts holds. Raises DataError where -o names an input."""
        self.refuse_as_output(self.source)
        return Ledger({task.row: digest(task, self.setup) for task in self.tasks}, Verdict)

    def _work(self) -> Work:
        """What a worker of a cluster does, with what `_pack` makes of a task."""
        from markscheme.verifiers.bulk import GradeWork

        return GradeWork(self.setup)

    def _pack(self, task: Task) -> object:
        return replace(task, problem="")  # which no verdict follows from

    def refuse_as_output(self, source: Path) -> None:
        """Raise DataError where -o names an input."""
        if self.out is not None and self.out.exists() and self.out.samefile(source):
            raise DataError(f"{self.out}: -o names the file that is to be graded; choose another")

    def _shown(self, item: Graded) -> ReportRow:
        """A row of the report."""
        task, verdict = item
        return ReportRow(name_of(task), task.problem, task.completion, task.gold, verdict)

    def _words(self) -> Words:
        return ANSWERS

    def _kept(self, count: int) -> str:
        if self.out is None:
            return f"{counted(count)} graded before it; without -o their verdicts are not kept."
        return f"{counted(count)} graded so far, kept in {self.out}; run the same command again to go on from there."


def read_tasks(
    path: Path, make: Callable[[Row], Iterable[Task]], example: str = ""
) -> tuple[list[Task], DataError | None]:
    """Read tasks up to the first bad line; return them with what is wrong there, or None.

    Args:
        path: the file.
        make: makes a row's tasks.
        example: a row as it should be, for messages.

    Raises:
        DataError: there is no good line before the bad one.
        OSError: the file cannot be read.
    """
    tasks: list[Task] = []
    try:
        for row in read_rows(path, example):
            tasks.extend(make(row))
    except DataError as error:
        if not tasks:
            raise
        return tasks, error
    return tasks, None


def check_golds(tasks: list[Task], on_bad: BadGold, notes: list[str]) -> list[Task]:
    """Return the tasks whose gold answer can be read. Raises GoldError, which lists the others, or notes them."""
    distinct = list(dict.fromkeys(task.gold for task in tasks))
    try:
        load_golds(distinct)
    except GoldError as error:
        why = {distinct[position]: reason for position, _, reason in error.rows}
        bad = [(task.row, task.gold, why[task.gold]) for task in tasks if task.gold in why]
        if on_bad == "error":
            raise GoldError(bad) from None
        rows = ", ".join(str(row) for row, *_ in bad)
        notes.append(f"{counted(len(bad))} left out, for the gold answer cannot be read: {rows}.")
        return [task for task in tasks if task.gold not in why]
    return tasks


def counted(count: int) -> str:
    """Write a number of rows."""
    return f"{count:,} row{'' if count == 1 else 's'}"


class Accuracy(NamedTuple):
    """The share of CORRECT verdicts (UNDECIDED and BROKEN are not correct), with its 95 % interval; fractions."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} % (95 % interval {100 * self.low:.1f} to {100 * self.high:.1f})"


def accuracy_of(groups: Sequence[Sequence[Graded]]) -> Accuracy:
    """Return the mean over samples, a group holding the samples of one problem."""
    right = [[item.verdict.outcome is Outcome.CORRECT for item in group] for group in groups]
    total = sum(map(len, right))
    return Accuracy(sum(map(sum, right)) / total if total else 0.0, *clustered_interval(right))


def show(graded: Sequence[Graded], figures: Sequence[tuple[str, str]], notes: Sequence[str]) -> None:
    """Print the outcomes, the figures, and the commonest reasons of what is not correct."""
    out = console()
    counts = Counter(item.verdict.outcome for item in graded)
    total = len(graded)
    rows = [(o.value, counts[o], f"{100 * counts[o] / total:.1f}" if total else "-") for o in Outcome]
    out.print(table(("outcome", "rows", "%"), [*rows, ("all", total, "")], right=(1, 2)))
    for name, value in figures:
        out.print(f"{name}: {safe(value)}", soft_wrap=True)
    wrong = [item for item in graded if item.verdict.outcome is not Outcome.CORRECT]
    reasons = Counter((item.verdict.outcome, item.verdict.reason) for item in wrong)
    if reasons:
        first = {(i.verdict.outcome, i.verdict.reason): i for i in reversed(wrong)}
        lines = [
            (n, key[0].value, key[1].value, name_of(first[key].task), clip(safe(first[key].verdict.detail), 70))
            for key, n in reasons.most_common(COMMONEST)
        ]
        out.print()
        out.print(table(("rows", "outcome", "commonest reasons", "such as", "in words"), lines, right=(0,)))
    for note in notes:
        out.print(safe(note), soft_wrap=True)


def name_of(task: Task) -> str:
    """What tables call a row: its id, or its number, and its sample."""
    identity = str(task.keys.get("id", task.row))
    return f"{identity} / {task.keys['sample']}" if "sample" in task.keys else identity
