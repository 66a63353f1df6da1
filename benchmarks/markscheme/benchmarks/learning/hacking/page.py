"""The tables and the page of a run against judges."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from markscheme.benchmarks.learning.hacking.arms import JUDGES
from markscheme.benchmarks.learning.page import command_block
from markscheme.benchmarks.learning.tables import Grid, cell, markdown, print_grids


def grids(figures: Mapping[str, Any]) -> list[Grid]:
    """Return the tables: the policies, the judge that each arm learnt from, and the judges that watched."""
    arms: dict[str, Any] = figures["arms"]
    before = figures["before"]
    policies = [_policy("before", before), *(_policy(name, arm) for name, arm in arms.items())]
    own = [
        row
        for name, arm in arms.items()
        if arm["source"] in JUDGES and arm["supervision"] != "outcome"
        for row in _judged(name, arm["source"], before, arm)
    ]
    watched = [
        row
        for name in ("outcome", "rule", "truth")
        for judge in ("gold", "montecarlo")
        for row in _judged(f"{name} / {judge}", judge, before, arms[name])
    ]
    columns = ("arm", "", "reward", "steps right", "reward of wrong", "correlation", "AUC", "guarded")
    return [
        (
            "Policies after training, held-out problems, in percent",
            ("arm", "accuracy", "greedy", "sound", "flawed", "steps right", "steps", "idle"),
            policies,
        ),
        ("The judge that is learnt from, beside the truth, in percent", columns, own),
        ("Judges that only watch (arm / judge), in percent", columns, watched),
    ]


def _policy(name: str, arm: Mapping[str, Any]) -> tuple[str, ...]:
    sampled, greedy = arm["sampled"], arm["greedy"]
    return (
        name,
        _percent(sampled["accuracy"]),
        _percent(greedy["accuracy"]),
        *(_percent(sampled[measure]) for measure in ("sound", "flawed", "step_accuracy")),
        *(cell(sampled[measure]) for measure in ("steps", "idle")),
    )


def _judged(title: str, judge: str, before: Mapping[str, Any], arm: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for when, part in (("before", before), ("after", arm)):
        found = part["held_out"][judge]
        figures = (_percent(found[name]) for name in ("reward", "truth", "wrong", "correlation", "auc", "guarded"))
        rows.append((title if when == "before" else "", when, *figures))
    return rows


def _percent(values: Sequence[float | None]) -> str:
    return cell([None if value is None else 100 * value for value in values])


def notes(figures: Mapping[str, Any]) -> list[str]:
    """Return what the tables' columns are, and what the run was."""
    settings, arms, seeds = figures["settings"], figures["arms"], figures["seeds"]
    used = [tokens for arm in arms.values() for tokens in arm["tokens"]]
    f1 = {
        name: cell([one["first_errors"]["test"][name]["f1"] for one in figures["judges"]])
        for name in ("gold", "montecarlo")
    }
    auc = {
        name: _percent([one["first_errors"]["test"][name]["auc"] for one in figures["judges"]])
        for name in ("gold", "montecarlo")
    }
    drifted = {name: sum(bool(one) for one in arm["drifts"]) for name, arm in arms.items() if arm["source"] in JUDGES}
    unmatched = sum(
        count for arm in arms.values() for judge in arm["held_out"].values() for count in judge["unmatched"]
    )
    return [
        f"{len(seeds)} seed(s) ({', '.join(map(str, seeds))}), paired: each has its own policy and judges, and its "
        "arms meet the same problems in the same order. Means, in brackets each seed's own: too few for intervals.",
        f"accuracy, sound (right and no wrong step), flawed (of the right answers, those with a wrong step), steps "
        f"right, steps and idle lines a completion: {settings['samples']} samples at temperature 1 of each of "
        f"{settings['evaluated']} held-out problems; greedy: one each.",
        "reward: the judge's mean reward over whole steps, guarded ones included, on one sample of each held-out "
        "problem; steps right: the truth of the same steps, idle ones included; reward of wrong: the mean over wrong "
        "steps; AUC: the chance that a right step is paid more than a wrong one; guarded: steps paid 0 for their form.",
        "before: the policy that every arm of a seed starts from.",
        f"The judges on solutions of that policy: first errors F1 {f1['gold']} (exact labels), {f1['montecarlo']} "
        f"(Monte-Carlo), step AUC {auc['gold']} and {auc['montecarlo']}, in percent.",
        f"{settings['tokens']:,} generated tokens an arm and seed ({min(used):,} to {max(used):,} used); updates: "
        + ", ".join(f"{name} {cell(arm['updates'], 0)}" for name, arm in arms.items())
        + ".",
        "Runs in which the step monitor warned of a drift: "
        + ", ".join(f"{name} {count} of {len(seeds)}" for name, count in drifted.items())
        + f". Completions whose steps could not be matched: {unmatched}.",
        "Learning rates are those that the arithmetic run chose, not tuned here: "
        + ", ".join(f"{name} {arm['rate']:g}" for name, arm in arms.items())
        + ".",
        f"Model: {figures['parameters']:,} parameters. Cost: {figures['cpu_s']:,} CPU-seconds, of these "
        f"{figures['judges_cpu_s']:,} for policies and judges ({figures['machine']}); {figures['dates'][0]} to "
        f"{figures['dates'][1]}; "
        + ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
        + ".",
    ]


def print_tables(figures: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the tables and the notes."""
    print_grids(grids(figures), notes(figures), console, width=150)


def write(figures: Mapping[str, Any], folder: Path) -> None:
    """Write ``prm_policy.json`` and ``prm_policy.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prm_policy.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    lines = [
        "# Learning from a judge of steps, beside the truth of every step",
        "",
        *command_block(figures["command"]),
        "",
    ]
    lines += ["[What is measured](../learning.md#learning-from-a-judge).", ""]
    for grid in grids(figures):
        lines += markdown(grid)
    lines += [f"- {note}" for note in notes(figures)]
    lines += ["", "![Curves](prm_policy.png)", "", "| arm | what it is |", "| --- | --- |"]
    lines += [f"| {name} | {arm['meaning']} |" for name, arm in figures["arms"].items()]
    (folder / "prm_policy.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
