"""The command line of the benchmarks in which two ways take turns for some rounds."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from markscheme.verifiers.errors import MissingExtraError


def command(
    name: str,
    about: str | None,
    run: Callable[[int], dict[str, Any]],
    show: Callable[[dict[str, Any]], None],
    arguments: Sequence[str] | None,
    *,
    default: int,
    round_is: str,
) -> int:
    """Run a benchmark's command line. Return its exit status: 0, or 2 where nothing can be measured.

    Args:
        name: of the module in this package.
        about: its docstring.
        run: measures so many rounds.
        show: prints what was measured.
        arguments: the command line; None: the process's own.
        default: rounds, unless told.
        round_is: what a round is, for the help.
    """
    parser = argparse.ArgumentParser(prog=f"python -m markscheme.benchmarks.speed.{name}", description=about)
    parser.add_argument("--rounds", type=int, default=default, metavar="N", help=f"{round_is} (default {default})")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1:
        parser.error(f"--rounds must be at least 1, not {chosen.rounds}")
    try:
        figures = run(chosen.rounds)
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if chosen.json is not None:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    show(figures)
    return 0
