"""``markscheme grade``: grade a file of completions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from markscheme.cli.bulk import AddressOption, EngineOption, ShardRowsOption, ray_options
from markscheme.cli.options import (
    BadGoldOption,
    CompletionFieldOption,
    DeadlineOption,
    FailUnderOption,
    FormOption,
    FreshOption,
    OutOption,
    PercentOption,
    PrecisionOption,
    ReadingOption,
    ReportOption,
    ThinkingOption,
    WorkersOption,
)

if TYPE_CHECKING:
    from markscheme.verifiers.jsonl import Row
    from markscheme.verifiers.policy import Policy
    from markscheme.verifiers.tasks import Form, Task


def grade(
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Rows with a gold answer and a completion.")],
    *,
    out: OutOption = None,
    report: ReportOption = None,
    reading: ReadingOption = "auto",
    gold_field: Annotated[
        str | None, typer.Option(help="The gold answer's field. Default: gold, answer or reference.")
    ] = None,
    completion_field: CompletionFieldOption = None,
    form: FormOption = "auto",
    workers: WorkersOption = 0,
    deadline: DeadlineOption = 5.0,
    fail_under: FailUnderOption = None,
    percent: PercentOption = "lenient",
    precision: PrecisionOption = "exact",
    thinking: ThinkingOption = False,
    on_bad_gold: BadGoldOption = "error",
    fresh: FreshOption = False,
    engine: EngineOption = "local",
    ray_address: AddressOption = None,
    shard_rows: ShardRowsOption = None,
) -> None:
    """Grade completions, and print the outcomes, the accuracy and the commonest reasons."""
    from markscheme.cli import run
    from markscheme.cli.terminal import errors_shown
    from markscheme.verifiers.grading import Setup
    from markscheme.verifiers.jsonl import ANSWERED
    from markscheme.verifiers.policy import Policy

    make = _maker(gold_field, completion_field, form, Policy(percent=percent, precision=precision))
    with errors_shown():
        cluster = ray_options(engine, ray_address, out, workers=workers, shard_rows=shard_rows)
        tasks, problem = run.read_tasks(file, make, ANSWERED)
        job = run.Run(file, tasks, Setup(reading, deadline, thinking), workers, out, fresh, problem, ray=cluster)
        job.tasks = run.check_golds(tasks, on_bad_gold, job.notes)
        graded = job.judge()
        accuracy = run.accuracy_of([[item] for item in graded])
        job.conclude(file.name, graded, accuracy, page=report, fail_under=fail_under)


def _maker(
    gold_field: str | None, completion_field: str | None, form: str, policy: Policy
) -> Callable[[Row], list[Task]]:
    from dataclasses import replace

    from markscheme.verifiers.jsonl import COMPLETION_FIELDS, GOLD_FIELDS
    from markscheme.verifiers.tasks import read_task

    golds = (gold_field,) if gold_field else GOLD_FIELDS
    completions = (completion_field,) if completion_field else COMPLETION_FIELDS
    default: Form = "answer" if form == "answer" else "completion"

    def make(row: Row) -> list[Task]:
        task = read_task(row, form=default, gold_fields=golds, completion_fields=completions)
        return [replace(task, policy=policy)]

    return make
