"""The benchmark's table and plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from markscheme.verifiers import MissingExtraError


def print_table(figures: Mapping[str, Any], console: Console | None = None) -> None:
    """Print one row a file and grader, the ratio of their speeds beneath, and how each grader was set up."""
    console = console or Console()
    table = Table(title="Answers: pairs per CPU-second and verdicts", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("file", overflow="fold")
    table.add_column("grader", no_wrap=True)
    for name in ("pairs/CPU-s", "FN", "FP", "p50 ms", "p99 ms", "max ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in figures["files"]:
        labels = iter((result["file"], f"{result['true']} true, {result['false']} false"))
        for grader, numbers in result["graders"].items():
            cells = [next(labels), grader, f"{numbers['pairs_per_cpu_s']:,.0f}", str(numbers["fn"]), str(numbers["fp"])]
            cells += [f"{numbers[name]:,.2f}" for name in ("p50_ms", "p99_ms", "max_ms")]
            table.add_row(*map(Text, cells))
        table.add_row("", "", Text(f"{result['times_as_fast']:g}×"), end_section=True)
    console.print(table)
    for grader, setup in figures["setup"].items():
        console.print(Text(f"{grader}: {setup}"))


def plot(figures: Mapping[str, Any], path: Path) -> None:
    """Draw pairs per CPU-second (on a logarithmic scale) and wrong verdicts, a group of bars a file.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("the plot needs matplotlib: install markscheme[bench]") from error
    results = figures["files"]
    with mpl.rc_context({"text.usetex": False, "text.parse_math": False}):
        figure = Figure(figsize=(11, 1.4 + 0.9 * max(len(results), 2)), layout="constrained")
        speed, verdicts = figure.subplots(1, 2, sharey=True)
        for at, grader in enumerate(results[0]["graders"]):
            numbers = [result["graders"][grader] for result in results]
            places = [row + 0.38 * (at - 0.5) for row in range(len(results))]
            bars = speed.barh(places, [one["pairs_per_cpu_s"] for one in numbers], height=0.36, color=f"C{at}")
            speed.bar_label(bars, fmt="{:,.0f}", padding=3)
            _draw_verdicts(verdicts, grader, numbers, places, f"C{at}")
        speed.set(xscale="log", xlabel="pairs per CPU-second", yticks=range(len(results)))
        speed.set_yticklabels(
            [f"{result['file']}\n{result['true']} true, {result['false']} false" for result in results]
        )
        speed.xaxis.set_major_formatter("{x:,.0f}")
        speed.margins(x=0.15)
        speed.invert_yaxis()
        verdicts.set(xlabel="wrong verdicts")
        for axes in (speed, verdicts):
            axes.spines[["top", "right"]].set_visible(False)
        figure.legend(*verdicts.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=140)


def _draw_verdicts(axes: Any, grader: str, numbers: list[Any], places: list[float], color: str) -> None:
    """Draw one grader's wrong verdicts: right answers refused, and beyond them, hatched, wrong ones accepted."""
    refused, accepted = [one["fn"] for one in numbers], [one["fp"] for one in numbers]
    axes.barh(places, refused, height=0.36, color=color, label=f"{grader}: right answers refused")
    hatched = {"hatch": "///", "edgecolor": "white", "label": f"{grader}: wrong answers accepted"}
    axes.barh(places, accepted, left=refused, height=0.36, color=color, **hatched)
