"""What the commands print: tables and messages in which model text is only ever text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from markscheme.verifiers.errors import GoldError, MarkschemeError, StepDataError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

EXIT_ERROR = 2
"""The exit code for bad input or a missing piece; 1 says that the accuracy is below --fail-under."""
EXIT_STOPPED = 130


def safe(text: str, *, keep_newlines: bool = False) -> str:
    r"""Make text harmless to show: control, bidi and other invisible characters become visible.

    ESC becomes ``␛``, a newline ``␊``, C1 controls, bidi overrides and zero-width characters ``\u202e`` and the like.
    With ``keep_newlines`` newlines and tabs stay. Nothing else changes; markup is not interpreted here or later.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if keep_newlines else ""
    return "".join(c if c.isprintable() or c in kept else _visible(c) for c in text)


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(character) == "Zs":  # spaces that only differ in width
        return character
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def clip(text: str, width: int) -> str:
    """Shorten to ``width`` characters, from the end."""
    return text if len(text) <= width else text[: width - 1] + "…"


def console(*, stderr: bool = False) -> Console:
    """Make a console that interprets no markup, emoji codes or highlighting."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[int] = ()) -> Table:
    """Build a table; cells are made safe. ``right`` gives the columns that are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    built = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(columns):
        built.add_column(Text(name), justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        built.add_row(*(Text(safe(str(cell))) for cell in row))
    return built


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what a user can mend as one message on stderr, and exit with 2; everything else is a bug and is raised."""
    try:
        yield
    except GoldError as error:
        lines = [f"  row {row}: {clip(text, 80)!r}: {why}" for row, text, why in error.rows]
        head = f"{len(lines)} gold answer(s) cannot be read (rows are counted from 0):"
        fail("\n".join([head, *lines, error.fix.replace('on_bad="skip"', "--on-bad-gold skip")]))
    except StepDataError as error:
        fail(str(error).replace('pass on_bad="skip"', "pass --on-bad skip"))
    except (MarkschemeError, OSError) as error:
        fail(str(error))


def fail(message: str) -> None:
    """Show an error and exit with 2."""
    typer.echo(f"error: {safe(message, keep_newlines=True)}", err=True)
    raise typer.Exit(EXIT_ERROR)
