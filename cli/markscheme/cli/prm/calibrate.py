"""``markscheme prm calibrate``: make a judge's scores mean what they say, and choose its threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from markscheme.cli.options import FreshOption

Method = Literal["temperature", "isotonic", "none"]


def calibrate(
    *,
    judge: Annotated[
        str, typer.Option(metavar="JUDGE", help="A checkpoint's folder or name, or a file of scores of --data alone.")
    ],
    data: Annotated[Path, typer.Option(metavar="FILE.jsonl", help="Labelled solutions to fit on.")],
    method: Annotated[
        Method, typer.Option(help="temperature: keeps the order of scores; isotonic: fits any order-keeping curve.")
    ] = "temperature",
    threshold: Annotated[
        bool, typer.Option(help="Also choose the threshold with the best ProcessBench F1 on --data.")
    ] = True,
    test: Annotated[
        Path | None,
        typer.Option("--eval", metavar="FILE.jsonl", help="Measure on these solutions, which fit nothing."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw reliability before and after.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write uncalibrated scores here as they come; a stopped run goes on from it."),
    ] = None,
    fresh: FreshOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Leave the checkpoint as it is.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    on_bad: Annotated[
        Literal["error", "skip"], typer.Option(help="What to do with rows that cannot be used; skip counts them.")
    ] = "error",
    judge_format: Annotated[str, typer.Option(help="The checkpoint's format; auto tells by its files.")] = "auto",
    dtype: Annotated[str, typer.Option(help="Of the judge's weights: float32, bfloat16, float16.")] = "auto",
    batch_size: Annotated[int, typer.Option(min=1, help="The most solutions of one forward pass.")] = 32,
) -> None:
    """Calibrate a judge of steps; a local checkpoint keeps what was fitted, with the name of the data."""
    import json

    from markscheme.cli.prm import calibrating
    from markscheme.cli.prm.judges import Judging, counted
    from markscheme.cli.terminal import errors_shown

    with errors_shown():
        judging = Judging(
            judge=judge,
            out=out,
            fresh=fresh,
            on_bad=on_bad,
            format=judge_format,
            dtype=dtype,
            batch_size=batch_size,
            inputs=[data, *([test] if test else [])],
        )
        with counted():
            fitted = calibrating.fit(judging, data, test, method, choose=threshold)
        if plot is not None:
            calibrating.draw(fitted, plot)
        kept = None if dry_run else calibrating.keep(fitted, judge)
        if as_json:
            typer.echo(json.dumps({**fitted.summary(), "kept_in": kept, "notes": judging.notes}))
        else:
            calibrating.show(fitted, kept, judging.notes)
