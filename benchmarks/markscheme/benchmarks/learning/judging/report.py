"""The tables, the page and the plot of a run."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from markscheme.benchmarks.learning.judging.settings import Settings
from markscheme.benchmarks.learning.page import command_block
from markscheme.benchmarks.learning.tables import Grid, cell, markdown, print_grids
from markscheme.verifiers.errors import MissingExtraError

JUDGES = {
    "gold": "judge, exact labels",
    "montecarlo": "judge, Monte-Carlo labels",
    "likelihood": "likelihood of the policy, untrained",
    "outcome-oracle": "outcome oracle: knows the answer, blames step 1",
    "always-right": "always right",
    "always-wrong": "always wrong",
}
CHOOSERS = {
    "gold": "judge, exact labels (smallest step)",
    "montecarlo": "judge, Monte-Carlo labels (smallest step)",
    "likelihood": "likelihood of the policy (mean over steps)",
    "majority": "majority (maj@{n})",
    "pass": "outcome oracle (pass@{n})",
    "random": "one at random",
}
SETS = {"test": "on-policy", "injected": "injected"}


def report(seeds: Sequence[Mapping[str, Any]], settings: Settings, command: str) -> dict[str, Any]:
    """Put the seeds together, ready for JSON."""
    return {
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {name: version(name) for name in ("torch", "transformers")},
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}",
        "cpu_s": round(sum(sum(one["cpu_s"].values()) for one in seeds), 1),
        "settings": dataclasses.asdict(settings),
        "seeds": list(seeds),
    }


def grids(found: Mapping[str, Any]) -> list[Grid]:
    """The tables: a title, the columns, and a row a judge, each figure the mean over seeds with the seeds' own."""
    seeds, settings = found["seeds"], found["settings"]
    kinds = ("f1", "acc_error", "acc_correct")
    firsts: list[Grid] = [
        (
            f"First errors, {title}: as ProcessBench measures them, in percent",
            ("", "F1", "error found", "right kept"),
            [
                (text, *(cell([_at(one, name, kind, which) for one in seeds]) for kind in kinds))
                for name, text in JUDGES.items()
            ],
        )
        for which, title in SETS.items()
    ]
    n = settings["samples"]
    best: list[tuple[str, ...]] = [
        (text.format(n=n), cell([one["best_of"][name] for one in seeds])) for name, text in CHOOSERS.items()
    ]
    return [
        *firsts,
        (f"Best of {n}: the chosen solution's answer is right, in percent", ("chosen by", "right"), best),
        ("Monte-Carlo labels against exact ones, in percent", ("", "all", *_THIRDS), _noise(seeds)),
    ]


_THIRDS = ("first third", "middle third", "last third")


def notes(found: Mapping[str, Any]) -> list[str]:
    """What belongs under the tables."""
    seeds, settings = found["seeds"], found["settings"]
    policy = {name: cell([one["policy"][name] for one in seeds]) for name in seeds[0]["policy"]}
    flawed = [one["first_errors"]["test"][name] for one in seeds for name in ("gold", "montecarlo", "likelihood")]
    parts = [f"{name} {cell([flawed[3 * i + k]['flawed'] for i in range(len(seeds))])}" for k, name in enumerate(_F)]
    auc = [
        f"{name} {cell([one['first_errors']['test'][name]['auc'] for one in seeds], 3)}"
        for name in ("gold", "montecarlo", "likelihood")
    ]
    half = [
        f"{name} {cell([one['first_errors'][which]['gold']['f1_at_half'] for one in seeds])}"
        for which, name in SETS.items()
    ]
    errors = ", ".join(str(one["sets"]["test"]["error"]) for one in seeds)
    firsts = [one["labels"]["first_errors"] for one in seeds]
    same = [100 * one["same"] / one["n"] if one["n"] else None for one in firsts]
    return [
        f"mean of {len(seeds)} seed(s), in brackets each seed's own",
        f"the policy: answers right {policy['accuracy']}, of these with a wrong step {policy['flawed']}, "
        f"steps right {policy['step_accuracy']}",
        f"{settings['test']} solutions on-policy, with an error in {errors}; {settings['test']} injected, half of them "
        "with an error",
        f"right answers by a wrong step, first error found: {', '.join(parts)} (of {flawed[0]['flawed_n']} and so on)",
        f"step AUC, on-policy: {', '.join(auc)}",
        "thresholds are chosen on other on-policy solutions: by exact labels, for Monte-Carlo's judge by Monte-Carlo "
        f"labels; at 0.5 the exact-label judge has F1 {', '.join(half)}",
        f"labels: {settings['rollouts']} rollouts a prefix, right from a share of {settings['share']} on; "
        f"{sum(sum(one['rollouts'].values()) for one in seeds):,} rollouts; the first error is exact labels' in "
        f"{cell(same)} % of solutions",
        f"cost: {found['cpu_s'] / 60:.1f} CPU-minutes on one thread (policy, solutions, labels, two judges, figures: "
        + "; ".join(", ".join(f"{value:.0f}" for value in one["cpu_s"].values()) + " s" for one in seeds)
        + ")",
    ]


