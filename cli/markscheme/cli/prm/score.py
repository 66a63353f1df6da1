"""``markscheme prm score``: a judge's scores of the steps of solutions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from markscheme.cli.bulk import AddressOption, EngineOption, ray_options
from markscheme.cli.options import FreshOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markscheme.prm.judging import Solution


def score(
    data: Annotated[Path, typer.Argument(metavar="SOLUTIONS.jsonl", help="Rows of problem, and steps or completion.")],
    *,
    judge: Annotated[str, typer.Option(metavar="JUDGE", help="A checkpoint's folder or name on the Hub.")],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="Write scores here (JSON Lines) as they come; a stopped run goes on from it."),
    ],
    fresh: FreshOption = False,
    separator: Annotated[
        str, typer.Option(help=r'What parts the steps of a completion; \n is a newline, "steps": "Step k:".')
    ] = r"\n\n",
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="A step counts as wrong below it. Default: the judge's, or 0.5.")
    ] = None,
    on_bad: Annotated[
        Literal["error", "skip"], typer.Option(help="What to do with rows that cannot be used; skip counts them.")
    ] = "error",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    judge_format: Annotated[str, typer.Option(help="The checkpoint's format; auto tells by its files.")] = "auto",
    dtype: Annotated[str, typer.Option(help="Of the judge's weights: float32, bfloat16, float16.")] = "auto",
    batch_size: Annotated[int, typer.Option(min=1, help="The most solutions of one forward pass.")] = 32,
    engine: EngineOption = "local",
    ray_address: AddressOption = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Judges that a cluster loads. 0: one a GPU, or without GPUs one a node.")
    ] = 0,
) -> None:
    """Score the steps of solutions: one forward pass a solution."""
    import json

    from markscheme.cli.prm.judges import Judging, counted
    from markscheme.cli.terminal import console, errors_shown, safe
    from markscheme.prm.judging import CHUNK

    with errors_shown():
        cluster = ray_options(engine, ray_address, out, workers=workers, shard_rows=CHUNK if engine == "ray" else None)
        solutions, left_out = _read(data, separator.replace(r"\n", "\n"), on_bad)
        judging = Judging(
            judge=judge,
            out=out,
            fresh=fresh,
            on_bad=on_bad,
            format=judge_format,
            dtype=dtype,
            batch_size=batch_size,
            inputs=[data],
            notes=left_out,
            ray=cluster,
        )
        with counted():
            scores, own = judging.scores(solutions)
        found = summary(solutions, scores, judging.failed, _threshold(threshold, own))
        if as_json:
            typer.echo(json.dumps({**found, "notes": judging.notes}))
            return
        for line in (*_sentences(found, out), *judging.notes):
            console().print(safe(line), soft_wrap=True)


def _read(data: Path, separator: str, on_bad: Literal["error", "skip"]) -> tuple[list[Solution], list[str]]:
    """Read the solutions, and say which rows were left out."""
    import warnings

    from markscheme.prm.solutions import read_solutions

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solutions = read_solutions(data, separator, on_bad=on_bad)
    return solutions, [str(one.message) for one in caught]


def _threshold(given: float | None, own: float | None) -> float:
    """What was asked for, else the judge's own, which may be 0, else one half."""
    chosen = own if given is None else given
    return 0.5 if chosen is None else chosen


def summary(
    solutions: Sequence[Solution], scores: Sequence[Sequence[float]], failed: dict[int, str], threshold: float
) -> dict[str, Any]:
    """Counts over all solutions, ready for JSON."""
    import math

    known = [[value for value in found if not math.isnan(value)] for found in scores]
    each = [value for found in known for value in found]
    return {
        "n": len(solutions),
        "steps": sum(len(one.steps) for one in solutions),
        "scored": len(each),
        "unusable": len(failed),
        "threshold": threshold,
        "mean": sum(each) / len(each) if each else None,
        "flagged_steps": sum(value < threshold for value in each),
        "flagged_solutions": sum(any(value < threshold for value in found) for found in known),
    }


def _sentences(found: dict[str, Any], out: Path) -> list[str]:
    said = [
        f"{found['n']:,} solutions, {found['steps']:,} steps, {found['scored']:,} scored; scores in {out}",
        f"below {found['threshold']:.4g}: {found['flagged_steps']:,} steps in {found['flagged_solutions']:,} solutions",
    ]
    beyond = found["steps"] - found["scored"]
    if found["mean"] is not None:
        said[0] += f"; mean score {found['mean']:.3f}"
    if found["unusable"]:
        said.append(f"{found['unusable']:,} solutions cannot be laid out; their lines say why")
    if beyond:
        said.append(f"{beyond:,} steps have no score: beyond the judge's length, or of such a solution")
    return said
