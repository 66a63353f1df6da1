"""Labelled solutions as training data: encoded once, padded or packed when they are drawn."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from markscheme.prm.encode import Encoded, EncodingReport, StepEncoder
from markscheme.prm.load import load_samples, samples_from_rows
from markscheme.prm.loss import IGNORED, mask_after_error
from markscheme.prm.model.batching import pack_plan, packed, padded, targets_of
from markscheme.prm.schema import RIGHT_ABOVE, StepSample
from markscheme.verifiers.errors import DataError, StepDataError

if TYPE_CHECKING:
    from markscheme.prm.checkpoints.layouts import Layout
    from markscheme.prm.model.states import StateCache

OnBad = Literal["error", "skip"]
Data = Iterable[StepSample] | Iterable[Mapping[str, Any]] | str | Path
"""Samples; rows with TRL's columns (a list, or a ``datasets.Dataset``); or a file that ``load_samples`` reads."""


def as_samples(data: Data, on_bad: OnBad = "error") -> list[StepSample]:
    """Read training data in any of its forms.

    Args:
        data: the rows.
        on_bad: what to do with rows that are no labelled solutions: ``error`` raises once for all of them, ``skip``
            leaves them out and shows them in a warning.

    Raises:
        StepDataError: it lists every bad row.
    """
    return _read(data, on_bad)[0]


def _read(data: Data, on_bad: OnBad) -> tuple[list[StepSample], int]:
    """Read training data, and count the rows that were left out."""
    if isinstance(data, str | Path):
        loaded = load_samples(data, on_bad=on_bad)
        return loaded.samples, len(loaded.skipped)
    rows = list(data)
    samples = [row for row in rows if isinstance(row, StepSample)]
    if len(samples) == len(rows):
        return samples, 0
    if samples:
        raise DataError(f"{len(samples)} of {len(rows)} rows are StepSamples, the others are not: pass one kind")
    loaded = samples_from_rows(cast("list[Mapping[str, Any]]", rows), on_bad=on_bad)
    return loaded.samples, len(loaded.skipped)


def encode_samples(
    layout: Layout, samples: Sequence[StepSample], on_bad: OnBad = "error", *, strict: bool = False
) -> tuple[list[Encoded], list[int], EncodingReport]:
    """Encode labelled solutions by any layout.

    Args:
        layout: a `StepEncoder`, or a public checkpoint's.
        samples: the rows.
        on_bad: what to do with rows that cannot be laid out: ``error`` raises once for all of them.
        strict: a row of which steps do not fit cannot be laid out; else they are lost, and counted.

    Returns:
        Solutions with labels, the row of each, and what was lost.

    Raises:
        StepDataError: it lists every bad row.
    """
    report = EncodingReport()
    counter = layout.report if isinstance(layout, StepEncoder) else EncodingReport()
    separators = counter.separators
    found: list[Encoded] = []
    rows: list[int] = []
    for row, sample in enumerate(samples):
        try:
            prompt = sample.prompt if isinstance(layout, StepEncoder) else sample.problem
            encoded = layout.encode(prompt, sample.completions)  # type: ignore[arg-type]
            if not encoded.positions:
                raise DataError(
                    f"no step fits: the problem alone takes {encoded.prompt_length} tokens; raise max_length, or leave "
                    "the row out"
                )
            if encoded.lost and strict:
                raise DataError(
                    f"{encoded.lost} of {len(sample.completions)} steps do not fit; raise max_length, or pass "
                    "strict=False to lose and count them"
                )
        except DataError as error:
            report.leave_out(row, sample, str(error))
            continue
        report.rows += 1
        report.steps += len(sample.completions)
        report.lost += encoded.lost
        report.cut += encoded.lost > 0
        found.append(replace(encoded, labels=sample.targets[: len(encoded.positions)]))
        rows.append(row)
    report.separators = counter.separators - separators
    if report.skipped and on_bad == "error":
        raise StepDataError(report.skipped, places=report.places)
    return found, rows, report


