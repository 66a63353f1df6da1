"""Problems and solutions: how their files are read, judged and shown."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.report import PROGRAMS, ReportRow, Words
from markscheme.cli.run import Graded, Ledger, Run, name_of, read_tasks
from markscheme.verifiers.code.cases import AssertTests, CallCase, Cases, UnitTests, parse_cases
from markscheme.verifiers.code.results import ProgramVerdict
from markscheme.verifiers.code.verifier import CodeVerifier
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.jsonl import Row, read_rows
from markscheme.verifiers.records import fingerprint
from markscheme.verifiers.tasks import Task
from markscheme.verifiers.verdict import Verdict

if TYPE_CHECKING:
    from markscheme.verifiers.bulk import Work

SOLUTION_FIELDS = ("solution", "completion", "response", "code")
"""Where a row's program is looked for; the first that is there counts."""
_TEXT_FIELDS = ("problem", "question", "prompt")
_CASE_FIELDS = ("cases", "tests", "unit_tests", "entry_point", "prompt", "module")
_PROBLEM = '{"id": 1, "cases": [{"stdin": "41", "stdout": "42"}]}'
_SOLUTION = '{"id": 1, "solution": "print(int(input()) + 1)"}'
_LISTED = 20  # bad rows that a message names


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """A problem: its id, cases and text, and the source of its cases, which verdicts follow from."""

    identity: str | int
    cases: Cases
    text: str
    source: str


def read_problems(path: Path) -> dict[str, ProblemRow]:
    """Read problems, by id (as text: 1 and "1" are one).

    Raises:
        DataError: a line that is no row; or rows without an id, with an id that was there before, or without cases
            that can be read, all of them named.
    """
    known: dict[str, ProblemRow] = {}
    bad: list[str] = []
    for row in read_rows(path, _PROBLEM):
        identity = row.identity()
        if identity is None:
            bad.append(f"{row.where}: no id")
        elif str(identity) in known:
            bad.append(f"{row.where}: id {identity!r} was there before")
        else:
            given = {name: row.fields[name] for name in _CASE_FIELDS if name in row.fields}
            try:
                cases = parse_cases(given or row.fields, f"{row.where}, id {identity!r}")
            except DataError as error:
                bad.append(str(error))
                continue
            text = next((text for name in _TEXT_FIELDS if (text := row.optional_text(name))), "")
            known[str(identity)] = ProblemRow(identity, cases, text, json.dumps(given, default=str, sort_keys=True))
    _refuse(bad, "problem(s) cannot be judged by")
    return known


def read_solutions(path: Path, known: dict[str, ProblemRow]) -> tuple[list[Task], DataError | None]:
    """Read solutions up to the first bad line; return them with what is wrong there, or None.

    Raises:
        DataError: solutions of unknown problems, all of them named; or no good line.
    """
    bad: list[str] = []
    samples: Counter[str] = Counter()

    def make(row: Row) -> list[Task]:
        identity = row.identity()
        if identity is None:
            raise DataError(f"{row.where}: no id: expected the id of a problem")
        problem = known.get(str(identity))
        if problem is None:
            bad.append(f"{row.where}: id {identity!r} is in no row of the problems")
            return []
        keys: dict[str, str | int] = {"id": problem.identity, "sample": samples[str(identity)]}
        samples[str(identity)] += 1
        return [Task(row.number, row.text(SOLUTION_FIELDS, "solution"), "", problem=problem.text, keys=keys)]

    try:
        tasks, problem = read_tasks(path, make, _SOLUTION)
    except DataError:
        _refuse(bad, "solution(s) have no problem")
        raise
    _refuse(bad, "solution(s) have no problem")
    return tasks, problem


def _refuse(bad: Sequence[str], what: str) -> None:
    if bad:
        rest = [f"  … and {len(bad) - _LISTED} more"] if len(bad) > _LISTED else []
        raise DataError("\n".join([f"{len(bad)} {what}:", *(f"  {one}" for one in bad[:_LISTED]), *rest]))


