"""Speed and verdicts on pairs of answers, ours beside math-verify's in the same run.

Run ``python -m markscheme.benchmarks.speed.answers [--data FILE…] [--json OUT] [--plot OUT.png]``. The two graders take
turns, block by block, in one process, so that a host's load falls on both. Reported: pairs per CPU-second (algebra
workers included), right answers refused, wrong ones accepted, and wall milliseconds a pair. Wall times on a loaded host
are noise; CPU-seconds and their ratio are what to trust. math-verify takes seconds on some pairs (its own time limit):
``--limit`` judges a sample.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import math
import platform
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markscheme.benchmarks.speed.figures import plot, print_table
from markscheme.benchmarks.speed.graders import Grader, MathVerify, Ours
from markscheme.benchmarks.speed.rows import Row, built_in_rows, load_rows, sample_rows
from markscheme.verifiers import MarkschemeError, Outcome

_EXAMPLES = Path(__file__).parents[4] / "examples" / "completions.jsonl"
_BLOCK = 100  # pairs that a grader judges before it is the other's turn
_WARM_UP = Row("warm-up", r"\sqrt{2} + \sqrt{3}", r"\sqrt{5 + 2\sqrt{6}}", expected=True, form="answer")


@dataclass
class Tally:
    """What one grader did on one file."""

    grader: Grader
    cpu: float = 0.0
    walls: list[float] = field(default_factory=list)
    accepted: list[bool] = field(default_factory=list)

    def judge(self, rows: Sequence[Row]) -> None:
        """Judge a block of pairs, on the clock."""
        before = time.process_time()
        for row in rows:
            start = time.perf_counter()
            self.accepted.append(self.grader.accepts(row))
            self.walls.append(time.perf_counter() - start)
        self.cpu += time.process_time() - before

    def summary(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the figures: counts, pairs per CPU-second, and wall milliseconds a pair."""
        pairs = list(zip(rows, self.accepted, strict=True))
        return {
            "accepted": sum(self.accepted),
            "fn": sum(row.expected is True and not accepted for row, accepted in pairs),
            "fp": sum(row.expected is False and accepted for row, accepted in pairs),
            "pairs_per_cpu_s": round(len(rows) / max(self.cpu, 1e-9), 1),
            "cpu_s": round(self.cpu, 4),
            "p50_ms": percentile(self.walls, 50),
            "p99_ms": percentile(self.walls, 99),
            "max_ms": percentile(self.walls, 100),
        }


def percentile(seconds: Sequence[float], percent: float) -> float:
    """Return a percentile by the nearest rank, in milliseconds."""
    rank = max(math.ceil(len(seconds) * percent / 100), 1)
    return round(sorted(seconds)[rank - 1] * 1e3, 3)


def compare(name: str, rows: Sequence[Row], graders: Sequence[Grader]) -> dict[str, Any]:
    """Let the graders judge the same pairs in turns. Return the figures of each, and the ratio of their speeds."""
    tallies = [Tally(grader) for grader in graders]
    workers = [grader.worker_cpu_seconds() for grader in graders]
    before = {id(grader): Counter(grader.outcomes) for grader in graders if isinstance(grader, Ours)}
    for start in range(0, len(rows), _BLOCK):
        # Who begins changes with each block, so that neither always meets warm caches.
        order = tallies if start // _BLOCK % 2 == 0 else tallies[::-1]
        for tally in order:
            tally.judge(rows[start : start + _BLOCK])
    for tally, spent in zip(tallies, workers, strict=True):
        # Over the whole file, not block by block: a worker may be loading while it is the other's turn.
        tally.cpu += tally.grader.worker_cpu_seconds() - spent
    summaries = {tally.grader.name: tally.summary(rows) for tally in tallies}
    for grader in graders:
        if isinstance(grader, Ours):
            counts = grader.outcomes - before[id(grader)]
            summaries[grader.name]["outcomes"] = {str(outcome): counts[outcome] for outcome in Outcome}
    first, last = summaries[graders[0].name], summaries[graders[-1].name]
    return {
        "file": name,
        "n": len(rows),
        "true": sum(row.expected is True for row in rows),
        "false": sum(row.expected is False for row in rows),
        "graders": summaries,
        "times_as_fast": round(first["pairs_per_cpu_s"] / last["pairs_per_cpu_s"], 1),
    }


def run(files: Sequence[Path], *, limit: int | None = None, seed: int = 0) -> dict[str, Any]:
    """Judge every file with both graders.

    Args:
        files: JSONL files; none for the bundled examples, or the built-in pairs where those are absent.
        limit: pairs judged of each file; all by default.
        seed: of the sample that ``limit`` draws.

    Raises:
        DataError: a file that cannot be read.
        MissingExtraError: math-verify is not installed.
    """
    sets = [(path.name, load_rows(path)) for path in files or [_EXAMPLES] if files or path.is_file()]
    sets = sets or [("built-in pairs", built_in_rows())]
    ours, peer = Ours(), MathVerify()
    for grader in (ours, peer):
        grader.accepts(_WARM_UP)  # imports and grammars load once, off the clock
    gc.collect()
    gc.freeze()  # what a grader keeps loaded is not searched for garbage in the other's turn
    results = [compare(name, sample_rows(rows, limit, seed), [ours, peer]) for name, rows in sets]
    return {
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in ("markscheme", "math-verify", "sympy")},
        "setup": {grader.name: grader.setup for grader in (ours, peer)},
        "limit": limit,
        "seed": seed,
        "files": results,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m markscheme.benchmarks.speed.answers", description=__doc__)
    parser.add_argument("--data", nargs="+", type=Path, default=[], metavar="FILE", help="JSONL files of pairs")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    parser.add_argument("--plot", type=Path, metavar="OUT.png", help="draw them here")
    parser.add_argument("--limit", type=int, metavar="N", help="judge a sample of N pairs of each file")
    parser.add_argument("--seed", type=int, default=0, help="of that sample (default 0)")
    chosen = parser.parse_args(arguments)
    if chosen.limit is not None and chosen.limit < 1:
        parser.error(f"--limit must be at least 1, not {chosen.limit}")
    try:
        figures = run(chosen.data, limit=chosen.limit, seed=chosen.seed)
        if chosen.plot is not None:
            plot(figures, chosen.plot)
    except MarkschemeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if chosen.json is not None:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print_table(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