_F = ("exact labels", "Monte-Carlo", "likelihood")


def print_tables(found: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the tables and the notes."""
    print_grids(grids(found), notes(found), console)


def write(found: Mapping[str, Any], folder: Path) -> None:
    """Write the figures as JSON, and the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prm_arithmetic.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    lines = ["# A judge of steps from a policy's own rollouts", "", *command_block(found["command"]), ""]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    lines += [f"{found['date'][:10]}, {versions}, {found['machine']}. [What is measured](../prm_labels.md).", ""]
    for grid in grids(found):
        lines += markdown(grid)
    lines += [f"- {note}" for note in notes(found)]
    lines += ["", "![F1 and best of N](prm_arithmetic.png)"]
    (folder / "prm_arithmetic.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def plot(found: Mapping[str, Any], path: Path) -> None:
    """Draw F1 and best-of-N: a bar the mean, a dot a seed.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("the plot needs matplotlib: install markscheme[bench]") from error
    seeds, n = found["seeds"], found["settings"]["samples"]
    panels: dict[str, dict[str, list[float]]] = {
        f"F1, {title}": {
            JUDGES[name].split(":")[0]: [_at(one, name, "f1", which) or 0.0 for one in seeds]
            for name in ("gold", "montecarlo", "likelihood", "outcome-oracle")
        }
        for which, title in SETS.items()
    }
    panels[f"best of {n}"] = {
        text.format(n=n).split(" (")[0]: [one["best_of"][name] for one in seeds] for name, text in CHOOSERS.items()
    }
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (title, bars) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        places = range(len(bars))
        axes.barh(places, [sum(values) / len(values) for values in bars.values()], color="0.85")
        for place, values in enumerate(bars.values()):
            axes.plot(values, [place] * len(values), "o", color="tab:blue", markersize=4)
        axes.set(title=title, xlim=(0, 100), xlabel="%")
        axes.set_yticks(list(places), [name.split(",")[0] if len(name) > 28 else name for name in bars])
        axes.invert_yaxis()
    figure.savefig(path)


def _at(seed: Mapping[str, Any], judge: str, kind: str, which: str) -> float | None:
    value: float | None = seed["first_errors"][which][judge][kind]
    return value


def _noise(seeds: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    rows = []
    for title, name in (
        ("wrong steps labelled right", "false_right_rate"),
        ("right steps labelled wrong", "false_wrong_rate"),
    ):
        parts = [[one["labels"]["total"] for one in seeds]]
        parts += [[one["labels"]["by_third"][part.split()[0]] for one in seeds] for part in _THIRDS]
        rows.append((title, *(cell([None if p[name] is None else 100 * p[name] for p in part]) for part in parts)))
    return rows
