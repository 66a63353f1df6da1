"""``markscheme grade``: grade a file of completions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

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
) -> None:
    """Grade completions, and print the outcomes, the accuracy and the commonest reasons."""
    from dataclasses import replace

    from markscheme.cli import run
    from markscheme.cli.terminal import errors_shown
    from markscheme.verifiers.grading import Setup
    from markscheme.verifiers.jsonl import COMPLETION_FIELDS, GOLD_FIELDS
    from markscheme.verifiers.policy import Policy
    from markscheme.verifiers.tasks import read_task

    golds = (gold_field,) if gold_field else GOLD_FIELDS
    completions = (completion_field,) if completion_field else COMPLETION_FIELDS
    default_form: Literal["answer", "completion"] = "answer" if form == "answer" else "completion"
    policy = Policy(percent=percent, precision=precision)
    with errors_shown():
        tasks, problem = run.read_tasks(
            file,
            lambda row: [
                replace(
                    read_task(row, form=default_form, gold_fields=golds, completion_fields=completions), policy=policy
                )
            ],
        )
        job = run.Run(file, tasks, Setup(reading, deadline, thinking), workers, out, fresh, problem)
        job.tasks = run.check_golds(tasks, on_bad_gold, job.notes)
        graded = job.judge()
        accuracy = run.accuracy_of([[item] for item in graded])
        figures = [("accuracy", str(accuracy))]
        run.show(graded, figures, job.notes)
        if report is not None:
            run.report(report, file.name, graded, accuracy, figures=figures, notes=job.notes)
        job.finish(graded, accuracy.value, fail_under)
