"""A small real model learns word problems from answers, from steps, and from both.

Run ``python -m markscheme.benchmarks.learning.smollm [--quick] [--steps N] [--gsm8k FILE] [--work FOLDER]
[--out FOLDER]``. SmolLM2-135M-Instruct (see `markscheme.benchmarks.models.smollm2`) is shown the format on a few
demonstrations; then GRPO learns from right answers, from right steps, and from both, with the same problems and as many
generated tokens. Problems of one and two steps are drawn from templates, and every step is judged exactly; held out are
other numbers, and templates of their own. Checkpoints are kept in WORK: a run that was stopped goes on from the last
one, and ``--steps`` cuts every arm short, which the report then says. ``docs/learning.md`` says more, and how long it
takes.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from rich.console import Console

from markscheme.benchmarks.learning.campaign import Log, run_units
from markscheme.benchmarks.learning.words.draw import gsm8k
from markscheme.benchmarks.learning.words.figures import plot
from markscheme.benchmarks.learning.words.page import print_tables, write
from markscheme.benchmarks.learning.words.report import named, report
from markscheme.benchmarks.learning.words.settings import FULL, QUICK, Settings
from markscheme.benchmarks.learning.words.units import SFT, run_unit, units_of
from markscheme.verifiers.errors import MarkschemeError

COMMAND = "python -m markscheme.benchmarks.learning.smollm"
NUMBERS = {
    "steps": "cut every arm short after N updates; the report says so",
    "tokens": "what an arm may generate",
    "sft_updates": "updates of the supervised training",
    "prompts": "problems an update",
    "group": "completions a problem",
    "evaluated": "held-out problems of each kind",
}


def run(settings: Settings, log: Log, console: Console | None = None) -> None:
    """Run what the log does not hold yet."""
    for title, units in (("supervised training", [SFT]), ("arms", units_of(settings))):
        run_units(units, settings, log, title=title, workers=1, console=console, run=run_unit)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every part with a tiny random model; nothing is learnt")
    parser.add_argument("--model", metavar="FOLDER", help="another model than SmolLM2-135M-Instruct")
    parser.add_argument("--gsm8k", metavar="FILE", help="GSM8K's training split: half of the problems come from it")
    parser.add_argument("--credit", choices=("sum", "min", "delta", "first_error"), help="default delta")
    for name, text in NUMBERS.items():
        default = getattr(FULL, name)
        note = "" if default is None else f" (default {default:,})"
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=text + note)
    parser.add_argument("--rate", type=float, metavar="R", help=f"learning rate of the arms (default {FULL.rate:g})")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds (default 1: a demonstration)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the report goes (default: the work folder)")
    parser.add_argument("--work", type=Path, default=Path("out/smollm"), metavar="FOLDER", help="default out/smollm")
    parser.add_argument("--report-only", action="store_true", help="run nothing: write the report of what there is")
    return parser


def _settings(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> tuple[Settings, str]:
    """Return what was asked for, and the command that asks for it."""
    settings, command = QUICK if chosen.quick else FULL, COMMAND + " --quick" * chosen.quick
    for name in ("model", "gsm8k", "credit", *NUMBERS, "rate", "seeds"):
        value = getattr(chosen, name)
        if value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if not isinstance(value, str) and value <= 0:
            parser.error(f"{option} must be above 0, not {value}")
        command += f" {option} {named(value)}"
        changes: dict[str, Any] = {name: tuple(range(1, value + 1)) if name == "seeds" else value}
        settings = dataclasses.replace(settings, **changes)
    if settings.group < 2:
        parser.error(f"--group must be at least 2, not {settings.group}")
    if settings.evaluated < 2:
        parser.error(f"--evaluated must be at least 2, not {settings.evaluated}: an interval needs two")
    batch = settings.prompts * settings.group
    while batch % settings.micro:
        settings = dataclasses.replace(settings, micro=settings.micro - 1)
    return settings, command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where something is wrong with the input."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    settings, command = _settings(parser, chosen)
    out = chosen.out or chosen.work
    try:
        if settings.gsm8k is not None:
            gsm8k(Path(settings.gsm8k))  # what is wrong with it is said before anything is trained
        log = Log(chosen.work / "units.jsonl", settings)
        if not chosen.report_only:
            run(settings, log)
        figures = report(log.done, settings, command, chosen.work)
        plot(figures, out / "smollm.png")
        write(figures, out)
    except (MarkschemeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print_tables(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
