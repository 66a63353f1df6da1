"""Progress bars on stderr, which are only drawn on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from markscheme.cli.terminal import console


@contextmanager
def bar(what: str, total: int, done: int = 0) -> Iterator[Callable[[int], None]]:
    """A progress bar; entering it gives the function that moves it on by so many."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    screen = console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(what, total=total, completed=done)
        yield lambda count: progress.advance(task, count)
