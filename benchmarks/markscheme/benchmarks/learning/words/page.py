"""The tables and the page of a run on word problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from markscheme.benchmarks.learning.page import command_block, interval
from markscheme.benchmarks.learning.tables import Grid, cell, markdown, print_grids

KINDS = {"seen": "known templates, new numbers", "new": "new templates", "gsm8k": "GSM8K rows held out"}


def grids(figures: Mapping[str, Any]) -> list[Grid]:
    """Return the tables: right answers, what the solutions are like, and the cost."""
    found: list[Grid] = []
    for decoding, title in (("greedy", "greedy"), ("sampled", "one sample at temperature 1")):
        columns = ("arm", "all", "minus sft", "minus outcome", *(KINDS[kind] for kind in figures["kinds"]))
        rows = [_accuracy(name, arm[decoding], figures["kinds"]) for name, arm in figures["arms"].items()]
        found.append((f"Right answers on held-out problems, {title}, in percent", columns, rows))
    likes = [_likes(name, arm["sampled"]) for name, arm in figures["arms"].items()]
    columns = ("arm", "sound", "flawed", "steps right", "lines", "idle")
    found.append(("Solutions, one sample at temperature 1, in percent, lines in numbers", columns, likes))
    costs: list[tuple[str, ...]] = [
        (
            name,
            cell(arm["updates"], 0),
            cell(arm["tokens"], 0),
            cell(arm["cpu_s"], 0),
            cell([seconds / 3600 for seconds in arm["train_wall_s"]], 2),
        )
        for name, arm in figures["arms"].items()
    ]
    found.append(("Cost", ("arm", "updates", "generated tokens", "CPU-seconds", "hours of training"), costs))
    return found


def _accuracy(name: str, part: Mapping[str, Any], kinds: list[str]) -> tuple[str, ...]:
    whole = part["all"]
    return (
        name,
        interval(whole["accuracy"]),
        *(interval(whole["minus"].get(base), signed=True) for base in ("sft", "outcome")),
        *(interval(part["kinds"][kind]["accuracy"]) for kind in kinds),
    )


def _likes(name: str, part: Mapping[str, Any]) -> tuple[str, ...]:
    shares = (
        cell([None if one is None else 100 * one for one in part[key]]) for key in ("sound", "flawed", "step_accuracy")
    )
    return (name, *shares, cell(part["steps"]), cell(part["idle"]))


def notes(figures: Mapping[str, Any]) -> list[str]:
    """Return what the run was, first of all what it cannot show."""
    settings, arms = figures["settings"], figures["arms"]
    seeds = len(settings["seeds"])
    found = []
    if figures["demonstration"]:
        found.append(
            "A demonstration: with one seed an arm nothing is said of what other seeds would give. Intervals are over "
            "problems (Wilson; differences paired, bootstrap), for these very policies."
        )
    else:
        found.append(f"{seeds} seeds; intervals are over problems (bootstrap), seeds averaged, not over them.")
    if figures["cut"]:
        steps = settings["steps"]
        found.append(
            f"Cut short at {steps} updates by --steps, before the budget of {settings['tokens']:,} tokens: "
            f"{', '.join(figures['cut'])}."
        )
    for unit, progress in figures["unfinished"].items():
        found.append(
            f"Not ended: {unit} stands at {progress['updates']} updates, {progress['tokens']:,} tokens; in no table."
        )
    used = [tokens for name, arm in arms.items() if name != "sft" for tokens in arm["tokens"]]
    if used:
        found.append(
            f"Arms meet the same problems in the same order from the same policy, {settings['prompts']} problems of "
            f"{settings['group']} completions an update, and end with the update that reaches {settings['tokens']:,} "
            f"generated tokens ({min(used):,} to {max(used):,} were used). One learning rate, {settings['rate']:g}, "
            f"not tuned; credit of step rewards: {settings['credit']}."
        )
    return [
        *found,
        f"Held out: {settings['evaluated']} problems of each kind, the same for every arm. sound: right answer and no "
        "wrong step; flawed: of the right answers, those with a wrong step. Every step is judged exactly; rows of "
        "GSM8K by their arithmetic alone.",
        f"Model: {settings['model'] or 'SmolLM2-135M-Instruct'}, {figures['parameters']:,} parameters, 32 bits. The "
        f"supervised training: {settings['sft_updates']} updates of {settings['sft_batch']} demonstrations.",
        f"Cost: {figures['cpu_s']:,} CPU-seconds, {figures['hours']} hours of training ({figures['machine']}, whatever "
        f"else ran on them); {figures['dates'][0]} to {figures['dates'][1]}; "
        + ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
        + ".",
    ]


def print_tables(figures: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the tables and the notes."""
    print_grids(grids(figures), notes(figures), console, width=140)


def write(figures: Mapping[str, Any], folder: Path) -> None:
    """Write ``smollm.json`` and ``smollm.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "smollm.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    lines = ["# Learning run: a small real model on word problems", "", *command_block(figures["command"]), ""]
    lines += ["[What is measured](../learning.md#a-real-model-on-word-problems).", ""]
    for grid in grids(figures):
        lines += markdown(grid)
    lines += [f"- {note}" for note in notes(figures)]
    lines += ["", "![Curves and right answers](smollm.png)", "", "| arm | what it is |", "| --- | --- |"]
    lines += [f"| {name} | {arm['meaning']} |" for name, arm in figures["arms"].items()]
    (folder / "smollm.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
