"""The trusted side: starts zygotes, sends jobs, watches the clocks, kills, and reads what comes back."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.sandbox import levels, linux
from markscheme.verifiers.code.sandbox.job import EXIT_JAIL_FAILED
from markscheme.verifiers.errors import MarkschemeError

START_SECONDS = 60.0
_SLICE = 0.02  # seconds between looks at the clocks
_BOOT = "import sys,json,os;sys.path[:]=json.loads(os.read(int(sys.argv[2]),1<<20));from markscheme.verifiers.code.sandbox.zygote import main;main(int(sys.argv[1]))"
_CONFIG_BYTES = 1 << 17


class SandboxError(MarkschemeError, RuntimeError):
    """The sandbox itself failed: what a program did says nothing of it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a jail is given."""

    mode: str
    payload: bytes
    stdin: bytes
    argv: tuple[str, ...]
    limits: Limits
    result_bytes: int = 1 << 16


def _memfd(name: str, data: bytes = b"", *, read_only: bool = False) -> int:
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    if not read_only:
        return fd
    reopened = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    os.close(fd)
    return reopened


def _contents(fd: int, most: int) -> bytes:
    pieces, at = [], 0
    while at < most and (piece := os.pread(fd, min(most - at, 1 << 20), at)):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


class Zygote:
    """One zygote process and its control socket; one job at a time."""

    def __init__(self, level: int, index: int, preload: tuple[str, ...]) -> None:
        self.level = level
        self.folder = tempfile.mkdtemp(prefix="markscheme-root-") if level == 3 else ""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours
        paths = _memfd("paths", json.dumps([path for path in sys.path if path]).encode())
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-S", "-B", "-X", "utf8", "-c", _BOOT, str(theirs.fileno()), str(paths)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={
                    "PYTHONHASHSEED": "0",
                    "PYTHONSAFEPATH": "1",
                    "PYTHONNOUSERSITE": "1",
                    "HOME": "/tmp",
                    "LANG": "C.UTF-8",
                },  # noqa: S108
                cwd="/",
                pass_fds=(theirs.fileno(), paths),
                start_new_session=True,
            )
            theirs.close()
            root = levels.is_root()
            self._send(
                {
                    "level": level,
                    "preload": list(preload),
                    "readable": levels.readable_paths(),
                    "root_folder": self.folder,
                    "root": root,
                    "own_uid": root,
                    "uid": levels.FIRST_UID + index,
                    "gid": levels.FIRST_UID + index,
                    "landlock": linux.landlock_abi(),
                }
            )
            answer = self._receive(START_SECONDS)[0]
            if "ready" not in answer:
                raise SandboxError(f"the zygote did not start: {answer.get('error', 'it said nothing')}")
        except BaseException:
            self.close()
            raise
        finally:
            os.close(paths)

    def _send(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        try:
            socket.send_fds(self.control, [json.dumps(message).encode()], list(fds))
        except OSError as error:
            raise SandboxError(f"the zygote is gone: {error}") from error

    def _receive(self, seconds: float) -> tuple[dict[str, Any], list[int]]:
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        if not poll.poll(int(seconds * 1000)):
            raise SandboxError(f"the zygote has not answered for {seconds:g} s")
        try:
            message, fds, _, _ = socket.recv_fds(self.control, _CONFIG_BYTES, 1)
        except OSError as error:
            raise SandboxError(f"the zygote is gone: {error}") from error
        if not message:
            raise SandboxError("the zygote has ended")
        return json.loads(message), fds

    def run(self, job: Job) -> Execution:
        """Run a job in a jail of its own. Raises SandboxError when the sandbox fails."""
        limits = job.limits
        stdout, stderr, result = _memfd("out"), _memfd("err"), _memfd("result")
        given = [_memfd("payload", job.payload, read_only=True), _memfd("in", job.stdin, read_only=True)]
        try:
            request = limits.model_dump() | {"result_bytes": job.result_bytes}
            start = time.monotonic()
            message = {"mode": job.mode, "argv": list(job.argv), "limits": request}
            self._send(message, (given[0], given[1], stdout, stderr, result))
            answer, fds = self._receive(START_SECONDS)
            if not fds:
                raise SandboxError(f"no jail could be made: {answer.get('error')}")
            try:
                verdict = self._watch(fds[0], limits, start)
            finally:
                linux.kill_pidfd(fds[0], signal.SIGKILL)
                os.close(fds[0])
            ended, _ = self._receive(START_SECONDS)
            wall = time.monotonic() - start
            out, err = _contents(stdout, limits.output_bytes + 1), _contents(stderr, limits.output_bytes + 1)
            return self._ended(verdict, ended, limits, wall, out, err, _contents(result, job.result_bytes))
        finally:
            for fd in (stdout, stderr, result, *given):
                os.close(fd)

    def _watch(self, pidfd: int, limits: Limits, start: float) -> RunOutcome | None:
        """Wait for the job's end; the limit that it ran into, or None when it ended of itself."""
        pid = _host_pid(pidfd)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        while not poll.poll(int(_SLICE * 1000)):
            wall = time.monotonic() - start
            cpu, delay = _clocks(pid, tree=limits.processes > 1)
            if cpu > limits.cpu_seconds:
                return RunOutcome.TIME
            if wall > limits.wall_seconds or wall - cpu - delay > limits.idle_seconds:
                return RunOutcome.IDLE
        return None

    def _ended(
        self,
        verdict: RunOutcome | None,
        ended: dict[str, Any],
        limits: Limits,
        wall: float,
        out: bytes,
        err: bytes,
        result: bytes,
    ) -> Execution:
        status = os.waitstatus_to_exitcode(ended["status"])
        number = -status if status < 0 else None
        if status == EXIT_JAIL_FAILED and err.startswith(b"the jail could not be closed"):
            raise SandboxError(err.decode("utf-8", "replace").strip())
        outcome = verdict or _classify(status, ended["cpu"], limits, out, err)
        return Execution(
            outcome=outcome,
            exit_code=status if status >= 0 else None,
            signal=number,
            stdout=out[: limits.output_bytes],
            stderr=err[: limits.output_bytes],
            cpu_seconds=ended["cpu"],
            wall_seconds=wall,
            peak_memory_bytes=ended["rss"],
            level=self.level,
            detail=_detail(outcome, limits, err),
            result=result,
        )

    def close(self) -> None:
        """End the zygote, its job, and the folder that its root was made in."""
        self.control.close()
        process = getattr(self, "process", None)
        if process is not None:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.folder:
            with contextlib.suppress(OSError):
                shutil.rmtree(self.folder)


