"""The encoder's settings, and what it gives: ids with a position a step, and an account of what was lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from markscheme.prm.schema import StepSample


class LostStepsWarning(UserWarning):
    """Steps were lost or rows left out; says how many of how many."""


class EncoderConfig(BaseModel):
    """How a problem and its steps are laid out; a checkpoint keeps this, so that it is scored as it was trained."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    template: Literal["auto", "chat", "plain"] = "auto"
    """chat: the tokenizer's chat template, the steps being the assistant's turn. plain: the problem, then the steps.
    auto: chat where the tokenizer has a template."""
    separator: str | tuple[int, ...] = "\n\n"
    """What follows each step: a token of the vocabulary (``<extra_0>``), a text, or ids. A step's position is the last
    of its ids."""
    prompt_separator: str = "\n\n"
    """What stands between the problem and the first step; plain only."""
    system: str | None = None
    """A system message before the problem; chat only."""
    template_options: dict[str, Any] = Field(default_factory=dict)
    """More variables for the chat template, such as ``enable_thinking``."""
    max_length: int | None = Field(default=None, ge=1)
    """In tokens. Steps that do not fit whole, separator included, are lost. None: no limit."""
    strip: bool = True
    """Drop white space around the problem and around each step, so that a step is the same however it was cut out."""
    separator_in_step: Literal["error", "allow"] = "error"
    """What to do with a step that holds the separator itself. Positions stay right with "allow"; but a reader that
    looks for separators, or a person, will find one too many."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One solution as ids.

    Attributes:
        ids: the tokens.
        positions: of each kept step, the index in ``ids`` of the last token of its separator; strictly increasing.
        starts: of each kept step, the index of its own first token.
        prompt_length: how many of the ids belong to the prompt.
        lost: how many steps, from the end, did not fit.
        labels: the targets of the kept steps; empty when there were none to give.
    """

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    starts: tuple[int, ...]
    prompt_length: int
    lost: int = 0
    labels: tuple[float | None, ...] = ()


@dataclass(slots=True)
class EncodingReport:
    """What became of the rows.

    Attributes:
        rows: rows encoded.
        steps: their steps, the lost ones included.
        cut: rows that lost steps.
        lost: steps lost.
        separators: steps that hold the separator.
        unread: rows left out before that, because they are no labelled solutions; shown when they were read.
        skipped: rows left out, as (row, id, why).
        places: what a row that was left out is called instead of "row N", where its file is known.
    """

    rows: int = 0
    steps: int = 0
    cut: int = 0
    lost: int = 0
    separators: int = 0
    unread: int = 0
    skipped: list[tuple[int, str, str]] = field(default_factory=list)
    places: dict[int, str] = field(default_factory=dict)

    def leave_out(self, row: int, sample: StepSample, why: str) -> None:
        """Note a row that cannot be used."""
        self.skipped.append((row, sample.id, why))
        if sample.place:
            self.places[row] = sample.place

    def count(self, encoded: Encoded, separators: int) -> None:
        """Count one row, and how many of its steps hold the separator."""
        self.rows += 1
        self.steps += len(encoded.positions) + encoded.lost
        self.cut += encoded.lost > 0
        self.lost += encoded.lost
        self.separators += separators

    def add(self, other: EncodingReport) -> None:
        """Count what another report counted."""
        self.rows += other.rows
        self.steps += other.steps
        self.cut += other.cut
        self.lost += other.lost
        self.separators += other.separators
        self.unread += other.unread
        self.skipped += other.skipped
        self.places |= other.places

    def sentences(self) -> list[str]:
        """What a user should know, a sentence each; nothing when nothing was lost."""
        said = []
        if self.lost:
            said.append(f"{self.lost} of {self.steps} steps, in {self.cut} of {self.rows} rows, are beyond max_length.")
        if self.separators:
            said.append(f"{self.separators} of {self.steps} steps hold the separator.")
        if self.skipped:
            shown = "; ".join(f"{self.places.get(row, f'row {row}')}: {why}" for row, _, why in self.skipped[:5])
            said.append(f"{len(self.skipped)} rows were left out: {shown}{' …' if len(self.skipped) > 5 else ''}")
        return said
