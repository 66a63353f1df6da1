"""``markscheme judge``: judge a file of programs by the cases of their problems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from markscheme.cli.bulk import AddressOption, EngineOption, ShardRowsOption, ray_options
from markscheme.cli.options import FailUnderOption, FreshOption, LevelOption, OutOption, ReportOption


def judge(
    problems: Annotated[
        Path, typer.Argument(metavar="PROBLEMS.jsonl", help="Rows with id and cases, or id and tests.")
    ],
    solutions: Annotated[
        Path, typer.Argument(metavar="SOLUTIONS.jsonl", help="Rows with a problem's id and a solution; many a problem.")
    ],
    *,
    out: OutOption = None,
    report: ReportOption = None,
    level: LevelOption = "strongest",
    workers: Annotated[int | None, typer.Option(min=1, help="Programs at once. Default: the processors.")] = None,
    cpu_seconds: Annotated[float, typer.Option(min=0.01, help="CPU time that a case may take.")] = 5.0,
    memory_mb: Annotated[int, typer.Option(min=64, help="Memory that a program may take, in MiB.")] = 512,
    score: Annotated[
        Literal["all", "fraction"], typer.Option(help="all: every case must pass; fraction: the share that passes.")
    ] = "all",
    fail_under: FailUnderOption = None,
    fresh: FreshOption = False,
    engine: EngineOption = "local",
    ray_address: AddressOption = None,
    shard_rows: ShardRowsOption = None,
) -> None:
    """Judge programs in a sandbox: outcomes, accuracy, and pass@k where problems have several solutions."""
    from markscheme.cli.options import level_of
    from markscheme.cli.programs import ProgramRun, read_problems, read_solutions
    from markscheme.cli.run import accuracy_of
    from markscheme.cli.samples import grouped, pass_figures
    from markscheme.cli.terminal import errors_shown
    from markscheme.verifiers.code import CodeVerifier, Limits
    from markscheme.verifiers.grading import Setup

    with errors_shown():
        cluster = ray_options(engine, ray_address, out, workers=workers or 0, shard_rows=shard_rows)
        known = read_problems(problems)
        tasks, problem = read_solutions(solutions, known)
        limits = Limits(cpu_seconds=cpu_seconds, memory_bytes=memory_mb * 2**20)
        jails = 1 if cluster else workers  # on a cluster each worker has a jail of its own, and this process none
        with CodeVerifier(level=level_of(level), workers=jails, limits=limits, score=score) as verifier:
            count = 0 if cluster else verifier.sandbox.workers
            job = ProgramRun(
                solutions, tasks, Setup(), count, out, fresh, problem, ray=cluster,
                problems=problems, known=known, verifier=verifier, settings=(level, limits.model_dump(), score),
            )  # fmt: skip
            graded = job.judge()
        if level == "1":
            job.notes.append("Level 1 protects nothing from a program that means harm; it has limits only.")
        groups = list(grouped(graded, "id").values())
        figures = [("problems", str(len(groups))), *pass_figures(groups), *job.figures(graded)]
        unsolved = len(known) - len(groups)
        if unsolved:
            job.notes.append(f"{unsolved:,} of {len(known):,} problems have no solution; they are not counted.")
        job.conclude(solutions.name, graded, accuracy_of(groups), page=report, fail_under=fail_under, figures=figures)