@dataclass(frozen=True, slots=True)
class Row:
    """One or, packed, several solutions of a batch, with their places in the data."""

    places: list[int]
    encoded: list[Encoded]


class StepDataset(Dataset[Row]):
    """Encoded solutions, kept as flat arrays of 4 bytes a token.

    Args:
        encoded: solutions with labels.
        samples: the labelled solutions that they come from, in the same order.
        capacity: tokens of a packed row; None: one solution a row.
    """

    def __init__(self, encoded: Sequence[Encoded], samples: Sequence[StepSample], capacity: int | None = None) -> None:
        self.samples = list(samples)
        self.lengths = [len(one.ids) for one in encoded]
        self._ids = [array("i", one.ids) for one in encoded]
        self._rest = [replace(one, ids=()) for one in encoded]
        self.plan = (
            [[place] for place in range(len(encoded))] if capacity is None else pack_plan(self.lengths, capacity)
        )
        self.packed = capacity is not None

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, place: int) -> Row:
        places = self.plan[place]
        return Row(places, [self.one(each) for each in places])

    def trained(self, *, masked: bool, above: float) -> list[Sequence[float | None]]:
        """The targets of each solution's kept steps; ``masked``: without those after its first wrong one."""
        if not masked:
            return [one.labels for one in self._rest]
        return [mask_after_error(one.labels, above) for one in self._rest]

    def one(self, place: int) -> Encoded:
        """One solution, whatever row it is packed into."""
        return replace(self._rest[place], ids=tuple(self._ids[place]))


@dataclass(slots=True)
class StepCollator:
    """Rows as tensors.

    Attributes:
        separator_length: tokens of what follows each step.
        pad_id: what fills rows.
        masked: leave out steps after the first wrong one.
        right_above: a target that does not exceed it is wrong.
        cache: states of a frozen backbone.
    """

    separator_length: int = 1
    pad_id: int = 0
    masked: bool = False
    right_above: float = RIGHT_ABOVE
    cache: StateCache | None = None

    def __call__(self, rows: Sequence[Row]) -> dict[str, torch.Tensor]:
        """Return the batch's tensors: those of `StepBatch`, ``labels`` (B, S), and ``places`` (B,) of single rows."""
        several = any(len(row.encoded) > 1 for row in rows)
        if several:
            batch = packed([row.encoded for row in rows], self.separator_length, self.pad_id)
        else:
            batch = padded([row.encoded[0] for row in rows], self.separator_length, self.pad_id)
        found = {
            "input_ids": batch.input_ids,
            "attention_mask": batch.attention_mask,
            "position_ids": batch.position_ids,
            "step_positions": batch.step_positions,
            "step_starts": batch.step_starts,
            "step_stops": batch.step_stops,
            "labels": targets_of([[t for one in row.encoded for t in self._targets(one)] for row in rows], IGNORED),
            "places": None if several else torch.tensor([row.places[0] for row in rows]),
        }
        if self.cache is not None:
            found["states"] = pad_sequence([self.cache.get(row.encoded[0].ids) for row in rows], batch_first=True)
        return {name: value for name, value in found.items() if value is not None}

    def _targets(self, one: Encoded) -> Sequence[float | None]:
        return mask_after_error(one.labels, self.right_above) if self.masked else one.labels


def is_rows(data: Any) -> bool:
    """Whether data are encoded already."""
    return isinstance(data, StepDataset)


def dataset_of(
    layout: Layout, data: Data | StepDataset, on_bad: OnBad, capacity: int | None = None, *, strict: bool = False
) -> tuple[StepDataset, EncodingReport]:
    """Encode data for training or evaluation."""
    if is_rows(data):
        return cast("StepDataset", data), EncodingReport()
    samples, unread = _read(cast("Data", data), on_bad)
    encoded, rows, report = encode_samples(layout, samples, on_bad, strict=strict)
    report.unread = unread
    return StepDataset(encoded, [samples[row] for row in rows], capacity), report
