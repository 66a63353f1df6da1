"""``markscheme audit``: count what the verifier refuses wrongly and what it lets through."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from markscheme.cli.options import (
    DeadlineOption,
    FormOption,
    PercentOption,
    PrecisionOption,
    ReadingOption,
    ThinkingOption,
    WorkersOption,
)

if TYPE_CHECKING:
    from markscheme.verifiers.audit import AuditResult, Mismatch


def audit(
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Rows with gold, prediction and expected.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    reading: ReadingOption = "auto",
    form: FormOption = "auto",
    workers: WorkersOption = 0,
    deadline: DeadlineOption = 5.0,
    percent: PercentOption = "lenient",
    precision: PrecisionOption = "exact",
    thinking: ThinkingOption = False,
) -> None:
    """Compare verdicts with the judgement that each row expects."""
    import json

    from markscheme.cli.terminal import errors_shown
    from markscheme.verifiers.audit import audit as run_audit
    from markscheme.verifiers.audit import audit_in_processes, load_pairs
    from markscheme.verifiers.grading import Setup
    from markscheme.verifiers.policy import Policy

    policy = Policy(percent=percent, precision=precision)
    setup = Setup(reading, deadline, thinking)
    with errors_shown():
        pairs = load_pairs(file, form="answer" if form == "answer" else "completion", policy=policy)
        result = audit_in_processes(pairs, setup, workers) if workers > 1 else run_audit(pairs, setup.verifier(policy))
        if as_json:
            typer.echo(json.dumps(result.summary()))
        else:
            _show(result)


def _show(result: AuditResult) -> None:
    from markscheme.cli.terminal import console, table

    out = console()
    labels = {
        "n": "pairs",
        "true": "expected true",
        "false": "expected false",
        "fn": "false negatives (right answers refused)",
        "fp": "false positives (wrong answers accepted)",
        "pairs_per_cpu_s": "pairs per CPU second",
        "p50_ms": "median, ms",
        "p99_ms": "99th percentile, ms",
        "max_ms": "longest, ms",
    }
    rows = [(labels.get(name, name), value) for name, value in result.summary().items()]
    out.print(table(("audit", ""), rows, right=(1,)))
    if result.mismatches:
        columns = ("row", "id", "expected", "gold", "answer", "outcome", "reason")
        out.print(table(columns, [_mismatch(item) for item in result.mismatches], right=(0,)))


def _mismatch(item: Mismatch) -> tuple[object, ...]:
    from markscheme.cli.terminal import clip, safe

    task, verdict = item.pair.task, item.verdict
    answer = verdict.answer if verdict.answer is not None else "-"
    return (
        task.row,
        task.keys.get("id", ""),
        str(item.pair.expected).lower(),
        clip(safe(task.gold), 60),
        clip(safe(answer), 60),
        verdict.outcome.value,
        f"{verdict.reason.value}: {clip(safe(verdict.detail), 80)}",
    )
