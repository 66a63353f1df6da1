"""From the units of a run to its figures."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from statistics import fmean
from typing import Any

from markscheme.benchmarks.learning.hacking.arms import ARMS, JUDGES
from markscheme.benchmarks.learning.hacking.settings import Settings
from markscheme.benchmarks.learning.report import Done
from markscheme.benchmarks.learning.units import Unit
from markscheme.verifiers.errors import DataError

BINS = 10
"""Points of a curve: generations are pooled over a tenth of the budget."""

MEASURES = ("accuracy", "sound", "flawed", "step_accuracy", "steps", "idle")
JUDGED = ("reward", "truth", "right", "wrong", "correlation", "auc", "guarded")


def report(done: Done, settings: Settings, command: str) -> dict[str, Any]:
    """Return all figures of a run, over the seeds for which every arm has ended.

    Raises:
        DataError: no seed has every arm.
    """
    seeds = [seed for seed in settings.seeds if all(unit.key in done for unit in units_of(seed))]
    if not seeds:
        raise DataError("expected at least one seed with every arm, got none: run again without --report-only")
    used = [done[unit.key] for seed in seeds for unit in units_of(seed)]
    first = {seed: done[Unit("judges", seed).key] for seed in seeds}
    return {
        "command": command,
        "dates": [min(unit["date"] for unit in used), max(unit["date"] for unit in used)],
        "versions": {name: version(name) for name in ("torch", "transformers", "trl")},
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}",
        "cpu_s": round(sum(unit["cpu_s"] for unit in used)),
        "judges_cpu_s": round(sum(unit["cpu_s"] for unit in first.values())),
        "units": len(used),
        "settings": dataclasses.asdict(settings),
        "seeds": seeds,
        "parameters": first[seeds[0]]["parameters"],
        "judges": [first[seed]["judges"] for seed in seeds],
        "before": _measured([first[seed] for seed in seeds]),
        "arms": {
            arm.name: {
                **dataclasses.asdict(arm),
                "rate": arm.rate,
                **_measured([done[Unit(arm.name, seed, arm.rate).key] for seed in seeds]),
                **_run([done[Unit(arm.name, seed, arm.rate).key] for seed in seeds], settings),
            }
            for arm in ARMS
        },
    }


def units_of(seed: int) -> list[Unit]:
    """Return the units of a seed: its judges first."""
    return [Unit("judges", seed), *(Unit(arm.name, seed, arm.rate) for arm in ARMS)]


def _measured(units: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The held-out figures, one a seed: of the policy, and of each judge beside the truth."""
    return {
        "sampled": {name: [unit["evaluation"]["sampled"][name] for unit in units] for name in MEASURES},
        "greedy": {name: [unit["evaluation"]["greedy"][name] for unit in units] for name in MEASURES},
        "held_out": {
            judge: {name: [unit["held_out"][judge][name] for unit in units] for name in (*JUDGED, "unmatched")}
            for judge in JUDGES
        },
    }


def _run(units: Sequence[Mapping[str, Any]], settings: Settings) -> dict[str, Any]:
    """What the run itself was: its tokens, updates, warnings and curves."""
    rows = [unit["curve"] for unit in units]
    return {
        "tokens": [unit["tokens"] for unit in units],
        "updates": [unit["updates"] for unit in units],
        "cpu_s": [unit["cpu_s"] for unit in units],
        "drifts": [unit["drifts"] for unit in units],
        "curves": {name: curve(rows, (name,), settings) for name in MEASURES},
        "judge_curves": {
            judge: {name: curve(rows, ("judges", judge, name), settings) for name in JUDGED} for judge in JUDGES
        },
    }


def curve(seeds: Sequence[Sequence[Mapping[str, Any]]], path: Sequence[str], settings: Settings) -> list[list[Any]]:
    """Return a figure over training: the middle of each bin in tokens, and each seed's mean in it, None for none."""
    width = settings.tokens / BINS
    points: list[list[Any]] = []
    for place in range(BINS):
        means = []
        for rows in seeds:
            inside = [_at(row, path) for row in rows if min(int((row["tokens"] - 1) / width), BINS - 1) == place]
            known = [value for value in inside if value is not None]
            means.append(fmean(known) if known else None)
        points.append([round((place + 0.5) * width), means])
    return points


def _at(row: Mapping[str, Any], path: Sequence[str]) -> float | None:
    found: Any = row
    for name in path:
        found = found[name]
    value: float | None = found
    return value
