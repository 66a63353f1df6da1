"""Scores of steps by a trained judge: one forward pass a solution, however many steps it has."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import torch

from markscheme.prm.aggregation import Aggregation, aggregate
from markscheme.prm.checkpoints.base import AnyCheckpoint, probability
from markscheme.prm.encode import LostStepsWarning
from markscheme.prm.model.batching import batches_by_length
from markscheme.verifiers.errors import DataError, StepDataError

if TYPE_CHECKING:
    from markscheme.prm.encode import Encoded

Item = tuple[str, Sequence[str]]
"""A problem and the steps of one solution."""


@dataclass(slots=True)
class ScoringReport:
    """What was scored.

    Attributes:
        solutions: scored.
        steps: of those, with the lost ones.
        lost: steps beyond the model's length, whose score is NaN.
        cut: solutions that lost steps.
        tokens: that went through the model.
        batches: forward passes.
    """

    solutions: int = 0
    steps: int = 0
    lost: int = 0
    cut: int = 0
    tokens: int = 0
    batches: int = 0


class PRMScorer:
    """Scores the steps of solutions.

    Args:
        checkpoint: a loaded judge.
        batch_size: the most solutions of one forward pass.
        batch_tokens: the most tokens of one, padding included.
        strict: raise where a step is beyond the model's length, rather than score it NaN and count it.

    Attributes:
        report: what was scored so far.
    """

    def __init__(
        self, checkpoint: AnyCheckpoint, *, batch_size: int = 32, batch_tokens: int = 16384, strict: bool = False
    ) -> None:
        if batch_size < 1 or batch_tokens < 1:
            raise DataError(f"batch_size and batch_tokens must be at least 1, got {batch_size} and {batch_tokens}")
        self.checkpoint = checkpoint
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens
        self.strict = strict
        self.report = ScoringReport()

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path,
        *,
        format: str = "auto",  # noqa: A002 - the word that the checkpoints' own users look for
        dtype: torch.dtype | str = "auto",
        device: torch.device | str | None = None,
        batch_size: int = 32,
        batch_tokens: int = 16384,
        strict: bool = False,
        **options: Any,
    ) -> Self:
        """Load a judge.

        Args:
            folder: a folder or a name on the Hub.
            format: ``markscheme`` for what `PRMTrainer` wrote, or one of `markscheme.prm.checkpoints.FORMATS`;
                ``auto`` tells by the files, and where they do not tell, by the name.
            dtype: of the weights: ``float32``, ``bfloat16``, ``float16``; ``auto``: as they were saved.
            device: where to; None: a GPU if there is one.
            batch_size: the most solutions of one forward pass.
            batch_tokens: the most tokens of one, padding included.
            strict: raise where a step is beyond the model's length.
            options: of the format's loader (``max_length``, ``reference``, …) and of ``from_pretrained``.

        Raises:
            DataError: the format cannot be told, or the files are not of it.
        """
        from markscheme.prm.checkpoints import load_checkpoint  # noqa: PLC0415 - loads transformers

        checkpoint = load_checkpoint(folder, format=format, dtype=dtype, **options)
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        for model in (checkpoint.model, getattr(checkpoint, "reference", None)):
            if model is not None:
                cast("Any", model).to(place)
        return cls(checkpoint, batch_size=batch_size, batch_tokens=batch_tokens, strict=strict)

    @property
    def threshold(self) -> float:
        """The score below which a step counts as wrong: the checkpoint's own, or 0.5."""
        return self.checkpoint.threshold

    @property
    def fitted_on(self) -> tuple[str, ...]:
        """The data that chose the threshold and fitted the calibration, as the checkpoint names them."""
        fitted = self.checkpoint.calibration
        return tuple(filter(None, (self.checkpoint.threshold_source, "" if fitted is None else fitted.data)))

    def score(self, problem: str, steps: Sequence[str]) -> list[float]:
        """The probability that each step is right; NaN for a step beyond the model's length.

        Raises:
            DataError: a step is empty or holds the separator, or, if ``strict``, is lost; or the steps are one text.
        """
        encoded = self._encoded(problem, steps)
        return self._probabilities(self._run([encoded], [len(steps)], None)[0])

    def score_many(self, items: Iterable[Item], *, done: Callable[[int], None] | None = None) -> list[list[float]]:
        """Score many solutions, in batches of like length; results are in the items' order.

        Args:
            items: problems and steps.
            done: called with the number of solutions scored, after each batch.

        Raises:
            StepDataError: solutions that cannot be laid out; it lists every one.
        """
        return [self._probabilities(row) for row in self.logits_many(items, done=done)]

    def rewards_many(self, items: Iterable[Item], *, done: Callable[[int], None] | None = None) -> list[list[float]]:
        """Rewards in the unit of the checkpoint's authors, uncalibrated: PURE's p₊ - p₋, EurusPRM's q, else p."""
        return [self.checkpoint.rewards(row) for row in self.logits_many(items, done=done)]

    def logits_many(self, items: Iterable[Item], *, done: Callable[[int], None] | None = None) -> list[list[float]]:
        """The log-odds that each step is right: what calibration works on. See `score_many`."""
        encoded, counts, bad = [], [], []
        for row, (problem, steps) in enumerate(items):
            try:
                encoded.append(self._encoded(problem, steps))
                counts.append(len(steps))
            except DataError as error:
                bad.append((row, "", str(error)))
        if bad:
            raise StepDataError(bad)
        return self._run(encoded, counts, done)

    def solution(
        self, problem: str, steps: Sequence[str], aggregation: Aggregation = "min", temperature: float = 0.1
    ) -> float:
        """One score for a solution; see `aggregate`."""
        return aggregate(self.score(problem, steps), aggregation, temperature)

    def _encoded(self, problem: str, steps: Sequence[str]) -> Encoded:
        if isinstance(steps, str):  # a sequence of texts too: of its characters
            raise DataError(f"expected a list of steps, found one text: {steps[:60]!r}; part it into its steps first")
        return self.checkpoint.encode(problem, steps)

    def _probabilities(self, logits: Sequence[float]) -> list[float]:
        return [z if math.isnan(z) else probability(self.checkpoint, z) for z in logits]

    def _run(
        self, rows: Sequence[Encoded], counts: Sequence[int], done: Callable[[int], None] | None
    ) -> list[list[float]]:
        lost = sum(row.lost for row in rows)
        if lost and self.strict:
            where = next(number for number, row in enumerate(rows) if row.lost)
            raise DataError(
                f"solution {where}: {rows[where].lost} of {counts[where]} steps are beyond the model's length"
            )
        if lost and not self.report.lost:
            warnings.warn(
                f"{lost} steps are beyond the model's length and have no score (NaN); later ones are only counted, in "
                "PRMScorer.report",
                LostStepsWarning,
                stacklevel=3,
            )
        found: list[list[float]] = [[] for _ in rows]
        waiting = [place for place, row in enumerate(rows) if row.positions]
        for batch in batches_by_length([len(rows[place].ids) for place in waiting], self.batch_size, self.batch_tokens):
            places = [waiting[place] for place in batch]
            for place, values in zip(places, self.checkpoint.logits([rows[place] for place in places]), strict=True):
                found[place] = values
            self.report.batches += 1
            if done is not None:
                done(len(places))
        if done is not None and len(waiting) < len(rows):
            done(len(rows) - len(waiting))
        self._count(rows, counts)
        return [[*values, *[math.nan] * (count - len(values))] for values, count in zip(found, counts, strict=True)]

    def _count(self, rows: Sequence[Encoded], counts: Sequence[int]) -> None:
        self.report.solutions += len(rows)
        self.report.steps += sum(counts)
        self.report.lost += sum(row.lost for row in rows)
        self.report.cut += sum(row.lost > 0 for row in rows)
        self.report.tokens += sum(len(row.ids) for row in rows if row.positions)
