"""A job as it is given, and what its end comes to."""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass, field

from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.sandbox.job import MORE_THREADS
from markscheme.verifiers.code.sandbox.program import TOO_LONG


@dataclass(frozen=True, slots=True)
class Job:
    """What a jail is given.

    Attributes:
        payload: code, arguments and function, encoded.
        stdin: what standard input holds.
        limits: of this run.
        result_bytes: how long the encoded result may be.
        cancelled: set when nobody waits for the outcome any more.
    """

    payload: bytes
    stdin: bytes
    limits: Limits
    result_bytes: int = 1 << 16
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job ended: the limit that it ran into, if any, exit status as Python counts, and what it used."""

    verdict: RunOutcome | None
    status: int
    cpu: float
    wall: float
    resident: int


def execution(ended: Ended, job: Job, level: int, out: bytes, err: bytes, result: bytes | None) -> Execution:
    """Judge how a job ended by what it left, which is the program's to write: none of it speaks for the sandbox.

    ``result`` is None where it was too long to be read.
    """
    limits = job.limits
    outcome = ended.verdict or _classify(ended, limits, out, err)
    detail = _detail(outcome, ended, job, err)
    if outcome is RunOutcome.FINISHED and result is None:  # it ran well: a wrong answer
        detail = f"returned more than {job.result_bytes} bytes"
    return Execution(
        outcome=outcome,
        exit_code=ended.status if ended.status >= 0 else None,
        signal=-ended.status if ended.status < 0 else None,
        stdout=out[: limits.output_bytes],
        stderr=err[: limits.output_bytes],
        cpu_seconds=ended.cpu,
        wall_seconds=ended.wall,
        peak_memory_bytes=ended.resident,
        level=level,
        detail=detail,
        result=TOO_LONG if result is None else result,
    )


def _last_line(err: bytes) -> bytes:
    return err[-4096:].rstrip().rsplit(b"\n", 1)[-1]


def _classify(ended: Ended, limits: Limits, out: bytes, err: bytes) -> RunOutcome:
    if ended.status == -signal.SIGXFSZ or max(len(out), len(err)) > limits.output_bytes:
        return RunOutcome.OUTPUT
    if ended.status == -signal.SIGKILL and ended.cpu >= limits.cpu_seconds:
        return RunOutcome.TIME
    if ended.status == 0:
        return RunOutcome.FINISHED
    last = _last_line(err)
    if last.startswith((b"MemoryError", b"numpy._core._exceptions._ArrayMemoryError")):
        return RunOutcome.MEMORY
    return RunOutcome.OUTPUT if b"File too large" in last else RunOutcome.RUNTIME_ERROR


def _detail(outcome: RunOutcome, ended: Ended, job: Job, err: bytes) -> str:
    limits = job.limits
    if outcome is RunOutcome.RUNTIME_ERROR and ended.verdict is not None:
        most = f"{limits.processes + MORE_THREADS} threads"
        if limits.processes > 1:
            most = f"{limits.processes} processes, or {most}"
        return "cancelled" if job.cancelled.is_set() else f"more than {most}"
    return {
        RunOutcome.TIME: f"over {limits.cpu_seconds:g} s of CPU time",
        RunOutcome.IDLE: f"waited for {limits.idle_seconds:g} s, or ran past {limits.wall_seconds:g} s",
        RunOutcome.OUTPUT: f"wrote more than {limits.output_bytes} bytes",
        RunOutcome.FINISHED: "",
    }.get(outcome, _last_line(err).decode("utf-8", "replace")[:200])
