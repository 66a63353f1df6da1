"""From the units of a run to its figures."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any

from markscheme.benchmarks.learning.intervals import Interval, bootstrap
from markscheme.benchmarks.learning.report import Done
from markscheme.benchmarks.learning.units import Unit
from markscheme.benchmarks.learning.words.settings import ARMS, MEANING, Settings
from markscheme.benchmarks.learning.words.units import SFT, arm_folder, held_out, units_of
from markscheme.benchmarks.statistics import wilson
from markscheme.verifiers.errors import DataError

MEASURES = ("accuracy", "sound", "flawed", "step_accuracy", "steps", "idle")
DECODINGS = ("greedy", "sampled")


def named(value: Any) -> Any:
    """A file by its name, for a page that others read; all else as it is."""
    return Path(value).name if isinstance(value, str) and Path(value).exists() else value


def report(done: Done, settings: Settings, command: str, work: Path) -> dict[str, Any]:
    """Return all figures of a run, and how far the arms came that have not ended.

    Raises:
        DataError: not even the supervised training has ended.
    """
    if SFT.key not in done:
        raise DataError("the supervised training has not ended: run again without --report-only")
    units = {"sft": [done[SFT.key]]}
    units |= {arm: [done[one.key] for one in units_of(settings) if one.arm == arm and one.key in done] for arm in ARMS}
    units = {name: found for name, found in units.items() if found}
    kinds = list(held_out(settings))
    used = [unit for found in units.values() for unit in found]
    return {
        "command": command,
        "dates": [min(unit["date"] for unit in used), max(unit["date"] for unit in used)],
        "versions": {name: version(name) for name in ("torch", "transformers", "trl")},
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}",
        "settings": {name: named(value) for name, value in dataclasses.asdict(settings).items()},
        "parameters": units["sft"][0]["parameters"],
        "kinds": kinds,
        "arms": {name: _arm(name, units, kinds) for name in units},
        "unfinished": {one.key: _progress(one, settings, work) for one in units_of(settings) if one.key not in done},
        "cpu_s": round(sum(unit["cpu_s"] for unit in used)),
        "hours": round(sum(unit["train_wall_s"] for unit in used) / 3600, 2),
        "demonstration": len(settings.seeds) < 2 or any(len(units.get(arm, ())) < 2 for arm in ARMS),
        "cut": sorted(name for name, found in units.items() if any(unit.get("cut") for unit in found)),
    }


def _progress(unit: Unit, settings: Settings, work: Path) -> dict[str, int]:
    file = arm_folder(work, unit, settings) / "updates.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {"updates": len(rows), "tokens": rows[-1]["tokens"] if rows else 0}


def _arm(name: str, units: Mapping[str, Sequence[Mapping[str, Any]]], kinds: Sequence[str]) -> dict[str, Any]:
    mine = units[name]
    out: dict[str, Any] = {
        "meaning": MEANING[name],
        "seeds": [unit["seed"] for unit in mine],
        "tokens": [unit["tokens"] for unit in mine],
        "updates": [unit["updates"] for unit in mine],
        "cpu_s": [unit["cpu_s"] for unit in mine],
        "train_wall_s": [unit["train_wall_s"] for unit in mine],
        "curves": [unit.get("curve", []) for unit in mine],
    }
    for decoding in DECODINGS:
        out[decoding] = {measure: [unit["evaluation"][decoding][measure] for unit in mine] for measure in MEASURES} | {
            "kinds": {kind: _kind(name, units, decoding, kind) for kind in kinds},
            "all": _kind(name, units, decoding, None, kinds),
        }
    return out


def _kind(
    name: str,
    units: Mapping[str, Sequence[Mapping[str, Any]]],
    decoding: str,
    kind: str | None,
    kinds: Sequence[str] = (),
) -> dict[str, Any]:
    """Right answers with their interval, and the paired differences over problems to ``sft`` and ``outcome``."""
    asked = [kind] if kind else list(kinds)
    own = _per_problem(units[name], decoding, asked)
    return {
        "n": len(own),
        "accuracy": share(own, len(units[name])),
        "minus": {
            base: bootstrap([a - b for a, b in zip(own, _per_problem(units[base], decoding, asked), strict=True)])
            for base in ("sft", "outcome")
            if base in units and name not in ("sft", base)
        },
    }


def _per_problem(units: Sequence[Mapping[str, Any]], decoding: str, kinds: Sequence[str]) -> list[float]:
    """For each problem, the share of the seeds that have it right."""
    rows = [[one for kind in kinds for one in unit["evaluation"][decoding]["kinds"][kind]["correct"]] for unit in units]
    return [fmean(column) for column in zip(*rows, strict=True)]


def share(values: Sequence[float], seeds: int) -> Interval:
    """The mean over problems: with Wilson's interval for one seed, a bootstrap over problems for several."""
    if seeds > 1:
        return bootstrap(values)
    return Interval(fmean(values), *wilson(sum(values), len(values)))
