"""Encoded solutions as batches: grouped by length, padded or packed."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from markscheme.prm.model.readout import PAD, StepBatch

if TYPE_CHECKING:
    from markscheme.prm.encode import Encoded


def batches_by_length(lengths: Sequence[int], batch_size: int, batch_tokens: int) -> list[list[int]]:
    """Group sequences so that little is padded; the longest come first, so that memory runs out at once or never.

    Args:
        lengths: in tokens.
        batch_size: the most sequences of a batch.
        batch_tokens: the most tokens of a batch, padding included; one longer sequence is a batch of its own.

    Returns:
        Places in ``lengths``, each once.
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batches: list[list[int]] = []
    for place in order:
        if batches and len(batches[-1]) < batch_size:
            widest = lengths[batches[-1][0]]  # sorted, so the first is the longest
            if widest * (len(batches[-1]) + 1) <= batch_tokens:
                batches[-1].append(place)
                continue
        batches.append([place])
    return batches


def pad_ids(rows: Sequence[Sequence[int]], value: int = 0) -> tuple[Tensor, Tensor]:
    """Pad rows on the right.

    Returns:
        Ids (B, T) and the mask of what is real (B, T), both int64.
    """
    tensors = [torch.as_tensor(row, dtype=torch.long) for row in rows]
    ids = pad_sequence(tensors, batch_first=True, padding_value=value)
    mask = pad_sequence([torch.ones_like(row) for row in tensors], batch_first=True)
    return ids, mask


def padded(rows: Sequence[Encoded], separator_length: int, pad_id: int = 0) -> StepBatch:
    """One solution a row, padded on the right.

    Args:
        rows: solutions.
        separator_length: tokens of what follows each step: they are no part of the step's own span.
        pad_id: what fills the rows.
    """
    ids, mask = pad_ids([row.ids for row in rows], pad_id)
    starts, stops, positions = zip(*(_spans(row, separator_length) for row in rows), strict=True)
    return StepBatch(ids, mask, None, _fill(positions), _fill(starts), _fill(stops))


def packed(rows: Sequence[Sequence[Encoded]], separator_length: int, pad_id: int = 0) -> StepBatch:
    """Several solutions a row, one behind another, each with positions from 0.

    Padding at a row's end has position 0 at every token: each is a solution of its own, which nothing else sees.
    """
    ids, places, starts, stops, positions = [], [], [], [], []
    for row in rows:
        offset = 0
        spans: tuple[list[int], list[int], list[int]] = ([], [], [])
        for one in row:
            for held, found in zip(spans, _spans(one, separator_length), strict=True):
                held += [place + offset for place in found]
            offset += len(one.ids)
        ids.append([token for one in row for token in one.ids])
        places.append([place for one in row for place in range(len(one.ids))])
        starts.append(spans[0])
        stops.append(spans[1])
        positions.append(spans[2])
    input_ids, _ = pad_ids(ids, pad_id)
    position_ids, _ = pad_ids(places, 0)
    return StepBatch(input_ids, None, position_ids, _fill(positions), _fill(starts), _fill(stops))


def pack_plan(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Share sequences out among rows of at most ``capacity`` tokens: the longest first, each where it fits tightest.

    Returns:
        Places in ``lengths``, each once; a sequence longer than ``capacity`` has a row of its own.
    """
    plan: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # what is left in each row, and the row, the tightest first
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        length = lengths[place]
        at = bisect.bisect_left(rooms, (length, -1))
        room, row = rooms.pop(at) if at < len(rooms) else (max(capacity, length), len(plan))
        if row == len(plan):
            plan.append([])
        plan[row].append(place)
        bisect.insort(rooms, (room - length, row))
    return plan


def targets_of(rows: Sequence[Sequence[float | None]], ignored: float) -> Tensor:
    """Targets as a tensor. (B, S), ``ignored`` for an unlabelled or an absent step."""
    values = [torch.tensor([ignored if value is None else float(value) for value in row]) for row in rows]
    return pad_sequence(values, batch_first=True, padding_value=ignored)


def _spans(row: Encoded, separator_length: int) -> tuple[list[int], list[int], list[int]]:
    """The first token of each step, one past its last token of text, and its position."""
    stops = [position - separator_length + 1 for position in row.positions]
    return list(row.starts), stops, list(row.positions)


def _fill(rows: Sequence[Sequence[int]]) -> Tensor:
    values = [torch.tensor(row, dtype=torch.long) for row in rows]
    return pad_sequence(values, batch_first=True, padding_value=PAD)
