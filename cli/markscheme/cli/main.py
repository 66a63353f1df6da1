"""The entry point: one Typer application, a module a command."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from markscheme.cli.audit import audit
from markscheme.cli.eval import evaluate
from markscheme.cli.grade import grade
from markscheme.cli.judge import judge
from markscheme.cli.plan import plan
from markscheme.cli.prm import prm
from markscheme.cli.sample import sample
from markscheme.cli.sandbox import sandbox
from markscheme.cli.serve import serve
from markscheme.cli.train import train

app = typer.Typer(
    name="markscheme",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - an option's callback
    if wanted:
        from markscheme.verifiers.release import release

        typer.echo(f"markscheme {release()}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Grade model answers and programs strictly, and say why."""
    del version


app.command()(grade)
app.command()(audit)
app.command("eval")(evaluate)
app.command()(sample)
app.command()(judge)
app.command()(serve)
app.command()(plan)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(train)
app.add_typer(sandbox)
app.add_typer(prm)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 must not end a run
    app()
