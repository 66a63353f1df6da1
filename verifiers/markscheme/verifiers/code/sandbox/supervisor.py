"""The trusted side: starts zygotes, sends jobs, watches the clocks, kills, and reads what comes back."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from typing import Any

from markscheme.verifiers.code.outcomes import Execution, RunOutcome
from markscheme.verifiers.code.sandbox import clocks, landlock, levels, linux
from markscheme.verifiers.code.sandbox.endings import Ended, Job, execution
from markscheme.verifiers.code.sandbox.job import MORE_THREADS, READY
from markscheme.verifiers.errors import MarkschemeError

START_SECONDS = 60.0
_SLICE, _LONG_SLICE = 0.02, 1.0  # seconds between looks at the clocks, at first and where one process runs for long
_BOOT = (
    "import sys,json,os;sys.path[:]=json.loads(os.read(int(sys.argv[2]),1<<20));"
    "from markscheme.verifiers.code.sandbox.zygote import main;main(int(sys.argv[1]))"
)
_CONFIG_BYTES = 1 << 17
_ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 - the jail's own
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
    "MKL_NUM_THREADS": "1",  # libraries of linear algebra start their threads when they are imported
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class SandboxError(MarkschemeError, RuntimeError):
    """The sandbox itself failed: what a program did says nothing of it."""


def memfd(name: str, data: bytes = b"", *, read_only: bool = False) -> int:
    """A file in memory with this in it, open for reading at its start."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        if not read_only:
            return fd
        reopened = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return reopened


def _contents(fd: int, most: int) -> bytes:
    return os.pread(fd, min(most, os.fstat(fd).st_size), 0)  # at once: pieces to be joined would take as much again


def _result(fd: int, most: int) -> bytes | None:
    """The result; None where it is longer than it may be, which is not read."""
    return _contents(fd, most) if os.fstat(fd).st_size <= most else None


class Zygote:
    """One zygote process and its control socket; one job at a time. Raises SandboxError when it does not start."""

    def __init__(self, level: int, index: int, preload: tuple[str, ...]) -> None:
        self.level = level
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise SandboxError(f"the zygote could not be started: {error}") from error
        _started.add(self)
        try:
            with theirs:
                self._start(theirs.fileno())
            self._send(self._config(index, preload))
            answer = self._receive(START_SECONDS)[0]
            if "ready" not in answer:
                raise SandboxError(f"the zygote did not start: {answer.get('error', 'it said nothing')}")
            self._resident, self._address = int(answer["rss"]), 0  # 0: as the zygote has measured it
        except OSError as error:
            self.close()
            raise SandboxError(f"the zygote could not be started: {error}") from error
        except BaseException:
            self.close()
            raise

    def _start(self, control: int) -> None:
        paths = memfd("paths", json.dumps([path for path in sys.path if path]).encode())
        libraries = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        try:
            command = [sys.executable, "-S", "-B", "-X", "utf8", "-c", _BOOT, str(control), str(paths)]
            self._launch(command, _ENVIRONMENT | libraries, (control, paths))
        finally:
            os.close(paths)

    def _launch(self, command: list[str], environment: dict[str, str], fds: tuple[int, ...]) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            pass_fds=fds,
            start_new_session=True,
        )

    def _config(self, index: int, preload: tuple[str, ...]) -> dict[str, Any]:
        return {
            "level": self.level,
            "wrapped": False,
            "preload": list(preload),
            "readable": levels.readable_paths(),
            "root": levels.is_root(),
            "uid": levels.FIRST_UID + index,
            "gid": levels.FIRST_UID + index,
            "landlock": landlock.abi(),
        }

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
        mine: list[int] = []
        try:
            for name in ("out", "err", "result"):
                mine.append(memfd(name))
            mine.append(memfd("payload", job.payload, read_only=True))
            mine.append(memfd("in", job.stdin, read_only=True))
            ready, theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            mine += [ready, theirs]
            out, err, result, payload, stdin = mine[:5]
            ended = self._follow(job, (payload, stdin, out, err, result, theirs))
            texts = [_contents(fd, job.limits.output_bytes + 1) for fd in (out, err)]
            os.close(mine.pop())
            try:
                closed = os.read(ready, 1) == READY
            except BlockingIOError:
                closed = False
            if not closed:
                why = texts[1].decode("utf-8", "replace").strip() or f"exit status {ended.status}"
                raise SandboxError(f"the jail could not be closed: {why[:500]}")
            return execution(ended, job, self.level, texts[0], texts[1], _result(result, job.result_bytes))
        except OSError as error:
            raise SandboxError(f"the sandbox failed: {error}") from error
        finally:
            for fd in mine:
                os.close(fd)

    def _follow(self, job: Job, fds: tuple[int, ...]) -> Ended:
        limits = job.limits.model_dump() | {"result_bytes": job.result_bytes, "address": self._address}
        self._send({"limits": limits}, fds)
        answer, given = self._receive(START_SECONDS)
        if not given:
            raise SandboxError(f"no jail could be made: {answer.get('error')}")
        start = time.monotonic()  # not before: on a loaded host the zygote waits too, and its waiting is not measured
        try:
            verdict = self._watch(given[0], job, start)
        finally:
            linux.kill_pidfd(given[0], signal.SIGKILL)
            os.close(given[0])
        told, _ = self._receive(START_SECONDS)
        status = os.waitstatus_to_exitcode(told["status"])
        if verdict is None and status == -signal.SIGKILL and self.level == 3 and told["cpu"] < job.limits.cpu_seconds:
            raise SandboxError("the jail was killed from outside: is the host out of memory?")
        return Ended(verdict, status, told["cpu"], time.monotonic() - start, told["rss"])

    def _watch(self, pidfd: int, job: Job, start: float) -> RunOutcome | None:
        """Wait for the job's end; the limit that it ran into, or None when it ended of itself."""
        limits, many = job.limits, job.limits.processes > 1
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        if poll.poll(int(_SLICE * 1000)):
            return None
        meter = clocks.Meter(clocks.host_pid(pidfd), tree=many, base=self._resident, most=limits.processes)
        while True:
            wall = time.monotonic() - start
            used, idle = meter.look(wall)
            if poll.poll(0):  # it ended before all was read: what is left of it has used nothing
                return None
            if used.processes > limits.processes:
                return RunOutcome.RUNTIME_ERROR
            if used.cpu > limits.cpu_seconds:
                return RunOutcome.TIME
            if wall > limits.wall_seconds or (idle > limits.idle_seconds and not used.ready):
                return RunOutcome.IDLE
            if many and used.resident > limits.memory_bytes:
                return RunOutcome.MEMORY
            if used.threads > limits.processes + MORE_THREADS or job.cancelled.is_set():
                return RunOutcome.RUNTIME_ERROR
            # A quarter of the time so far, yet no later than the first limit that may be met.
            soonest = min((limits.cpu_seconds - used.cpu) / max(1, used.threads), limits.idle_seconds - idle)
            pause = _SLICE if many else max(_SLICE, min(_LONG_SLICE, wall / 4, soonest, limits.wall_seconds - wall))
            if poll.poll(int(pause * 1000)):
                return None

    def abandon(self) -> None:
        """Let go of it, in a forked child: it is the parent's."""
        self.control.close()
        if self.process is not None:
            self.process.returncode = 0

    def close(self) -> None:
        """End the zygote and its job."""
        self.control.close()
        if self.process is not None:
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


_started: weakref.WeakSet[Zygote] = weakref.WeakSet()


def _abandon_all() -> None:
    for zygote in list(_started):
        zygote.abandon()


os.register_at_fork(after_in_child=_abandon_all)
