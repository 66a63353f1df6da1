"""``markscheme sandbox check``: which level this host gives, shown by small attacks and good programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from markscheme.cli.selftest import Checked
    from markscheme.verifiers.code.sandbox.levels import Capabilities

sandbox = typer.Typer(name="sandbox", help="The sandbox that programs run in.", no_args_is_help=True)


@sandbox.callback()
def _group() -> None:
    """The sandbox that programs run in."""


@sandbox.command()
def check(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False
) -> None:
    """Say which level this host gives and why not a higher one, and try it. Exits with 0 only when all holds."""
    import json
    from dataclasses import asdict

    from markscheme.cli.selftest import self_test
    from markscheme.cli.terminal import errors_shown
    from markscheme.verifiers.code.sandbox.hosts import capabilities

    with errors_shown():
        found = capabilities()
        levels: tuple[Literal[2, 3], ...] = (3, 2)
        checked = [one for level in levels if level <= found.level for one in self_test(level)]
    held = found.level > 0 and all(one.held for one in checked)
    if as_json:
        typer.echo(json.dumps({**asdict(found), "held": held, "checks": [asdict(one) for one in checked]}))
    else:
        _show(found, checked)
    raise typer.Exit(0 if held else 1)


def _show(found: Capabilities, checked: list[Checked]) -> None:
    from markscheme.cli.terminal import clip, console, safe, table

    out = console()
    meaning = {3: "namespaces, Landlock, seccomp", 2: "Landlock and seccomp", 0: "none that is safe"}[found.level]
    out.print(f"level {found.level}: {meaning}")
    if found.why_not_higher:
        out.print(f"why not higher: {safe(found.why_not_higher)}", soft_wrap=True)
    out.print(f"Landlock version {found.landlock}; {'root' if found.root else 'an ordinary user'}")
    out.print(f"bubblewrap: {safe(found.why_no_bubblewrap) or 'works'}", soft_wrap=True)
    rows = [
        (one.level, one.kind, one.name, "holds" if one.held else "FAILS", one.outcome, clip(safe(one.detail), 60))
        for one in checked
    ]
    out.print(table(("level", "program", "tries", "sandbox", "outcome", "in words"), rows, right=(0,)))
    failed = sum(not one.held for one in checked)
    out.print(f"{len(checked) - failed} of {len(checked)} hold")