def _classify(status: int, cpu: float, limits: Limits, out: bytes, err: bytes) -> RunOutcome:
    if status == -signal.SIGXFSZ or len(out) > limits.output_bytes or len(err) > limits.output_bytes:
        return RunOutcome.OUTPUT
    if status == -signal.SIGKILL and cpu >= limits.cpu_seconds:
        return RunOutcome.TIME
    if status == 0:
        full = len(out) == limits.output_bytes and limits.output_bytes > 0
        return RunOutcome.OUTPUT if full else RunOutcome.FINISHED
    last = err.rstrip().rsplit(b"\n", 1)[-1]
    if last.startswith((b"MemoryError", b"numpy._core._exceptions._ArrayMemoryError")):
        return RunOutcome.MEMORY
    if b"File too large" in last or (len(out) == limits.output_bytes and limits.output_bytes > 0):
        return RunOutcome.OUTPUT
    return RunOutcome.RUNTIME_ERROR


def _detail(outcome: RunOutcome, limits: Limits, err: bytes) -> str:
    last = err.rstrip().rsplit(b"\n", 1)[-1].decode("utf-8", "replace")[:200]
    return {
        RunOutcome.TIME: f"over {limits.cpu_seconds:g} s of CPU time",
        RunOutcome.IDLE: f"waited for {limits.idle_seconds:g} s, or ran past {limits.wall_seconds:g} s",
        RunOutcome.OUTPUT: f"wrote more than {limits.output_bytes} bytes",
        RunOutcome.FINISHED: "",
    }.get(outcome, last)


def _host_pid(pidfd: int) -> int:
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as info:  # noqa: PTH123
        for line in info:
            if line.startswith("Pid:"):
                return int(line.split()[1])
    return -1


def _clocks(pid: int, *, tree: bool) -> tuple[float, float]:
    """CPU seconds used and run-queue seconds waited, by a process or its whole tree."""
    cpu = delay = 0.0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        if one <= 0:
            continue
        with contextlib.suppress(OSError):
            cpu += time.clock_gettime((~one << 3) | 2)
        with (
            contextlib.suppress(OSError, ValueError, IndexError),
            open(f"/proc/{one}/schedstat", encoding="ascii") as stat,
        ):  # noqa: PTH123
            delay += int(stat.read().split()[1]) / 1e9
        if tree:
            waiting += _children(one)
    return cpu, delay


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:  # noqa: PTH123
                found += [int(child) for child in children.read().split()]
    return found
