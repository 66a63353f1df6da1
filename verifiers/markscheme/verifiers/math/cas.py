"""The algebra worker: a process that can be killed, with one deadline a call.

``multiprocessing`` children cannot start inside a daemonic worker, need a ``__main__`` guard, and copy the host's
state; a fresh interpreter does neither. It is started on first need, kept warm, and ended at a deadline that is
counted in its own CPU time, with four times as much wall time as a backstop. Signals of the host are left alone.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import select
import struct
import subprocess
import sys
import threading
import time
from typing import Any

from markscheme.verifiers.errors import WorkerError
from markscheme.verifiers.math.answers import Answer
from markscheme.verifiers.math.comparison import Comparison
from markscheme.verifiers.outcomes import Reason

WALL_FACTOR = 4
START_SECONDS = 60
MAX_IDLE = 1
_BOOT = (
    "import sys,json;sys.path[:]=json.loads(sys.argv[1]);from markscheme.verifiers.math.cas_worker import main;main()"
)


def _search_path() -> list[str]:
    """Where modules are found, whatever the working directory is when a worker starts."""
    here = ""
    with contextlib.suppress(OSError):  # it has been deleted
        here = os.getcwd()  # noqa: PTH109 - a string is what sys.path holds
    return [os.path.join(here, path) for path in sys.path if path or here]  # noqa: PTH118 - likewise


_SEARCH_PATH = _search_path()


def _cpu_clock(pid: int) -> int:
    """The clock id of a process's CPU time (what ``clock_getcpuclockid`` gives on Linux)."""
    return (~pid << 3) | 2


class _Worker:
    """One worker process."""

    def __init__(self) -> None:
        self.born = time.monotonic()
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-I", "-c", _BOOT, json.dumps(_SEARCH_PATH)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                close_fds=True,
            )
        except OSError as error:
            raise WorkerError(f"the algebra worker cannot be started: {error}") from error
        self.ready = False
        self.spent = 0.0

    def cpu_seconds(self) -> float:
        """CPU time of the worker so far."""
        with contextlib.suppress(OSError):  # it has ended: the last reading stands
            self.spent = max(self.spent, time.clock_gettime(_cpu_clock(self.process.pid)))
        return self.spent

    def wait_ready(self) -> None:
        """Wait for the worker to have started. Raises WorkerError."""
        if not self.ready:
            line = self._line(time.monotonic() + START_SECONDS, None)
            if line != b"ready":
                raise WorkerError("the algebra worker did not start")
            self.ready = True

    def ask(self, request: object, deadline: float) -> dict[str, Any] | None:
        """Send a request; the answer, or None at the deadline. Raises WorkerError when the worker died of itself."""
        assert self.process.stdin is not None  # noqa: S101
        data = pickle.dumps((request, deadline))
        try:
            self.process.stdin.write(struct.pack(">I", len(data)) + data)
            self.process.stdin.flush()
        except OSError as error:
            raise WorkerError("the algebra worker died") from error
        line = self._line(time.monotonic() + WALL_FACTOR * deadline, self.cpu_seconds() + deadline)
        return None if line is None else dict(json.loads(line))

    def _line(self, wall: float, cpu: float | None) -> bytes | None:
        """A line from the worker, or None when the wall or CPU limit is reached first."""
        assert self.process.stdout is not None  # noqa: S101
        fd = self.process.stdout.fileno()
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        data = b""
        while True:
            left = wall - time.monotonic()
            if cpu is not None:
                # One thread computes, so CPU time cannot run ahead of wall time.
                left = min(left, cpu - self.cpu_seconds())
            if left <= 0:
                return None
            if poll.poll(max(1, int(left * 1000))):
                piece = os.read(fd, 65536)
                if not piece:
                    raise WorkerError("the algebra worker died")
                data += piece
                if data.endswith(b"\n"):
                    return data.rstrip(b"\n")

    def kill(self) -> None:
        """End the process and reap it."""
        self.cpu_seconds()
        self.process.kill()
        self.process.wait()
        self.hang_up()

    def disown(self) -> None:
        """Let go of a worker that belongs to the parent of a forked process."""
        self.process.returncode = 0  # so that nothing here waits for it or warns of it
        self.hang_up()

    def hang_up(self) -> None:
        """Close both pipes."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was still buffered for a dead worker cannot be written
                    pipe.close()


class AlgebraPool:
    """The workers of this process: as many as threads ask at once, one kept warm."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[_Worker] = []
        self.busy: set[_Worker] = set()
        self.ended_cpu = 0.0
        self.slots = threading.BoundedSemaphore(max(2, os.cpu_count() or 2))

    def run(self, gold: Answer, given: Answer, deadline: float) -> Comparison:
        """Compare two answers in a worker, within ``deadline`` seconds of its CPU time.

        The start of a cold worker counts towards the deadline, up to half of it; the time in which all workers were
        taken does not. Raises WorkerError.
        """
        request = (gold, given)
        with self.slots:
            start = time.monotonic()
            worker = self._take()
            answer = None
            try:
                worker.wait_ready()
                budget = max(deadline / 2, deadline - (time.monotonic() - start))
                answer = worker.ask(request, budget)
            finally:
                self._give(worker, alive=answer is not None)
        if answer is None:
            return Comparison(None, Reason.TIMEOUT, f"the algebra did not end within {deadline:g} s")
        return Comparison(answer["equal"], Reason(answer["reason"]), answer["detail"])

    def _take(self) -> _Worker:
        with self.lock:
            worker = self.idle.pop() if self.idle else _Worker()
            self.busy.add(worker)
        return worker

    def _give(self, worker: _Worker, *, alive: bool) -> None:
        with self.lock:
            self.busy.discard(worker)
            if alive and len(self.idle) < MAX_IDLE:
                self.idle.append(worker)
                return
            spare = not alive and not self.idle
        worker.kill()
        with self.lock:
            self.ended_cpu += worker.spent
            if spare and len(self.idle) < MAX_IDLE:
                with contextlib.suppress(WorkerError):  # the next question tries again, and says why it cannot
                    self.idle.append(_Worker())  # loads while nobody waits for it

    def cpu_seconds(self) -> float:
        """CPU time of all workers, ended and live."""
        with self.lock:
            return self.ended_cpu + sum(worker.cpu_seconds() for worker in (*self.idle, *self.busy))

    def close(self) -> None:
        """End the idle workers; those that threads still wait for are killed, and end their questions."""
        with self.lock:
            workers, self.idle = self.idle, []
            for worker in self.busy:
                worker.process.kill()
        for worker in workers:
            worker.kill()
            self.ended_cpu += worker.spent


_pools: dict[int, AlgebraPool] = {}
_pools_lock = threading.Lock()


def pool() -> AlgebraPool:
    """The pool of this process; a forked child gets one of its own."""
    pid = os.getpid()
    found = _pools.get(pid)
    if found is None:
        with _pools_lock:
            found = _pools.setdefault(pid, AlgebraPool())
    return found


def _after_fork() -> None:
    global _pools_lock  # noqa: PLW0603 - a lock that another thread of the parent held would never be released here
    _pools_lock = threading.Lock()
    for inherited in _pools.values():
        for worker in (*inherited.idle, *inherited.busy):
            worker.disown()  # a copy of its pipes would keep it alive after the parent
    _pools.clear()


def _at_exit() -> None:
    found = _pools.get(os.getpid())
    if found is not None:
        found.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)


def worker_cpu_seconds() -> float:
    """CPU seconds of this process's algebra workers so far, live and ended."""
    found = _pools.get(os.getpid())
    return found.cpu_seconds() if found else 0.0
