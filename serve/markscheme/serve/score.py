"""/score: the judge of steps over HTTP. Its forward passes are made one request at a time, in a queue of their own."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, Protocol, Self

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from markscheme.prm.aggregation import Aggregation, aggregate
from markscheme.serve.desk import in_thread
from markscheme.serve.guard import Refused
from markscheme.serve.routes import engine_of
from markscheme.serve.schemas import unicode_only
from markscheme.verifiers.errors import DataError, StepDataError

router = APIRouter()


class Scorer(Protocol):
    """The part of a `PRMScorer` that the route needs."""

    @property
    def threshold(self) -> float:
        """The score below which a step counts as wrong."""
        ...

    def score_many(self, items: Any, *, done: Any = None) -> list[list[float]]:
        """Score solutions, and call ``done`` after each batch."""
        ...


class SolutionToScore(BaseModel):
    """A problem and the steps of one solution."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: str
    steps: list[str] = Field(min_length=1)


class ScoreRequest(BaseModel):
    """One solution, or several as ``solutions``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    problem: str | None = None
    steps: list[str] | None = Field(default=None, min_length=1)
    solutions: list[SolutionToScore] | None = Field(default=None, min_length=1)
    aggregation: Aggregation = "min"

    @model_validator(mode="before")
    @classmethod
    def _unicode(cls, data: Any) -> Any:
        return unicode_only(data)

    @model_validator(mode="after")
    def _one(self) -> Self:
        single = self.problem is not None and self.steps is not None
        if (self.problem is not None or self.steps is not None) == (self.solutions is not None) or not (
            single or self.solutions
        ):
            raise ValueError("expected problem and steps, or solutions, one of the two")
        return self

    def items(self) -> list[tuple[str, list[str]]]:
        """All solutions."""
        if self.solutions is not None:
            return [(one.problem, one.steps) for one in self.solutions]
        return [(self.problem or "", self.steps or [])]


class ScoreResponse(BaseModel):
    """A score a step of each solution; null for a step beyond the judge's length."""

    scores: list[list[float | None]]
    solutions: list[float | None]
    """One score for each solution, by the aggregation that was asked for; null where a step has none."""
    threshold: float
    """A step counts as wrong below it."""
    judge: str


class _GivenUp(Exception):
    """The client has gone: the batches that are left need no pass."""


@router.post("/score")
async def score(request: Request, asked: ScoreRequest) -> ScoreResponse:
    """Score the steps of solutions. A client that goes ends it after the batch at work."""
    engine = engine_of(request)
    if engine.scorer is None or engine.scoring is None:
        raise Refused(404, "this server has no judge of steps: start it with --judge CHECKPOINT")
    items = asked.items()
    steps = sum(len(one) for _, one in items)
    if steps > engine.settings.steps:
        raise Refused(422, f"steps: at most {engine.settings.steps} in one request, not {steps}")
    gone = threading.Event()
    scorer = engine.scorer

    def call() -> list[list[float]]:
        return scorer.score_many(items, done=lambda _: _stop_if(gone))

    try:
        found = await engine.scoring.work(request, lambda: in_thread(call, gone.set))
    except StepDataError as error:
        shown = "; ".join(f"solution {row}: {why}" for row, _, why in error.rows[:20])
        raise Refused(422, shown[:1000]) from None
    except DataError as error:
        raise Refused(422, str(error)[:1000]) from None
    return ScoreResponse(
        scores=[[_or_none(value) for value in row] for row in found],
        solutions=[_or_none(aggregate(row, asked.aggregation)) for row in found],
        threshold=scorer.threshold,
        judge=engine.settings.judge_name,
    )


def _stop_if(gone: threading.Event) -> None:
    if gone.is_set():
        raise _GivenUp


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def load_scorer(judge: str, format: str, dtype: str) -> Scorer:  # noqa: A002 - as PRMScorer has it
    """Load a judge.

    Raises:
        DataError: it is no checkpoint that can be read.
    """
    from markscheme.prm.scoring import PRMScorer  # noqa: PLC0415 - loads torch

    return PRMScorer.from_pretrained(judge, format=format, dtype=dtype)


__all__: Sequence[str] = ["ScoreRequest", "ScoreResponse", "Scorer", "load_scorer", "router"]
