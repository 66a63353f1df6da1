"""``markscheme prm label``: labels for the steps of solutions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from markscheme.cli.options import FreshOption, ReadingOption
from markscheme.cli.sampling import BackendOption, BatchOption, DTypeOption, EngineOption, SeedOption, StyleOption

By = Literal["equations", "montecarlo", "search", "judge", "consensus"]


def label(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="SOLUTIONS.jsonl", help="Rows of problem, steps or completion, and gold."),
    ] = None,
    *,
    by: Annotated[
        By,
        typer.Option(
            help="equations: the arithmetic that steps state; montecarlo: rollouts from every prefix; search: rollouts "
            "from few; judge: a language model; consensus: where two files of labels agree."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="Write labels here (JSON Lines) as they come; a stopped run goes on from it."),
    ],
    fresh: FreshOption = False,
    separator: Annotated[
        str, typer.Option(help=r'What parts the steps of a completion; \n is a newline, "steps": "Step k:".')
    ] = r"\n\n",
    model: Annotated[str | None, typer.Option(help="The policy, or the judge: a folder, or a name.")] = None,
    backend: BackendOption = "transformers",
    n: Annotated[
        int | None, typer.Option("-n", min=1, help="Rollouts a prefix (default 8); of a judge, its votes (default 1).")
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="The share of right rollouts that makes a step right; 0: any.")
    ] = 0.0,
    soft: Annotated[bool, typer.Option("--soft", help="montecarlo: label by the share itself.")] = False,
    after: Annotated[
        Literal["unlabelled", "wrong"], typer.Option(help="Steps after a first error; not of montecarlo, equations.")
    ] = "unlabelled",
    retries: Annotated[int, typer.Option(min=0, help="judge: ask again where an answer cannot be read.")] = 2,
    no_claim: Annotated[
        Literal["unlabelled", "right"], typer.Option(help="equations: a step that states no equation.")
    ] = "unlabelled",
    labels: Annotated[
        list[Path] | None, typer.Option(metavar="FILE.jsonl", help="consensus: files of labels, as -o writes; two.")
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Gold labels of the same solutions: count the noise.")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0, help="Of the draws.")] = 0.7,
    top_p: Annotated[float, typer.Option(min=0, max=1, help="Of the draws.")] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Length of a completion at most.")] = 1024,
    seed: SeedOption = 0,
    style: StyleOption = "auto",
    tokenizer: Annotated[
        str | None, typer.Option(help="Of the policy, where a server generates: writes its chat template.")
    ] = None,
    reading: ReadingOption = "auto",
    dtype: DTypeOption = "auto",
    batch_size: BatchOption = 16,
    engine: EngineOption = None,
    chunk: Annotated[int, typer.Option(min=1, help="Solutions at once: what a stopped run may lose.")] = 32,
    on_bad: Annotated[
        Literal["error", "skip"], typer.Option(help="What to do with rows that cannot be used; skip shows them.")
    ] = "error",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Label the steps of solutions; the file can be trained on (prm train)."""
    from markscheme.cli.prm.labeling import Labeling, agree, report
    from markscheme.cli.terminal import errors_shown

    with errors_shown():
        if by == "consensus":
            found = agree(labels or [], out, after)
        else:
            job = Labeling(
                by=by,
                data=data,
                out=out,
                fresh=fresh,
                separator=separator.replace(r"\n", "\n"),
                model=model,
                backend=backend,
                n=n or (1 if by == "judge" else 8),
                threshold=threshold,
                soft=soft,
                after=after,
                retries=retries,
                no_claim=no_claim,
                sampling={"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "seed": seed},
                style=style,
                tokenizer=tokenizer,
                reading=reading,
                dtype=dtype,
                batch_size=batch_size,
                engine=engine or [],
                chunk=chunk,
                on_bad=on_bad,
            )
            found = job.run()
        report(found, out, gold, as_json=as_json)
