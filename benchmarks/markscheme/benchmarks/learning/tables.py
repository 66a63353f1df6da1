"""Tables of figures over a few seeds, on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

Grid = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A table: its title, its columns, and its rows, whose first cell names each."""


def cell(values: Sequence[float | None], digits: int = 1) -> str:
    """Return the mean, and in brackets each seed's own where there are several; those without a value are left out."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    mean = f"{sum(known) / len(known):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({', '.join(f'{value:.{digits}f}' for value in known)})"


def print_grids(grids: Sequence[Grid], notes: Sequence[str], console: Console | None = None, *, width: int = 0) -> None:
    """Print tables and the notes beneath them, on ``width`` columns at least."""
    console = console or Console()
    console.width = max(console.width, width)
    for title, columns, rows in grids:
        table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for place, name in enumerate(columns):
            table.add_column(Text(name), justify="right" if place else "left")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
    for note in notes:
        console.print(Text(f"- {note}"))


def markdown(grid: Grid) -> list[str]:
    """Return the lines of a section with a table."""
    title, columns, rows = grid
    lines = [f"## {title}", "", "| " + " | ".join(columns) + " |", "| --- " + "| ---: " * (len(columns) - 1) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]
