"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from markscheme.verifiers.reading import Reading

if TYPE_CHECKING:
    from markscheme.verifiers.code.sandbox.pool import Level

ReadingOption = Annotated[
    Reading, typer.Option(help="How a completion states its answer; auto tries all, the most explicit first.")
]
DeadlineOption = Annotated[float, typer.Option(min=0.001, help="Seconds that computer algebra may take for one row.")]
WorkersOption = Annotated[int, typer.Option(min=0, help="Processes to use; 0: this one.")]
ThinkingOption = Annotated[
    bool, typer.Option("--thinking", help="The prompt opened a think block: only what follows </think> counts.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="Write verdicts here (JSON Lines), each at once; a stopped run goes on from it."),
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Start over, even where --out holds verdicts.")]
ReportOption = Annotated[Path | None, typer.Option(help="Write a report here: one HTML file that needs no network.")]
FailUnderOption = Annotated[
    float | None, typer.Option(min=0, max=100, help="Exit with 1 when the accuracy is below this, in percent.")
]
CompletionFieldOption = Annotated[
    str | None, typer.Option(help="The completion's field. Default: prediction, completion or response.")
]
FormOption = Annotated[
    Literal["auto", "answer", "completion"],
    typer.Option(help="answer: the field is a bare answer. A row's own form wins; auto: completion without one."),
]
PercentOption = Annotated[
    Literal["lenient", "strict", "interchangeable"],
    typer.Option(help="Whether 50 and 50% are equal; lenient: 50 answers 50%, and not the other way round."),
]
PrecisionOption = Annotated[
    Literal["exact", "gold"], typer.Option(help="gold: accept what rounds to the gold answer's digits.")
]
BadGoldOption = Annotated[
    Literal["error", "skip"], typer.Option(help="What to do with rows whose gold answer cannot be read.")
]
LevelName = Literal["strongest", "3", "2", "1"]
LevelOption = Annotated[
    LevelName, typer.Option(help="The sandbox's level; 1: limits only, for programs that you trust.")
]


def level_of(name: LevelName) -> Level:
    """Read a level."""
    levels: dict[LevelName, Level] = {"strongest": "strongest", "1": 1, "2": 2, "3": 3}
    return levels[name]
