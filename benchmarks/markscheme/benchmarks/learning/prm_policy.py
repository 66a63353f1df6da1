"""What does a policy make of a learned judge of steps, where the truth of every step is known?

Run ``python -m markscheme.benchmarks.learning.prm_policy [--quick] [--seeds N] [--workers N] [--work FOLDER]
[--out FOLDER]``. For
each seed a policy of a hundred thousand parameters is trained on flawed demonstrations, and two judges of steps over
it: one on exact labels, one on Monte-Carlo labels of its own solutions. Then GRPO learns from the answers, from the
exact steps, from a judge that never errs and from the two that do, with the same generated tokens. All judges score
every generation beside the truth. Each unit is written to WORK/units.jsonl as it ends, and a policy's judges stage by
stage: a run that was stopped goes on where it was. ``docs/learning.md`` says more.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded: every worker has one thread
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from rich.console import Console

from markscheme.benchmarks.learning.campaign import Log, run_units
from markscheme.benchmarks.learning.hacking.figures import plot
from markscheme.benchmarks.learning.hacking.page import print_tables, write
from markscheme.benchmarks.learning.hacking.report import report, units_of
from markscheme.benchmarks.learning.hacking.settings import FULL, QUICK, Settings
from markscheme.benchmarks.learning.hacking.units import run_unit
from markscheme.benchmarks.learning.units import Unit
from markscheme.verifiers.errors import MarkschemeError

COMMAND = "python -m markscheme.benchmarks.learning.prm_policy"


def run(settings: Settings, log: Log, *, workers: int, console: Console | None = None) -> None:
    """Run what the log does not hold yet: judges, then arms, seed by seed: a run that is cut short has whole seeds."""

    def go(title: str, units: Sequence[Unit]) -> None:
        run_units(units, settings, log, title=title, workers=workers, console=console, run=run_unit)

    go("policies and judges", [units_of(seed)[0] for seed in settings.seeds])
    go("arms", [unit for seed in settings.seeds for unit in units_of(seed)[1:]])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every part in a minute; nothing is learnt")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds to report (default 3; quick: 1)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes, a thread each (default 2)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the report goes (default: the work folder)")
    parser.add_argument(
        "--work", type=Path, default=Path("out/prm_policy"), metavar="FOLDER", help="default out/prm_policy"
    )
    parser.add_argument("--report-only", action="store_true", help="run nothing: write the report of what there is")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where something is wrong with the input."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    for name in ("seeds", "workers"):
        value = getattr(chosen, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1, not {value}")
    settings, command = QUICK if chosen.quick else FULL, COMMAND + " --quick" * chosen.quick
    if chosen.seeds is not None:
        settings = dataclasses.replace(
            settings, seeds=tuple(range(settings.seeds[0], settings.seeds[0] + chosen.seeds))
        )
        command += f" --seeds {chosen.seeds}"
    out = chosen.out or chosen.work
    try:
        log = Log(chosen.work / "units.jsonl", settings)
        if not chosen.report_only:
            run(settings, log, workers=chosen.workers)
        figures = report(log.done, settings, command)
        plot(figures, out / "prm_policy.png")
        write(figures, out)
    except (MarkschemeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print_tables(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
