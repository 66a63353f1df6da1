"""What clients send and get, beside verdicts."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.reading import Reading


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _unicode(cls, data: Any) -> Any:
        return unicode_only(data)


def unicode_only(data: Any) -> Any:
    """Return data as it is. Raises ValueError for half a surrogate pair, which no answer of ours could hold."""
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            try:
                one.encode()
            except UnicodeEncodeError:
                raise ValueError("text that is not Unicode: half a surrogate pair") from None
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
    return data


class GradeRequest(_Request):
    """An answer to grade: what a model wrote, or a bare answer, against a gold answer."""

    completion: str | None = None
    answer: str | None = None
    gold: str
    reading: Reading = "auto"
    thinking: bool = False
    deadline: float | None = Field(default=None, gt=0)
    policy: Policy = Policy()

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.completion is None) == (self.answer is None):
            raise ValueError("expected completion or answer, one of the two")
        return self


class AskedLimits(_Request):
    """Limits that a client asks for. What is more than the server's is cut to it; see `Limits` for each."""

    cpu_seconds: float | None = Field(default=None, gt=0)
    wall_seconds: float | None = Field(default=None, gt=0)
    idle_seconds: float | None = Field(default=None, gt=0)
    memory_bytes: int | None = Field(default=None, gt=0)
    output_bytes: int | None = Field(default=None, ge=0)
    processes: int | None = Field(default=None, ge=1)
    files: int | None = Field(default=None, ge=0)

    def within(self, most: Limits) -> Limits:
        """The limits that a run gets: those asked for, up to the server's; files and processes only if asked for."""
        asked = {"files": 0, "processes": 1, **self.model_dump(exclude_none=True)}
        cut = {name: min(value, getattr(most, name)) for name, value in asked.items()}
        least = min(64 * 2**20, most.memory_bytes)  # what an interpreter needs to say that it has too little
        cut["memory_bytes"] = max(cut.get("memory_bytes", most.memory_bytes), least)
        return Limits.model_validate({**most.model_dump(), **cut})


class RunRequest(_Request):
    """A Python program to run."""

    code: str
    stdin: str = ""
    argv: list[str] = Field(default=[], max_length=256)
    limits: AskedLimits = AskedLimits()


class RunResponse(BaseModel):
    """How a run ended; see `Execution`. Text that is not UTF-8 has U+FFFD in its place."""

    outcome: RunOutcome
    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    cpu_seconds: float
    wall_seconds: float
    peak_memory_bytes: int
    level: int
    detail: str
    limits: Limits
    """What it ran under."""

    @classmethod
    def of(cls, run: Execution, limits: Limits) -> Self:
        """Make a response of a run."""
        fields = run.model_dump(exclude={"result", "stdout", "stderr"})
        return cls(**fields, stdout=text(run.stdout), stderr=text(run.stderr), limits=limits)


class JudgeRequest(_Request):
    """A program to judge: what a model wrote, or a program, against cases or tests."""

    completion: str | None = None
    solution: str | None = None
    cases: list[dict[str, Any]] | None = None
    tests: str | None = None
    entry_point: str | None = None
    prompt: str | None = None
    score: str = Field(default="all", pattern="^(all|fraction)$")
    limits: AskedLimits = AskedLimits()

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.completion is None) == (self.solution is None):
            raise ValueError("expected completion or solution, one of the two")
        return self

    def row(self) -> dict[str, Any]:
        """The cases as a row of a file holds them."""
        names = ("cases", "tests", "entry_point", "prompt")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Health(BaseModel):
    """How the server does."""

    status: str = "ok"
    version: str
    level: int
    workers: int
    queue: int
    pending: int
    judge: str = ""
    """The judge of steps, if there is one."""
    scoring: int = 0
    """Requests at the judge, or waiting for it."""


def text(data: bytes) -> str:
    """Bytes as text."""
    return data.decode("utf-8", "replace")
