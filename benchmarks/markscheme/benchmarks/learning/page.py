"""The page and the JSON file of a run's figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HEADINGS = (
    "arm",
    "accuracy",
    "minus outcome",
    "p",
    "greedy",
    "sound",
    "flawed",
    "steps",
    "idle",
    "sign: early",
    "whole run",
)


PRINTED = (0, 1, 2, 3, 6, 7, 9)
"""The columns that fit a terminal."""


def command_block(command: str) -> list[str]:
    """The command that a page of results is the output of, as lines of the page; the comment is for the docs' tests."""
    return ["<!-- not run: this page is what it wrote -->", "```console", f"$ {command}", "```"]


def percent(value: float | None) -> str:
    """A share in percent."""
    return "-" if value is None else f"{100 * value:.1f}"


def interval(ends: Sequence[float] | None, scale: float = 100, *, signed: bool = False) -> str:
    """A mean with its interval."""
    if ends is None:
        return "-"
    sign = "+" if signed else ""
    mean, low, high = (f"{scale * end:{sign}.1f}" for end in ends)
    return f"{mean} [{low}, {high}]"


def spread(figure: Mapping[str, Any], scale: float = 100) -> str:
    """A figure's mean, with its interval where it has one."""
    if figure["interval"] is not None:
        return interval(figure["interval"], scale)
    return "-" if figure["mean"] is None else f"{scale * figure['mean']:.1f}"


def cells(name: str, arm: Mapping[str, Any]) -> list[str]:
    """One arm's row, as `HEADINGS` says."""
    sampled = arm["sampled"]
    accuracy = sampled["accuracy"]
    p = accuracy.get("p")
    signs = [arm[key]["balanced"]["interval"] if key in arm else None for key in ("early_signs", "signs")]
    return [
        name,
        spread(accuracy),
        interval(accuracy.get("difference"), signed=True),
        "-" if p is None else f"{p:.3f}",
        percent(arm["greedy"]["accuracy"]["mean"]),
        spread(sampled["sound"]),
        spread(sampled["flawed"]),
        spread(sampled["steps"], 1),
        spread(sampled["idle"], 1),
        *(percent(ends and ends[0]) for ends in signs),
    ]


def notes(figures: Mapping[str, Any]) -> list[str]:
    """What the table's columns are, and what the run was."""
    settings, seeds = figures["settings"], figures["seeds"]
    used = [tokens for arm in figures["arms"].values() for tokens in arm["tokens"] if tokens]
    rates, tuned = settings["rates"], settings["tune_seeds"]
    return [
        f"{len(seeds)} seeds ({seeds[0]} to {seeds[-1]}), paired: the arms of a seed start from one of "
        f"{len(settings['policies'])} policies, taken in turn, and meet the same problems in the same order. Means and "
        "95 % bootstrap intervals over seeds; p: exact, by sign flips (least possible "
        f"{2 / 2 ** len(seeds):.3f}). Arms named _idle: seeds {', '.join(map(str, figures['probe_seeds'])) or 'none'}.",
        f"accuracy: right answers in percent, {settings['samples']} samples at temperature 1 of each of "
        f"{settings['evaluated']} held-out problems; greedy: one greedy completion each. sound: right answer and no "
        "wrong step. flawed: of the right answers, those with a wrong step. steps, idle: lines a completion.",
        "sign: whether a step's advantage is above 0 on right steps and below 0 on wrong ones, the mean of both shares "
        f"in percent (0 agrees with neither); early: the first {settings['early']} generations, whole run: all.",
        f"{settings['tokens']:,} generated tokens an arm and seed, ended by the update that reaches them "
        f"({min(used):,} to {max(used):,} were used).",
        "Learning rates: " + ", ".join(f"{arm} {rate:g}" for arm, rate in figures["rates"].items()) + "; each the best "
        f"of {', '.join(f'{rate:g}' for rate in rates)} on seed{'s' * (len(tuned) > 1)} {', '.join(map(str, tuned))}, "
        "not reported.",
        f"Model: {figures['parameters']:,} parameters. Cost: {figures['cpu_s']:,} CPU-seconds in {figures['units']} "
        f"units ({figures['machine']}); {figures['dates'][0]} to {figures['dates'][1]}; "
        + ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
        + ".",
    ]


def page(figures: Mapping[str, Any]) -> str:
    """The run as a Markdown page."""
    rows = [cells(name, arm) for name, arm in figures["arms"].items()]
    lines = [
        "# Learning run: credit for steps on chains of digit operations",
        "",
        *command_block(figures["command"]),
        "",
    ]
    lines += [_row(HEADINGS), _row(["---", *["---:"] * (len(HEADINGS) - 1)]), *map(_row, rows), ""]
    lines += [f"- {note}" for note in notes(figures)]
    lines += ["", "Paired differences between arms, in points of accuracy:", ""]
    lines += [_row(["arms", "difference", "p"]), _row(["---", "---:", "---:"])]
    for one in figures["contrasts"]:
        lines.append(_row([" minus ".join(one["arms"]), interval(one["difference"], signed=True), f"{one['p']:.3f}"]))
    lines += ["", "![Curves, differences and signs](arithmetic.png)", "", "| arm | what it is |", "| --- | --- |"]
    lines += [_row([name, arm["meaning"]]) for name, arm in figures["arms"].items()]
    lines += ["", "Accuracy in percent at each learning rate, on the tuning seeds:", ""]
    rates = figures["settings"]["rates"]
    lines += [_row(["arm", *(f"{rate:g}" for rate in rates)]), _row(["---", *["---:"] * len(rates)])]
    lines += [_row([name, *map(percent, row.values())]) for name, row in figures["tuning"].items()]
    return "\n".join(lines) + "\n"


def write(figures: Mapping[str, Any], folder: Path) -> None:
    """Write ``arithmetic.json`` and ``arithmetic.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "arithmetic.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (folder / "arithmetic.md").write_text(page(figures), encoding="utf-8")


def _row(values: Sequence[str]) -> str:
    return f"| {' | '.join(values)} |"
