"""The table and plot of what running a program costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from markscheme.verifiers.errors import MissingExtraError


def print_table(figures: Mapping[str, Any], console: Console | None = None) -> None:
    """Print one row a way of running, and what is missing beneath."""
    console = console or Console()
    table = Table(title="Programs: CPU milliseconds a run", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("runner", "isolation"):
        table.add_column(name, overflow="fold")
    for name in ("CPU ms", "× ours", "runs/s", "p50 ms", "p99 ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, one in figures["runners"].items():
        ratio = "-" if one["times_ours"] is None else f"{one['times_ours']:.2f}"
        cells = [name, one["isolation"], f"{one['cpu_ms']:.2f}", ratio, f"{one['runs_per_s']:,.0f}"]
        table.add_row(*map(Text, [*cells, f"{one['p50_ms']:.2f}", f"{one['p99_ms']:.2f}"]))
    console.print(table)
    for name, why in figures["missing"].items():
        console.print(Text(f"missing: {name}: {why}"))
    host = f"Python {figures['python']}, {figures['processors']} processors, load {figures['load']:g}"
    console.print(Text(f"{host}; the program: {figures['program']}"))


def plot(figures: Mapping[str, Any], path: Path) -> None:
    """Draw CPU milliseconds a run, a bar a way.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the plot needs matplotlib: install markscheme[bench]") from error
    ways = figures["runners"]
    with mpl.rc_context({"text.usetex": False, "text.parse_math": False}):
        figure = Figure(figsize=(9, 1.2 + 0.5 * len(ways)), layout="constrained")
        axes = figure.subplots()
        colors = ["C0" if name.startswith("markscheme") else "C7" for name in ways]
        bars = axes.barh(
            [f"{name}\n{one['isolation']}" for name, one in ways.items()],
            [one["cpu_ms"] for one in ways.values()],
            color=colors,
        )
        axes.bar_label(bars, fmt="{:.1f}", padding=3)
        axes.set(xlabel="CPU milliseconds a run, whole tree")
        axes.margins(x=0.12)
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=140)
