"""``markscheme prm eval``: a judge's figures on a benchmark, with those of the baselines beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from markscheme.cli.options import FreshOption

Benchmark = Literal["processbench", "prmbench", "bestofn"]


def evaluate(
    *,
    benchmark: Annotated[Benchmark, typer.Option(help="What to measure.")],
    data: Annotated[list[Path], typer.Option(metavar="FILE.jsonl", help="Its rows; several files are its subsets.")],
    judge: Annotated[
        str,
        typer.Option(
            metavar="JUDGE",
            help="A checkpoint's folder or name, outcome-oracle, always-right, always-wrong, or a file of scores as -o "
            "writes it.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write scores here (JSON Lines) as they come; a stopped run goes on from it."),
    ] = None,
    fresh: FreshOption = False,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="A step counts as wrong below it. Default: the judge's, or 0.5.")
    ] = None,
    threshold_data: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Choose the threshold on these labelled solutions.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="A language model's folder or name: adds the likelihood baseline.")
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.jsonl", help="What the judge was trained on: look for the test problems in it."),
    ] = None,
    on_bad: Annotated[
        Literal["error", "skip"], typer.Option(help="What to do with rows that cannot be used; skip counts them.")
    ] = "error",
    aggregation: Annotated[
        Literal["last", "min", "product", "mean", "softmin"],
        typer.Option(help="bestofn: what makes one score of a solution's steps."),
    ] = "min",
    separator: Annotated[
        str, typer.Option(help=r'bestofn: what parts the steps of a solution; \n is a newline, "steps": "Step k:".')
    ] = r"\n",
    limit: Annotated[
        int | None, typer.Option("--n", min=1, help="bestofn: take the first N solutions of each problem.")
    ] = None,
    judge_format: Annotated[str, typer.Option(help="The checkpoint's format; auto tells by its files.")] = "auto",
    dtype: Annotated[str, typer.Option(help="Of the judge's weights: float32, bfloat16, float16.")] = "auto",
    batch_size: Annotated[int, typer.Option(min=1, help="The most solutions of one forward pass.")] = 32,
) -> None:
    """Measure a judge of steps, always beside judges that know nothing of steps."""
    import json

    from markscheme.cli.prm import bestofn, stepwise
    from markscheme.cli.prm.judges import Judging, counted
    from markscheme.cli.terminal import errors_shown

    with errors_shown():
        judging = Judging(
            judge=judge,
            policy=policy,
            out=out,
            fresh=fresh,
            on_bad=on_bad,
            format=judge_format,
            dtype=dtype,
            batch_size=batch_size,
            inputs=[*data, *(train or []), *([threshold_data] if threshold_data else [])],
        )
        with counted():
            if benchmark == "bestofn":
                found = bestofn.measure(judging, data, aggregation, separator.replace(r"\n", "\n"), limit)
            else:
                found = stepwise.measure(judging, data, benchmark, threshold, threshold_data, train or [])
        if as_json:
            typer.echo(json.dumps(found))
        else:
            (bestofn if benchmark == "bestofn" else stepwise).show(found)
