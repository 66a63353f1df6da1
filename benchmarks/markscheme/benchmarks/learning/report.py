"""From the units of a run to its figures: every number of the table, the plot and the page comes from here."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from markscheme.benchmarks.learning.arms import ARMS, PROBES, Arm
from markscheme.benchmarks.learning.intervals import bootstrap, sign_flip_p
from markscheme.benchmarks.learning.measure import sign_accuracy
from markscheme.benchmarks.learning.settings import Settings
from markscheme.benchmarks.learning.units import Unit
from markscheme.verifiers.errors import DataError

Done = Mapping[str, Mapping[str, Any]]
BINS = 8
"""Points of a curve: generations are pooled over an eighth of the budget."""

CONTRASTS = (("delta", "delta_shuffled"), ("delta", "delta_constant"), ("both", "delta"), ("both", "delta_constant"))
"""Pairs of arms, besides each against ``outcome``, whose difference the controls are there for."""

MEASURES = ("accuracy", "sound", "flawed", "step_accuracy", "steps", "idle")


def chosen_rates(done: Done, settings: Settings) -> dict[str, float]:
    """Return each trained arm's learning rate: the best mean accuracy on the tuning seeds, the smaller of equal ones.

    Raises:
        DataError: a unit of the grid is not there.
    """
    return {
        arm: min(row, key=lambda rate, row=row: (-row[rate], rate))  # type: ignore[misc]
        for arm, row in tuning(done, settings).items()
    }


def tuning(done: Done, settings: Settings) -> dict[str, dict[float, float]]:
    """Return the mean accuracy of every trained arm at every rate of the grid."""
    table: dict[str, dict[float, float]] = {}
    for arm in ARMS:
        for rate in settings.rates if arm.trained else ():
            units = [_unit(done, Unit(arm.name, seed, rate)) for seed in settings.tune_seeds]
            scores = [unit["evaluation"]["sampled"]["accuracy"] for unit in units]
            table.setdefault(arm.name, {})[rate] = sum(scores) / len(scores)
    return table


def report(done: Done, settings: Settings, command: str) -> dict[str, Any]:
    """Return all figures of a run, over the seeds for which every arm has ended.

    Raises:
        DataError: the grid is not complete, or fewer than two seeds are.
    """
    rates = chosen_rates(done, settings)
    units = {arm.name: _seeds(done, arm, rates, settings) for arm in (*ARMS, *PROBES)}
    seeds = [seed for seed in settings.seeds if all(seed in units[arm.name] for arm in ARMS)]
    if len(seeds) < 2:
        raise DataError(f"expected at least 2 seeds with every arm, got {len(seeds)}: run again without --report-only")
    probed = [seed for seed in seeds[: settings.probe_seeds] if all(seed in units[arm.name] for arm in PROBES)]
    outcome = units["outcome"]
    arms = {arm.name: _arm(arm, units[arm.name], outcome, seeds, rates) for arm in ARMS}
    if len(probed) >= 2:
        arms |= {arm.name: _arm(arm, units[arm.name], outcome, probed, rates) for arm in PROBES}
    every = _used(done, units, settings)
    return {
        "command": command,
        "dates": [min(unit["date"] for unit in every), max(unit["date"] for unit in every)],
        "versions": {name: version(name) for name in ("torch", "transformers", "trl")},
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}",
        "cpu_s": round(sum(unit["cpu_s"] for unit in every)),
        "units": len(every),
        "settings": dataclasses.asdict(settings),
        "parameters": units["sft"][seeds[0]]["parameters"],
        "seeds": seeds,
        "probe_seeds": probed,
        "rates": rates,
        "tuning": tuning(done, settings),
        "arms": arms,
        "contrasts": [_contrast(arms, pair) for pair in CONTRASTS],
        "curves": {
            arm.name: _curve(units[arm.name], units["sft"], seeds, settings) for arm in ARMS if arm.kind == "grpo"
        },
    }


def _unit(done: Done, unit: Unit) -> Mapping[str, Any]:
    if unit.key not in done:
        raise DataError(f"the run holds no unit {unit.key}: run again without --report-only")
    return done[unit.key]


def _used(
    done: Done, units: Mapping[str, Mapping[int, Mapping[str, Any]]], settings: Settings
) -> list[Mapping[str, Any]]:
    """The units that the report rests on: the log can hold others, of a grid or of seeds that were asked for before."""
    grid = [
        Unit(arm.name, seed, rate)
        for arm in ARMS
        if arm.trained
        for seed in settings.tune_seeds
        for rate in settings.rates
    ]
    used = {unit.key for unit in grid} | {one["unit"] for arm in units.values() for one in arm.values()}
    return [done[key] for key in used]


def _seeds(done: Done, arm: Arm, rates: Mapping[str, float], settings: Settings) -> dict[int, Mapping[str, Any]]:
    if arm.trained:
        keys = {seed: Unit(arm.name, seed, rates[arm.probes or arm.name]).key for seed in settings.seeds}
    else:
        keys = {seed: Unit(arm.name, settings.policy(seed)).key for seed in settings.seeds}
    return {seed: done[key] for seed, key in keys.items() if key in done}


def _arm(
    arm: Arm,
    units: Mapping[int, Mapping[str, Any]],
    outcome: Mapping[int, Mapping[str, Any]],
    seeds: Sequence[int],
    rates: Mapping[str, float],
) -> dict[str, Any]:
    mine = [units[seed] for seed in seeds]
    out: dict[str, Any] = {"meaning": arm.meaning, "seeds": len(seeds), "tokens": [unit["tokens"] for unit in mine]}
    out["rate"] = rates[arm.probes or arm.name] if arm.trained else None
    out["updates"] = [unit.get("updates", 0) for unit in mine]
    for kind in ("sampled", "greedy"):
        for measure in MEASURES:
            values = [unit["evaluation"][kind][measure] for unit in mine]
            base = [outcome[seed]["evaluation"][kind][measure] for seed in seeds]
            out.setdefault(kind, {})[measure] = _figure(
                values, None if arm.name == "outcome" else base, spread=arm.trained
            )
    if arm.kind == "grpo":
        for name in ("signs", "early_signs"):
            each = [sign_accuracy(unit[name]) for unit in mine]
            out[name] = {part: _figure([one[part] for one in each]) for part in each[0]}
    return out


def _contrast(arms: Mapping[str, Any], pair: tuple[str, str]) -> dict[str, Any]:
    """The paired difference of two arms in accuracy."""
    one, other = (arms[name]["sampled"]["accuracy"]["values"] for name in pair)
    figure = _figure(one, other)
    return {"arms": list(pair), "difference": figure["difference"], "p": figure["p"]}


def _figure(
    values: Sequence[float | None], base: Sequence[float | None] | None = None, *, spread: bool = True
) -> dict[str, Any]:
    """The values a seed, their mean and interval, and the paired difference; None where a seed has no value.

    Without ``spread`` the mean stands alone: a first policy's value comes back with every seed that starts from it.
    """
    out: dict[str, Any] = {"values": list(values)}
    known = [value for value in values if value is not None]
    out["mean"] = sum(known) / len(known) if known else None
    out["interval"] = bootstrap(known) if len(known) > 1 and spread else None
    if base is not None:
        pairs = [(a, b) for a, b in zip(values, base, strict=True) if a is not None and b is not None]
        differences = [a - b for a, b in pairs]
        out["difference"] = bootstrap(differences) if len(pairs) > 1 else None
        out["p"] = sign_flip_p(differences) if len(pairs) > 1 else None
    return out


def _curve(
    units: Mapping[int, Mapping[str, Any]],
    first: Mapping[int, Mapping[str, Any]],
    seeds: Sequence[int],
    settings: Settings,
) -> list[dict[str, Any]]:
    """The accuracy of the generations themselves (of problems met for the first time), from the first policy's on."""
    start = [first[seed]["evaluation"]["sampled"]["accuracy"] for seed in seeds]
    points = [{"tokens": 0, "accuracy": bootstrap(start)}]
    width = settings.tokens / BINS
    for bin_ in range(BINS):
        means = []
        for seed in seeds:
            inside = [
                one["accuracy"]
                for one in units[seed]["curve"]
                if min(int((one["tokens"] - 1) / width), BINS - 1) == bin_
            ]
            if inside:
                means.append(sum(inside) / len(inside))
        if len(means) == len(seeds):
            points.append({"tokens": round((bin_ + 0.5) * width), "accuracy": bootstrap(means)})
    return points
