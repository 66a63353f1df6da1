"""The routes of our own: /grade, /run, /judge, /health."""

from __future__ import annotations

import functools
from typing import Any, cast

from fastapi import APIRouter, Request

from markscheme.serve.desk import in_thread
from markscheme.serve.engine import Engine, math_verifier
from markscheme.serve.guard import Refused
from markscheme.serve.leash import Leash
from markscheme.serve.schemas import (
    AskedLimits,
    GradeRequest,
    Health,
    JudgeRequest,
    RunRequest,
    RunResponse,
)
from markscheme.verifiers.code.cases import parse_cases
from markscheme.verifiers.code.outcomes import Limits
from markscheme.verifiers.code.results import ProgramVerdict
from markscheme.verifiers.code.verifier import CodeVerifier
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.verdict import Verdict

router = APIRouter()


def engine_of(request: Request) -> Engine:
    """The engine of the application that a request came to."""
    return cast("Engine", request.app.state.engine)


@router.get("/health")
async def health(request: Request) -> Health:
    """Say that the server is up, at which level it runs programs, and how much it has to do."""
    engine = engine_of(request)
    desk = engine.desk
    return Health(
        version=request.app.version,
        level=engine.sandbox.level,
        workers=desk.workers,
        queue=desk.queue,
        pending=desk.pending,
        judge=engine.settings.judge_name,
        scoring=0 if engine.scoring is None else engine.scoring.pending,
    )


@router.post("/grade")
async def grade(request: Request, asked: GradeRequest) -> Verdict:
    """Grade what a completion states, or a bare answer, against a gold answer."""
    engine = engine_of(request)
    deadline = min(asked.deadline or engine.settings.deadline, engine.settings.deadline)
    verifier = math_verifier(asked.reading, deadline, asked.policy, asked.thinking)
    if asked.completion is not None:
        call = functools.partial(verifier.verify, asked.completion, asked.gold)
    else:
        call = functools.partial(verifier.verify_answer, asked.answer or "", asked.gold)
    return await engine.desk.work(request, lambda: in_thread(call))


@router.post("/run")
async def run(request: Request, asked: RunRequest) -> RunResponse:
    """Run a Python program. A client that goes ends it."""
    engine = engine_of(request)
    limits = limits_for(engine, asked.limits)
    if any("\0" in one for one in asked.argv):
        raise Refused(422, "argv: no NUL bytes")
    ended = await engine.desk.work(
        request, lambda: engine.sandbox.arun(asked.code, asked.stdin, asked.argv, limits=limits)
    )
    return RunResponse.of(ended, limits)


@router.post("/judge")
async def judge(request: Request, asked: JudgeRequest) -> ProgramVerdict:
    """Judge a program by cases or tests. A client that goes ends it."""
    engine = engine_of(request)
    if asked.cases is not None and len(asked.cases) > engine.settings.cases:
        raise Refused(422, f"cases: at most {engine.settings.cases}")
    try:
        cases = parse_cases(asked.row(), "the request")
    except DataError as error:
        raise Refused(422, str(error)[:1000]) from None
    except (ValueError, RecursionError):  # text that is not Unicode, and the like
        raise Refused(422, "the request: cases that cannot be read") from None
    leash = Leash(engine.sandbox)
    verifier = CodeVerifier(
        cast("Any", leash),
        limits=limits_for(engine, asked.limits),
        score="fraction" if asked.score == "fraction" else "all",
    )

    def call() -> ProgramVerdict:
        if asked.solution is not None:
            return verifier.verify_program(asked.solution, cases)
        return verifier.verify(asked.completion or "", cases)

    try:
        return await engine.desk.work(request, lambda: in_thread(call, leash.cut))
    except DataError as error:
        raise Refused(422, str(error)[:1000]) from None


def limits_for(engine: Engine, asked: AskedLimits) -> Limits:
    """The limits of a run. Raises Refused for what the sandbox's level does not give."""
    limits = asked.within(engine.settings.limits)
    if engine.sandbox.level < 3 and (limits.files or limits.processes > 1):
        raise Refused(
            422, f"files and processes need level 3; this server runs programs at level {engine.sandbox.level}"
        )
    return limits
