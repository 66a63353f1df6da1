"""Can a judge of steps be made from nothing but a policy, its samples and their answers?

Run ``python -m markscheme.benchmarks.learning.prm_arithmetic [--quick] [--seeds N] [--work FOLDER] [--out FOLDER]``.
For each seed: a policy of a hundred thousand parameters is trained on flawed demonstrations of chains of digit
operations; it writes solutions; rollouts from each of their prefixes give Monte-Carlo labels; a pair head over the
frozen policy is trained on these, and another on the task's exact labels. Both are measured as ProcessBench does, on
the policy's own solutions and on injected errors, and as choosers among eight samples, beside baselines that need no
judge. Every stage is kept in WORK: a run that was stopped goes on where it was. ``docs/prm_labels.md`` says more.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from markscheme.benchmarks.learning.judging.report import plot, print_tables, report, write
from markscheme.benchmarks.learning.judging.seed import STAGES, SeedRun
from markscheme.benchmarks.learning.judging.settings import FULL, QUICK, Settings
from markscheme.benchmarks.learning.policy import quiet
from markscheme.verifiers.errors import MarkschemeError

SEEDS = (2, 3, 4)
"""Settings were chosen on seed 1."""
MODULE = "markscheme.benchmarks.learning.prm_arithmetic"


def run(
    settings: Settings, seeds: Sequence[int], work: Path, console: Console | None = None
) -> list[dict[str, object]]:
    """Run what the work folder does not hold yet. Return the figures of each seed."""
    import torch  # noqa: PLC0415 - after its threads are set

    torch.set_num_threads(1)
    quiet()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("stages", total=len(seeds) * len(STAGES))

        def done(seed: int, stage: str) -> None:
            progress.update(bar, advance=1, description=f"seed {seed}: {stage}")

        return [SeedRun(work, settings, seed, lambda stage, own=seed: done(own, stage)).run() for seed in seeds]  # type: ignore[misc]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every part in half a minute; nothing is learnt")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"how many (default {len(SEEDS)}; quick: 1)")
    parser.add_argument("--work", type=Path, default=Path("out/prm"), metavar="FOLDER", help="default out/prm")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the report goes (default: the work folder)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where something is wrong with the input."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    seeds = chosen.seeds or (1 if chosen.quick else len(SEEDS))
    if seeds < 1:
        parser.error(f"--seeds must be at least 1, not {seeds}")
    command = f"python -m {MODULE}" + (" --quick" if chosen.quick else "")
    command += f" --seeds {chosen.seeds}" if chosen.seeds else ""
    settings = QUICK if chosen.quick else FULL
    try:
        found = report(run(settings, range(SEEDS[0], SEEDS[0] + seeds), chosen.work), settings, command)
        out = chosen.out or chosen.work
        write(found, out)
        plot(found, out / "prm_arithmetic.png")
    except (MarkschemeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print_tables(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
