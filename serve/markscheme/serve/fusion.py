"""``/run_code`` as SandboxFusion has it, so that trainers which speak that protocol can point here.

Departures: ``run_timeout`` bounds CPU time and idle time, with four times as much wall time as a backstop; Python,
C++ and JavaScript only; files go into the job's own /tmp, where the program starts; what the sandbox failed at is
``SandboxError``, as is what it does not offer.
"""

from __future__ import annotations

import base64
import binascii
import functools
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from markscheme.serve.desk import in_thread
from markscheme.serve.engine import Engine
from markscheme.serve.guard import Refused
from markscheme.serve.leash import Leash
from markscheme.serve.placing import Fetched, place_and_run
from markscheme.serve.routes import engine_of
from markscheme.serve.schemas import AskedLimits, text, unicode_only
from markscheme.verifiers.code import languages
from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.sandbox.supervisor import SandboxError

router = APIRouter()
_LANGUAGES = {"python": "python", "cpp": "cpp", "nodejs": "javascript"}
_PATH_LENGTH = 200


class CommandStatus(StrEnum):
    """How a command ended."""

    FINISHED = "Finished"
    ERROR = "Error"
    TIME_LIMIT_EXCEEDED = "TimeLimitExceeded"


class RunStatus(StrEnum):
    """How a request ended."""

    SUCCESS = "Success"
    FAILED = "Failed"
    SANDBOX_ERROR = "SandboxError"


class RunCodeRequest(BaseModel):
    """SandboxFusion's request."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    code: str
    language: str
    compile_timeout: float = Field(default=10, gt=0)
    """Taken and not used: compilers have limits of their own."""
    run_timeout: float = Field(default=10, gt=0)
    memory_limit_MB: int = -1  # noqa: N815 - the protocol's name
    stdin: str | None = None
    files: dict[str, str | None] = {}
    fetch_files: list[str] = []
    args: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def _unicode(cls, data: Any) -> Any:
        return unicode_only(data)


class CommandResult(BaseModel):
    """SandboxFusion's account of a command."""

    status: CommandStatus
    execution_time: float | None = None
    return_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None


class RunCodeResponse(BaseModel):
    """SandboxFusion's response."""

    status: RunStatus
    message: str = ""
    compile_result: CommandResult | None = None
    run_result: CommandResult | None = None
    executor_pod_name: str | None = None
    files: dict[str, str] = {}


@router.post("/run_code")
async def run_code(request: Request, asked: RunCodeRequest) -> RunCodeResponse:
    """Run a program as SandboxFusion does."""
    engine = engine_of(request)
    files = _checked_files(engine, asked)
    language = _LANGUAGES.get(asked.language)
    if language is None:
        return _failed(f"language {asked.language[:40]!r} is not offered here: {', '.join(_LANGUAGES)}")
    if engine.sandbox.level < 3 and (files or asked.fetch_files):
        return _failed(f"files need level 3; this server runs programs at level {engine.sandbox.level}")
    if language != "python" and (files or asked.fetch_files):
        return _failed("files are offered for python only")
    limits = _limits(engine, asked)
    try:
        if language != "python":
            leash = Leash(engine.sandbox)
            call = functools.partial(_compiled, leash, asked, language, limits)
            return await engine.desk.work(request, lambda: in_thread(call, leash.cut))
        run, fetched = await engine.desk.work(
            request, lambda: place_and_run(engine, asked.code, asked.stdin or "", files, asked.fetch_files, limits)
        )
    except SandboxError as error:
        return _failed(str(error))
    return _response(run, fetched)


def _limits(engine: Engine, asked: RunCodeRequest) -> Limits:
    most = engine.settings.limits
    megabytes = asked.memory_limit_MB
    wanted = AskedLimits(
        cpu_seconds=asked.run_timeout,
        idle_seconds=asked.run_timeout,
        wall_seconds=4 * asked.run_timeout,
        memory_bytes=megabytes * 2**20 if megabytes > 0 else None,
        files=most.files if engine.sandbox.level == 3 else None,  # their programs have a folder to write in
    )
    return wanted.within(most)


def _checked_files(engine: Engine, asked: RunCodeRequest) -> dict[str, bytes]:
    """The files to place, decoded. Raises Refused for too many, too large, or a path that leads elsewhere."""
    most = engine.settings
    for name, count in (("files", len(asked.files)), ("fetch_files", len(asked.fetch_files))):
        if count > most.files:
            raise Refused(422, f"{name}: at most {most.files}")
    for path in (*asked.files, *asked.fetch_files):
        parts = path.split("/")
        if not path or len(path) > _PATH_LENGTH or "\0" in path or "\\" in path or not path.isprintable():
            raise Refused(422, "files: a path must be short, printable text")
        if PurePosixPath(path).is_absolute() or any(part in {"", ".", ".."} for part in parts):
            raise Refused(422, "files: a path must lead down from the working folder: no leading /, no . or ..")
    files = {}
    for path, content in asked.files.items():
        if content is not None:
            try:
                files[path] = base64.b64decode(content, validate=True)
            except (binascii.Error, ValueError):
                raise Refused(422, "files: a content is not base64") from None
    if sum(map(len, files.values())) > most.limits.files:
        raise Refused(413, f"files: more than {most.limits.files} bytes")
    return files


def _compiled(sandbox: Leash, asked: RunCodeRequest, language: str, limits: Limits) -> RunCodeResponse:
    runner = languages.runner(cast("Any", sandbox), asked.code, language, limits)
    if isinstance(runner, Execution):
        return _response(runner, {}, compiling=True)
    response = _response(runner((asked.stdin or "").encode("utf-8", "surrogatepass")), {})
    built = CommandResult(status=CommandStatus.FINISHED, return_code=0, stdout="", stderr="")
    return response if language == "javascript" else response.model_copy(update={"compile_result": built})


def _response(run: Execution, fetched: Fetched, *, compiling: bool = False) -> RunCodeResponse:
    if run.outcome is RunOutcome.BROKEN:
        return _failed(run.detail or "the sandbox failed")
    result = _command(run)
    well = result.status is CommandStatus.FINISHED and result.return_code == 0
    return RunCodeResponse(
        status=RunStatus.SUCCESS if well else RunStatus.FAILED,
        compile_result=result if compiling else None,
        run_result=None if compiling else result,
        files={path: base64.b64encode(data).decode() for path, data in fetched.items()},
    )


def _command(run: Execution) -> CommandResult:
    slow = run.outcome in {RunOutcome.TIME, RunOutcome.IDLE}
    code = run.exit_code if run.exit_code is not None else -(run.signal or 9)
    if run.outcome is not RunOutcome.FINISHED and code == 0:
        code = 1  # such as too much output from a program that ended well
    return CommandResult(
        status=CommandStatus.TIME_LIMIT_EXCEEDED if slow else CommandStatus.FINISHED,
        execution_time=run.wall_seconds,
        return_code=None if slow else code,
        stdout=text(run.stdout),
        stderr=text(run.stderr) or run.detail,
    )


def _failed(message: str) -> RunCodeResponse:
    return RunCodeResponse(
        status=RunStatus.SANDBOX_ERROR,
        message=message,
        run_result=CommandResult(status=CommandStatus.ERROR, stderr=message),
    )