@dataclass(slots=True)
class ProgramRun(Run):
    """A run over programs. ``settings`` holds what else a verdict follows from, as JSON has it."""

    problems: Path = field(kw_only=True)
    known: dict[str, ProblemRow] = field(kw_only=True)
    verifier: CodeVerifier = field(kw_only=True)
    settings: tuple[object, ...] = field(kw_only=True)

    def _problem(self, task: Task) -> ProblemRow:
        return self.known[str(task.keys["id"])]

    def _verdicts(self, todo: Sequence[Task]) -> Iterator[Verdict]:
        tasks = iter(todo)
        threads = ThreadPoolExecutor(self.workers)
        waiting: deque[Future[ProgramVerdict]] = deque()
        try:
            for task in islice(tasks, 2 * self.workers):
                waiting.append(threads.submit(self._judged, task))
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(threads.submit(self._judged, task) for task in islice(tasks, 1))
        finally:
            threads.shutdown(cancel_futures=True)  # programs that run end at their limits

    def _judged(self, task: Task) -> ProgramVerdict:
        return self.verifier.verify(task.completion, self._problem(task).cases)

    def _work(self) -> Work:
        from markscheme.verifiers.bulk import ProgramWork

        return ProgramWork(self.verifier)

    def _pack(self, task: Task) -> object:
        return task.completion, self._problem(task).cases

    def _ledger(self) -> Ledger:
        for source in (self.source, self.problems):
            self.refuse_as_output(source)
        digests = {
            task.row: fingerprint(task.completion, self._problem(task).source, list(task.keys.items()), *self.settings)
            for task in self.tasks
        }
        return Ledger(digests, ProgramVerdict)

    def figures(self, graded: Sequence[Graded]) -> list[tuple[str, str]]:
        """The levels that programs ran at, the mean score where it is not the accuracy, and verdicts of low trust."""
        verdicts = [item.verdict for item in graded if isinstance(item.verdict, ProgramVerdict)]
        levels = sorted({one.level for one in verdicts if one.level})
        found = [("sandbox level", ", ".join(map(str, levels)) or "nothing ran")]
        scores = [one.score for one in verdicts if one.score is not None]
        if scores and any(score not in (0, 1) for score in scores):
            found.append(("mean score", f"{sum(scores) / len(scores):.3f}"))
        low = sum(one.trust == "low" for one in verdicts)
        if low:
            found.append(("low trust", f"{low:,} (the tests ran in the program's own jail)"))
        return found

    def _shown(self, item: Graded) -> ReportRow:
        task, verdict = item
        case, count = "none", ""
        if isinstance(verdict, ProgramVerdict):
            right = sum(one.passed for one in verdict.cases)
            cases = self._problem(task).cases
            # How many cases tests make is known to the judge alone; its detail says it.
            count = f"{right} passed" if isinstance(cases, AssertTests | UnitTests) else f"{right} of {len(cases)}"
            wrong = next((n for n, one in enumerate(verdict.cases) if not one.passed), None)
            case = "none" if wrong is None else case_text(cases, wrong)
        plain = Verdict.model_validate(verdict.model_dump(include=set(Verdict.model_fields)))
        shown = plain.model_copy(update={"answer": count or None, "expected": None})
        return ReportRow(name_of(task), task.problem, task.completion, case, shown)

    def _words(self) -> Words:
        return PROGRAMS


def case_text(cases: Cases, number: int) -> str:
    """A case as a person reads it."""
    if isinstance(cases, AssertTests | UnitTests):
        return cases.code
    if number >= len(cases):
        return "all of them together"
    case = cases[number]
    if isinstance(case, CallCase):
        given = [*map(repr, case.arguments), *(f"{name}={value!r}" for name, value in case.keywords.items())]
        return f"{case.function}({', '.join(given)}) {case.relation} {case.expected!r}"
    return f"input:\n{case.stdin}\nexpected output:\n{case.stdout}"
