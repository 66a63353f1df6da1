"""The entry point: one Typer application, a module a command."""

from __future__ import annotations

import sys
from io import TextIOWrapper

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
    help="Grade model answers and programs strictly, and say why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
