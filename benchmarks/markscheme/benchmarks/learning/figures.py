"""The table and the plot of a learning run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from markscheme.benchmarks.learning.page import HEADINGS, PRINTED, cells, notes
from markscheme.verifiers.errors import MissingExtraError

COLORS = {
    "sft": "0.5",
    "rejection": "tab:brown",
    "outcome": "black",
    "sum": "tab:blue",
    "min": "tab:orange",
    "delta": "tab:green",
    "first_error": "tab:red",
    "both": "tab:purple",
    "delta_shuffled": "tab:olive",
    "delta_constant": "tab:cyan",
}

WIDTH = 112
"""Columns of the table: a narrower terminal breaks its lines rather than lose figures."""


def print_table(figures: Mapping[str, Any], console: Console | None = None) -> None:
    """Print one row an arm, and what the columns are beneath."""
    console = console or Console()
    console.width = max(console.width, WIDTH)
    table = Table(title="Chains of digit operations: percent", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for at in PRINTED:
        table.add_column(HEADINGS[at], justify="right" if at else "left", no_wrap=True)
    for name, arm in figures["arms"].items():
        row = cells(name, arm)
        table.add_row(*(Text(row[at]) for at in PRINTED))
    console.print(table)
    for note in notes(figures):
        console.print(Text(f"- {note}"))


def plot(figures: Mapping[str, Any], path: Path) -> None:
    """Draw the curves with their bands, the differences to the outcome arm, and the signs of the advantages.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the plot needs matplotlib: install markscheme[bench]") from error
    controls = [name for name in figures["curves"] if name.startswith("delta_")]
    with mpl.rc_context({"text.usetex": False, "text.parse_math": False}):
        figure = Figure(figsize=(12, 8.5), layout="constrained")
        (arms, spoiled), (differences, signs) = figure.subplots(2, 2)
        _curves(arms, figures, [name for name in figures["curves"] if name not in controls])
        _curves(spoiled, figures, ["outcome", "delta", *controls])
        spoiled.sharey(arms)
        _differences(differences, figures)
        _signs(signs, figures)
        for axes in (arms, spoiled, differences, signs):
            axes.spines[["top", "right"]].set_visible(False)
        seeds = len(figures["seeds"])
        figure.suptitle(f"Chains of digit operations: {seeds} paired seeds, bands and bars are 95 % intervals")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)


def _curves(axes: Any, figures: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        points = figures["curves"][name]
        tokens = [point["tokens"] / 1000 for point in points]
        mean, low, high = ([100 * point["accuracy"][at] for point in points] for at in range(3))
        axes.plot(tokens, mean, color=COLORS[name], label=name, linewidth=1.8)
        axes.fill_between(tokens, low, high, color=COLORS[name], alpha=0.12, linewidth=0)
    axes.set(xlabel="generated tokens, thousands", ylabel="right answers in training, %")
    axes.legend(fontsize="small", frameon=False, loc="upper left")


def _differences(axes: Any, figures: Mapping[str, Any]) -> None:
    """Differences to the outcome arm on held-out problems, of the arms that are compared."""
    names = [name for name in figures["arms"] if name in COLORS and name != "outcome"]
    for row, name in enumerate(names):
        mean, low, high = (100 * end for end in figures["arms"][name]["sampled"]["accuracy"]["difference"])
        axes.errorbar(mean, row, xerr=[[mean - low], [high - mean]], fmt="o", color=COLORS[name], capsize=3)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="accuracy minus outcome's, held out, points")
    axes.invert_yaxis()


def _signs(axes: Any, figures: Mapping[str, Any]) -> None:
    names = list(figures["curves"])
    for offset, part, color in ((-0.2, "right", "tab:green"), (0.2, "wrong", "tab:red")):
        label = f"{part} steps with an advantage {'above' if part == 'right' else 'below'} 0"
        shares = [figures["arms"][name]["early_signs"][part]["interval"] for name in names]
        means = [100 * share[0] if share else 0.0 for share in shares]
        axes.barh([row + offset for row in range(len(names))], means, height=0.36, color=color, alpha=0.7, label=label)
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="% of steps, first generations", xlim=(0, 100))
    axes.invert_yaxis()
    axes.legend(fontsize="small", frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
