"""What running one small program costs: ours at levels 3 and 2 beside other ways, in the same run.

Run ``python -m markscheme.benchmarks.speed.programs [--runs N] [--json OUT] [--plot OUT.png]``. The ways take turns,
block by block, so that a host's load falls on all. CPU time is of the whole tree: the caller, what it started, and for
ours the zygote and every job; starting the zygote and the first import of a peer are off the clock. Runs per second are
of one caller that waits for each run: on a loaded host they are noise, and CPU milliseconds are what to trust.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markscheme.benchmarks.speed.program_figures import plot, print_table
from markscheme.benchmarks.speed.runners import CODE, Runner, runners
from markscheme.verifiers.errors import MarkschemeError

_BLOCK = 5  # runs that one way has before it is the next one's turn


@dataclass
class Tally:
    """What one way of running cost."""

    runner: Runner
    cpu: float = 0.0
    walls: list[float] = field(default_factory=list)

    def run(self, count: int) -> None:
        """Run a block, on the clock."""
        before = self.runner.cpu_seconds()
        for _ in range(count):
            start = time.perf_counter()
            self.runner.run()
            self.walls.append(time.perf_counter() - start)
        self.cpu += self.runner.cpu_seconds() - before

    def summary(self) -> dict[str, Any]:
        """Return the figures."""
        walls = sorted(self.walls)
        return {
            "isolation": self.runner.isolation,
            "runs": len(walls),
            "cpu_ms": round(1000 * self.cpu / len(walls), 3),
            "runs_per_s": round(len(walls) / sum(walls), 1),
            "p50_ms": round(1000 * walls[len(walls) // 2], 3),
            "p99_ms": round(1000 * walls[min(len(walls) - 1, len(walls) * 99 // 100)], 3),
        }


def compare(made: Sequence[Runner], runs: int) -> dict[str, dict[str, Any]]:
    """Let the ways take turns until each has had ``runs`` runs. Return the figures of each, by name."""
    tallies = [Tally(runner) for runner in made]
    for runner in made:
        runner.run()  # what is loaded at first is off the clock
    for number, start in enumerate(range(0, runs, _BLOCK)):
        at = number % len(tallies)
        for tally in [*tallies[at:], *tallies[:at]]:
            tally.run(min(_BLOCK, runs - start))
    return {tally.runner.name: tally.summary() for tally in tallies}


def run(runs: int) -> dict[str, Any]:
    """Measure every way that this host has.

    Raises:
        RuntimeError: a way that runs the program wrongly.
    """
    with runners() as (made, missing):
        figures = compare(made, runs)
    ours = figures.get("markscheme, level 3") or figures.get("markscheme, level 2")
    for one in figures.values():
        one["times_ours"] = round(one["cpu_ms"] / ours["cpu_ms"], 2) if ours else None
    return {
        "program": CODE,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "runners": figures,
        "missing": missing,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where nothing can be measured."""
    parser = argparse.ArgumentParser(prog="python -m markscheme.benchmarks.speed.programs", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="runs of each way (default 200)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    parser.add_argument("--plot", type=Path, metavar="OUT.png", help="draw them here")
    chosen = parser.parse_args(arguments)
    if chosen.runs < 1:
        parser.error(f"--runs must be at least 1, not {chosen.runs}")
    try:
        figures = run(chosen.runs)
        if chosen.plot is not None:
            plot(figures, chosen.plot)
    except (MarkschemeError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if chosen.json is not None:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print_table(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
