"""Letting a judge score many solutions: in chunks, resumably, with a name for every one that it cannot score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from markscheme.prm.protocol import StepScorer
from markscheme.verifiers.errors import DataError, StepDataError
from markscheme.verifiers.jsonl import read_rows
from markscheme.verifiers.records import LineFile, fingerprint

CHUNK = 64
"""Solutions that go to a judge at once: enough to batch by length, few enough that a stopped run loses little."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What a judge scores.

    Attributes:
        row: its number, from 0.
        problem: the problem's text.
        steps: its steps; none of them where nothing was written.
        keys: what its row of a file of scores names it by.
        place: what messages call it instead of "row N", where its file is known.
    """

    row: int
    problem: str
    steps: tuple[str, ...]
    keys: Mapping[str, str | int] = field(default_factory=dict)
    place: str = ""


class StepScores(BaseModel):
    """A line of a file of scores: a score a step, null for a step without one, and why there are none at all."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    scores: tuple[float | None, ...]
    error: str = ""

    @property
    def found(self) -> list[float]:
        """The scores, NaN for none."""
        return [math.nan if score is None else score for score in self.scores]


def score_digests(solutions: Sequence[Solution], judge: str) -> dict[int, str]:
    """Fingerprint what each solution's scores follow from, by row; ``judge`` as `ScoreFile` has it."""
    return {one.row: fingerprint(judge, one.problem, list(one.steps)) for one in solutions}


class ScoreFile(LineFile[StepScores]):
    """An output file of scores: a stopped run goes on from it; see `LineFile`.

    Args:
        path: the file.
        solutions: all that the run scores.
        judge: what the scores follow from beside the solutions: the judge's name, and what tells its versions apart.
        fresh: start over even where the file holds scores.
    """

    def __init__(self, path: Path, solutions: Sequence[Solution], judge: str, *, fresh: bool = False) -> None:
        super().__init__(path, score_digests(solutions, judge), StepScores, fresh=fresh, noun="line of scores")


def read_scores(path: Path, solutions: Sequence[Solution]) -> list[StepScores]:
    """Read a file of scores: a row a solution in their order, or rows that are numbered by ``row``.

    Raises:
        DataError: a row has no ``scores``, or the rows are not those of the solutions.
        OSError: the file cannot be read.
    """
    lines: dict[int, StepScores] = {}
    for row in read_rows(path):
        scores = row.fields.get("scores")
        if not isinstance(scores, list):
            raise DataError(f"{row.where}: no 'scores': expected a list with a number or null for each step")
        number = row.fields.get("row", row.number)
        try:
            line = StepScores.model_validate(
                {"scores": [None if score is None else float(score) for score in scores], **_error_of(row.fields)}
            )
        except (TypeError, ValueError):
            raise DataError(
                f"{row.where}: 'scores': expected a number or null for each step, found {scores!r:.60}"
            ) from None
        if number in lines:
            raise DataError(f"{row.where}: row {number} has scores already")
        lines[number] = line
    missing = [one.row for one in solutions if one.row not in lines]
    if missing or len(lines) != len(solutions):
        raise DataError(
            f"{path}: it has the scores of {len(lines)} solutions, but {len(solutions)} are to be judged"
            + (f"; row {missing[0]} has none" if missing else "")
        )
    return [lines[one.row] for one in solutions]


def _error_of(fields: Mapping[str, object]) -> dict[str, str]:
    return {"error": str(fields["error"])} if fields.get("error") else {}


def judge_solutions(
    scorer: StepScorer, solutions: Sequence[Solution], *, on_bad: Literal["error", "skip"] = "error", chunk: int = CHUNK
) -> Iterator[tuple[Solution, StepScores]]:
    """Yield each solution with its scores, in order, as soon as they are there.

    A judge with a ``score_many(items)`` is given chunks, any other one solution at a time. A solution without steps has
    no scores and is not asked about.

    Args:
        scorer: the judge.
        solutions: what to score.
        on_bad: what to do with solutions that the judge cannot lay out (a separator in a step): ``error`` raises, with
            what came before them yielded; ``skip`` yields them with an ``error`` and no scores.
        chunk: solutions that go to the judge at once.

    Raises:
        StepDataError: solutions cannot be laid out; it lists those of the chunk by their rows.
    """
    for start in range(0, len(solutions), chunk):
        part = solutions[start : start + chunk]
        asked = [one for one in part if one.steps]
        found, bad = _ask(scorer, asked)
        if bad and on_bad == "error":
            rows = [(one.row, str(one.keys.get("id", "")), why) for one, why in bad]
            raise StepDataError(rows, places={one.row: one.place for one, _ in bad})
        why_not = {one.row: why for one, why in bad}
        for one in part:
            if one.row in why_not:
                yield one, StepScores(scores=(), error=why_not[one.row])
            else:
                yield one, StepScores(scores=tuple(_or_none(score) for score in found.get(one.row, ())))


def _ask(
    scorer: StepScorer, asked: Sequence[Solution]
) -> tuple[dict[int, Sequence[float]], list[tuple[Solution, str]]]:
    """Score solutions; return scores by row, and those that cannot be laid out with the reason."""
    many = getattr(scorer, "score_many", None)
    if many is None:
        return _one_by_one(scorer, asked)
    bad: list[tuple[Solution, str]] = []
    rest = list(asked)
    try:
        given = many([(one.problem, one.steps) for one in rest])
    except StepDataError as error:
        why = {place: reason for place, _, reason in error.rows}
        bad = [(one, why[place]) for place, one in enumerate(rest) if place in why]
        rest = [one for place, one in enumerate(rest) if place not in why]
        given = many([(one.problem, one.steps) for one in rest]) if rest else []
    return {one.row: scores for one, scores in zip(rest, given, strict=True)}, bad


def _one_by_one(
    scorer: StepScorer, asked: Sequence[Solution]
) -> tuple[dict[int, Sequence[float]], list[tuple[Solution, str]]]:
    found: dict[int, Sequence[float]] = {}
    bad = []
    for one in asked:
        try:
            found[one.row] = scorer.score(one.problem, one.steps)
        except DataError as error:
            bad.append((one, str(error)))
    return found, bad


def _or_none(score: float) -> float | None:
    return None if math.isnan(score) else float(score)
