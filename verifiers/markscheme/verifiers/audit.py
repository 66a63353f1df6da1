"""Auditing a verifier against pairs whose judgement is known: what it refuses and what it lets through."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markscheme.verifiers.errors import DataError
from markscheme.verifiers.grading import AnswerVerifier, Setup, Timed, cpu_seconds, grade_chunks, judge
from markscheme.verifiers.jsonl import ANSWERED, Row, kind, read_rows
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.tasks import Form, Task, read_task
from markscheme.verifiers.verdict import Outcome, Verdict

DEFAULT_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Pair:
    """A task with what its outcome should be: CORRECT, or not."""

    task: Task
    expected: bool


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A pair that was judged wrongly."""

    pair: Pair
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit found.

    Attributes:
        n: pairs judged.
        true: of these, pairs that should be CORRECT.
        false: pairs that should not.
        fn: false negatives: a true pair with any outcome but CORRECT, UNDECIDED and BROKEN included.
        fp: false positives: a false pair found CORRECT.
        undecided: UNDECIDED outcomes among all pairs.
        unreadable: UNREADABLE outcomes among all pairs.
        broken: BROKEN outcomes among all pairs.
        pairs_per_cpu_s: pairs a CPU second; the algebra workers' CPU time counts.
        p50_ms: the median wall time of a pair, in milliseconds.
        p99_ms: its 99th percentile (nearest rank), in milliseconds.
        max_ms: the longest, in milliseconds.
        mismatches: the pairs behind ``fn`` and ``fp``.
    """

    n: int
    true: int
    false: int
    fn: int
    fp: int
    undecided: int
    unreadable: int
    broken: int
    pairs_per_cpu_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    mismatches: tuple[Mismatch, ...] = ()

    def summary(self) -> dict[str, int | float]:
        """All fields but the mismatches, in order, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "mismatches"}


def audit(rows: Iterable[Pair], verifier: AnswerVerifier) -> AuditResult:
    """Judge pairs in this process, one after the other, and count what went wrong."""
    pairs = list(rows)
    before = cpu_seconds()
    timed = [judge(verifier, pair.task) for pair in pairs]
    return _result(pairs, timed, cpu_seconds() - before)


def audit_in_processes(rows: Iterable[Pair], setup: Setup, workers: int) -> AuditResult:
    """Judge pairs in several processes; ``pairs_per_cpu_s`` is then over their CPU time, start-up left out.

    Raises:
        WorkerError: a process died.
    """
    pairs = list(rows)
    timed: list[Timed] = []
    cpu = 0.0
    for chunk, seconds in grade_chunks([pair.task for pair in pairs], setup, workers):
        timed += chunk
        cpu += seconds
    return _result(pairs, timed, cpu)


def load_pairs(path: Path, *, form: Form = "completion", policy: Policy = DEFAULT_POLICY) -> list[Pair]:
    """Read a file of rows with ``gold``, ``prediction`` and ``expected``; a row's own ``form`` wins over ``form``.

    Raises:
        DataError: a line is malformed, a field is missing or has the wrong type.
        OSError: the file cannot be read.
    """
    return [
        Pair(replace(read_task(row, form=form), policy=policy), _expected(row)) for row in read_rows(path, ANSWERED)
    ]


def _expected(row: Row) -> bool:
    if "expected" not in row.fields:
        raise DataError(f"{row.where}: no 'expected': an audit needs true or false there, the right judgement")
    value = row.fields["expected"]
    if not isinstance(value, bool):
        raise DataError(f"{row.where}: 'expected': expected true or false, found {kind(value)}")
    return value


def _result(pairs: Sequence[Pair], timed: Sequence[Timed], cpu: float) -> AuditResult:
    outcomes = Counter(item.verdict.outcome for item in timed)
    wrong = [
        Mismatch(pair, item.verdict)
        for pair, item in zip(pairs, timed, strict=True)
        if pair.expected != (item.verdict.outcome is Outcome.CORRECT)
    ]
    true = sum(pair.expected for pair in pairs)
    walls = sorted(item.wall * 1000 for item in timed)
    return AuditResult(
        n=len(pairs),
        true=true,
        false=len(pairs) - true,
        fn=sum(mismatch.pair.expected for mismatch in wrong),
        fp=sum(not mismatch.pair.expected for mismatch in wrong),
        undecided=outcomes[Outcome.UNDECIDED],
        unreadable=outcomes[Outcome.UNREADABLE],
        broken=outcomes[Outcome.BROKEN],
        pairs_per_cpu_s=round(len(pairs) / cpu, 1) if cpu > 0 else 0.0,
        p50_ms=_rank(walls, 0.50),
        p99_ms=_rank(walls, 0.99),
        max_ms=_rank(walls, 1.0),
        mismatches=tuple(wrong),
    )


def _rank(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of sorted values; 0 where there are none."""
    return round(values[max(0, math.ceil(share * len(values)) - 1)], 3) if values else 0.0
