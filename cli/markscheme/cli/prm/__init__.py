"""``markscheme prm``: the judge of steps, a module a subcommand."""

from __future__ import annotations

import typer

from markscheme.cli.prm.calibrate import calibrate
from markscheme.cli.prm.eval import evaluate
from markscheme.cli.prm.label import label
from markscheme.cli.prm.score import score
from markscheme.cli.prm.train import train

prm = typer.Typer(name="prm", help="Judges of steps: process reward models.", no_args_is_help=True)


@prm.callback()
def _group() -> None:
    """Judges of steps: process reward models."""


prm.command()(label)
prm.command()(train)
prm.command()(calibrate)
prm.command("eval")(evaluate)
prm.command()(score)

__all__ = ["prm"]
