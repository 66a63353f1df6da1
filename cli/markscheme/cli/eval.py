"""``markscheme eval``: grade completions on a public data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from markscheme.cli import sampling
from markscheme.cli.choosing import Aggregation, Choice
from markscheme.cli.options import (
    BadGoldOption,
    CompletionFieldOption,
    DeadlineOption,
    FailUnderOption,
    FreshOption,
    OutOption,
    PrecisionOption,
    ReadingOption,
    ReportOption,
    ThinkingOption,
    WorkersOption,
)

if TYPE_CHECKING:
    from markscheme.benchmarks.suites.join import Joiner
    from markscheme.cli.run import Graded
    from markscheme.verifiers.grading import Setup


def evaluate(
    suite: sampling.SuiteArgument,
    *,
    completions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="Rows with index or id, and a completion or a list of completions. With --model: where its are kept.",
        ),
    ] = None,
    data: sampling.DataOption = None,
    model: Annotated[
        str | None, typer.Option(help="Sample from this model first: a folder, a name on the Hub or the server's.")
    ] = None,
    backend: sampling.BackendOption = "transformers",
    samples: sampling.SamplesOption = 1,
    limit: sampling.LimitOption = None,
    preset: sampling.PresetOption = None,
    temperature: sampling.TemperatureOption = None,
    top_p: sampling.TopPOption = None,
    top_k: sampling.TopKOption = None,
    max_tokens: sampling.MaxTokensOption = 512,
    seed: sampling.SeedOption = 0,
    style: sampling.StyleOption = "auto",
    shots: sampling.ShotsOption = 0,
    dtype: sampling.DTypeOption = "auto",
    batch_size: sampling.BatchOption = 16,
    engine: sampling.EngineOption = None,
    resample: Annotated[
        bool, typer.Option("--resample", help="Draw the samples of --model anew; --fresh leaves them.")
    ] = False,
    prm: Annotated[
        str | None,
        typer.Option(metavar="JUDGE", help="Best of n by this judge of steps: a checkpoint, or a file of its scores."),
    ] = None,
    prm_format: Annotated[str, typer.Option(help="The checkpoint's format; auto tells by its files.")] = "auto",
    aggregation: Annotated[Aggregation, typer.Option(help="Makes one score of a sample's steps, with --prm.")] = "min",
    separator: Annotated[
        str, typer.Option(help=r'What parts the steps of a sample, with --prm; \n is a newline, "steps": "Step k:".')
    ] = r"\n\n",
    out: OutOption = None,
    report: ReportOption = None,
    reading: ReadingOption = "auto",
    completion_field: CompletionFieldOption = None,
    workers: WorkersOption = 0,
    deadline: DeadlineOption = 5.0,
    fail_under: FailUnderOption = None,
    precision: PrecisionOption = "exact",
    thinking: ThinkingOption = False,
    on_bad_gold: BadGoldOption = "error",
    fresh: FreshOption = False,
) -> None:
    """Grade completions on GSM8K or MATH-500, of a file or drawn from a model: accuracy, pass@k, maj@n, best of n."""
    from markscheme.cli import run
    from markscheme.cli.terminal import errors_shown
    from markscheme.verifiers.errors import DataError
    from markscheme.verifiers.grading import Setup

    with errors_shown():
        choice = None
        if prm is not None:
            choice = Choice(prm, prm_format, aggregation, separator.replace(r"\n", "\n"), out, fresh)
            choice.check(samples if model is not None else None)
        if model is not None:
            drawn = sampling.job(
                suite, data, model, backend,
                limit=limit, samples=samples, preset=preset, style=style, shots=shots, dtype=dtype,
                batch_size=batch_size, engine=engine or [],
                overrides={
                    "temperature": temperature, "top_p": top_p, "top_k": top_k, "max_tokens": max_tokens, "seed": seed
                },
            )  # fmt: skip
            completions = completions or drawn.cached()
            drawn.run(completions, fresh=resample)
            del drawn  # a model or an engine, and with it the memory that the judge may need
        elif completions is None:
            raise DataError("expected completions to grade: pass --completions FILE, or --model NAME to draw them")
        joiner = _joiner(suite, data, precision, completion_field, limit)
        tasks, problem = run.read_tasks(completions, joiner.tasks, '{"index": 0, "completion": "…"}')
        job = run.Run(completions, tasks, Setup(reading, deadline, thinking), workers, out, fresh, problem)
        job.tasks = run.check_golds(tasks, on_bad_gold, job.notes)
        job.notes += joiner.notes()
        graded = job.judge()
        groups = by_problem(graded)
        figures = [("problems", str(len(groups))), *sampled_figures(groups, job.setup)]
        if choice is not None:
            figures += choice.figures(groups)
            job.notes += choice.notes
        accuracy, title = run.accuracy_of(groups), f"{suite}: {completions.name}"
        job.conclude(title, graded, accuracy, page=report, fail_under=fail_under, figures=figures)


def _joiner(
    suite: str,
    data: Path | None,
    precision: Literal["exact", "gold"],
    completion_field: str | None,
    limit: int | None,
) -> Joiner:
    from dataclasses import replace

    from markscheme.benchmarks.suites import SUITES
    from markscheme.benchmarks.suites.join import Joiner
    from markscheme.verifiers.jsonl import COMPLETION_FIELDS

    problems = SUITES[suite].load(data)
    policies = [problem.policy.model_copy(update={"precision": precision}) for problem in problems]
    problems = [replace(problem, policy=policy) for problem, policy in zip(problems, policies, strict=True)]
    return Joiner(problems, (completion_field,) if completion_field else COMPLETION_FIELDS, limit)


def by_problem(graded: Sequence[Graded]) -> list[list[Graded]]:
    """Group by problem, in the order of the data set; samples keep their order."""
    from markscheme.cli.samples import grouped

    groups = grouped(graded, "index")
    return [groups[index] for index in sorted(groups)]


def sampled_figures(groups: Sequence[Sequence[Graded]], setup: Setup) -> list[tuple[str, str]]:
    """Return pass@k and maj@n as shown; nothing where a problem has only one sample."""
    from markscheme.cli.samples import pass_figures
    from markscheme.verifiers.statistics import majority_correct

    figures = pass_figures(groups)
    if not figures:
        return []
    sizes = sorted({len(group) for group in groups})
    verifiers = {group[0].task.policy: setup.verifier(group[0].task.policy) for group in groups}
    won = sum(majority_correct([i.verdict for i in group], verifiers[group[0].task.policy]) for group in groups)
    n = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"
    return [*figures, (f"maj@{n}", f"{100 * won / len(groups):.1f} %")]
