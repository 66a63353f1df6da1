"""The application: FastAPI behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from markscheme.serve import fusion, routes, score
from markscheme.serve.desk import Desk
from markscheme.serve.engine import Engine, Runner
from markscheme.serve.guard import Guard, Refused, logger
from markscheme.verifiers.code.sandbox.pool import PRELOAD, Sandbox
from markscheme.verifiers.code.sandbox.supervisor import SandboxError
from markscheme.verifiers.release import release

if TYPE_CHECKING:
    from markscheme.serve.score import Scorer
    from markscheme.serve.settings import Settings


def create_app(settings: Settings, sandbox: Runner | None = None, scorer: Scorer | None = None) -> FastAPI:
    """Make the application.

    Args:
        settings: how it is guarded and bounded.
        sandbox: where programs run; None: one of its own, made here and closed when the application ends.
        scorer: the judge of steps; None: the one that the settings name, if any, loaded here.

    Raises:
        DataError: the settings' judge is no checkpoint that can be read.
        SandboxError: the host does not give the level that was asked for.
    """
    from markscheme.verifiers.code.calls import INSIDE  # noqa: PLC0415 - what the judge needs within the jail

    if scorer is None and settings.judge is not None:
        scorer = score.load_scorer(settings.judge, settings.judge_format, settings.judge_dtype)
    own = sandbox is None
    runner: Runner = sandbox or Sandbox(settings.workers, settings.level, (*PRELOAD, *INSIDE), settings.limits)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        threads = ThreadPoolExecutor(2 * settings.workers + 2, "markscheme-serve")
        asyncio.get_running_loop().set_default_executor(threads)
        desk = Desk(settings.workers, settings.queue)
        scoring = None if scorer is None else Desk(1, settings.queue)
        app.state.engine = Engine(settings, runner, desk, scorer, scoring)
        yield
        await desk.close()
        if scoring is not None:
            await scoring.close()
        if own:
            await asyncio.to_thread(runner.close)

    app = FastAPI(
        title="markscheme",
        summary="Answers graded, programs run and judged, steps scored.",
        version=release(),
        lifespan=life,
        docs_url=None,  # that page loads scripts from elsewhere; /openapi.json is here
        redoc_url=None,
    )
    app.include_router(routes.router)
    app.include_router(score.router)
    app.include_router(fusion.router, tags=["SandboxFusion"])
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(SandboxError, _no_sandbox)
    app.add_exception_handler(Refused, _refused)
    app.add_middleware(Guard, settings=settings)
    return app


async def _refused(_: Request, error: Exception) -> JSONResponse:
    refused = error if isinstance(error, Refused) else Refused(500, "internal error")
    headers = {name.decode(): value.decode() for name, value in refused.headers}
    return JSONResponse({"detail": refused.detail}, refused.status, headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong and where, without the text that was sent, which may be long and is the client's own."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    detail = [
        {"loc": [_ascii(str(part)[:80]) for part in one["loc"]], "msg": _ascii(one["msg"]), "type": one["type"]}
        for one in found[:20]
    ]
    return JSONResponse({"detail": detail}, 422)


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()


async def _no_sandbox(_: Request, error: Exception) -> JSONResponse:
    logger.error("the sandbox failed: %s", error)
    return JSONResponse({"detail": "the sandbox is not available"}, 503)
