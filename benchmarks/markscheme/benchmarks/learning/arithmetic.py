"""Does credit for steps teach a small model more than credit for answers, from as many generated tokens?

Run ``python -m markscheme.benchmarks.learning.arithmetic [--quick] [--seeds N] [--workers N] [--work FOLDER]
[--out FOLDER]``. Policies of
a hundred thousand parameters are made and trained on flawed demonstrations; from there every arm spends the same number
of generated tokens. Learning rates are chosen first, for every arm over the same grid, on seeds that are not reported.
Each (arm, seed) is written to WORK/units.jsonl as it ends: a run that was stopped goes on where it was.
The table, OUT/arithmetic.json, .md and .png come from that file alone. ``docs/learning.md`` says how the task is made.
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

from markscheme.benchmarks.learning.arms import ARMS, PROBES
from markscheme.benchmarks.learning.campaign import Log, run_units
from markscheme.benchmarks.learning.figures import plot, print_table
from markscheme.benchmarks.learning.page import write
from markscheme.benchmarks.learning.report import chosen_rates, report
from markscheme.benchmarks.learning.settings import FULL, QUICK, Settings
from markscheme.benchmarks.learning.units import Unit
from markscheme.verifiers.errors import MarkschemeError

COMMAND = "python -m markscheme.benchmarks.learning.arithmetic"


def run(settings: Settings, log: Log, *, workers: int, console: Console | None = None) -> dict[str, float]:
    """Run what the log does not hold yet. Return each trained arm's learning rate."""
    trained = [arm for arm in ARMS if arm.trained]

    def go(title: str, units: Sequence[Unit]) -> None:
        run_units(units, settings, log, title=title, workers=workers, console=console)

    go("first training", [Unit("sft", seed) for seed in settings.policies])
    grid = [Unit(arm.name, seed, rate) for seed in settings.tune_seeds for rate in settings.rates for arm in trained]
    go("learning rates", grid)
    rates = chosen_rates(log.done, settings)
    # Seed by seed, so that a run that is cut short has all arms of the seeds that it has.
    go("arms", [Unit(arm.name, seed, rates[arm.name]) for seed in settings.seeds for arm in trained])
    probes = [(arm, rates[str(arm.probes)]) for arm in PROBES]
    go(
        "probes",
        [Unit(arm.name, seed, rate) for seed in settings.seeds[: settings.probe_seeds] for arm, rate in probes],
    )
    return rates


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every part in a minute; nothing is learnt")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds to report (default 8; quick: 2)")
    parser.add_argument("--rates", type=float, nargs="+", metavar="R", help="learning rates to tune over")
    parser.add_argument("--tune-seeds", type=int, nargs="+", metavar="S", help="seeds to tune on (default 101)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes, a thread each (default 2)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the report goes (default: the work folder)")
    parser.add_argument(
        "--work", type=Path, default=Path("out/learning"), metavar="FOLDER", help="default out/learning"
    )
    parser.add_argument("--report-only", action="store_true", help="run nothing: write the report of what there is")
    return parser


def _settings(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> tuple[Settings, str]:
    """Return what was asked for, and the command that asks for it."""
    settings, command = QUICK if chosen.quick else FULL, COMMAND + " --quick" * chosen.quick
    if chosen.seeds is not None:
        if not 2 <= chosen.seeds <= 16:
            parser.error(f"--seeds must be 2 to 16, not {chosen.seeds}: an interval needs two")
        settings = dataclasses.replace(settings, seeds=tuple(range(1, chosen.seeds + 1)))
        command += f" --seeds {chosen.seeds}"
    if chosen.rates:
        if min(chosen.rates) <= 0:
            parser.error(f"--rates must be above 0, not {min(chosen.rates):g}")
        settings = dataclasses.replace(settings, rates=tuple(sorted(set(chosen.rates))))
        command += f" --rates {' '.join(f'{rate:g}' for rate in settings.rates)}"
    if chosen.tune_seeds:
        if shared := sorted({*chosen.tune_seeds} & {*settings.seeds}):
            parser.error(f"--tune-seeds: {shared[0]} is a seed that is reported; rates are chosen on others")
        settings = dataclasses.replace(settings, tune_seeds=tuple(sorted(set(chosen.tune_seeds))))
        command += f" --tune-seeds {' '.join(map(str, settings.tune_seeds))}"
    return settings, command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where something is wrong with the input."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    settings, command = _settings(parser, chosen)
    if chosen.workers < 1:
        parser.error(f"--workers must be at least 1, not {chosen.workers}")
    out = chosen.out or chosen.work
    try:
        log = Log(chosen.work / "units.jsonl", settings)
        if not chosen.report_only:
            run(settings, log, workers=chosen.workers)
        figures = report(log.done, settings, command)
        plot(figures, out / "arithmetic.png")
        write(figures, out)
    except (MarkschemeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print_table(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
