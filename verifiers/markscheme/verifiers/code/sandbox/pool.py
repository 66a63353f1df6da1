"""The sandbox that users hold: zygotes behind a queue, for any thread, with a second try where the sandbox failed."""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Protocol

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.sandbox import bubblewrap, linux
from markscheme.verifiers.code.sandbox.endings import Job
from markscheme.verifiers.code.sandbox.hosts import CANARY, capabilities, strongest, why_no_bubblewrap, worker_index
from markscheme.verifiers.code.sandbox.levels import Capabilities
from markscheme.verifiers.code.sandbox.supervisor import SandboxError, Zygote

Level = Literal["strongest", 1, 2, 3]
Backend = Literal["zygote", "bubblewrap"]
PRELOAD = tuple(
    "math json re random string itertools functools collections heapq bisect operator typing datetime "
    "decimal fractions copy dataclasses statistics io textwrap enum contextlib queue".split()
)


class _Jails(Protocol):
    """What runs jobs, one at a time."""

    def run(self, job: Job) -> Execution: ...

    def close(self) -> None: ...


class Sandbox:
    """Runs programs, each in a jail of its own.

    Usable from any thread, from asyncio (``arun``, ``acall``) and in forked workers, which get zygotes of their own.

    Args:
        workers: jails at once; the number of processors by default.
        level: ``"strongest"`` that the host gives (3 or 2), or exactly 3, 2, or 1. Level 1 has resource limits only and
            protects nothing from a program that means harm: it is never chosen unless asked for.
        preload: modules that are loaded once, so that programs need not.
        limits: for runs that bring none of their own.
        backend: ``"zygote"``, or ``"bubblewrap"``: a fresh bubblewrap a run, at level 3, for hosts that let only that
            tool make namespaces. A run then costs the start of an interpreter, and of what is preloaded: by default
            nothing.

    Raises:
        SandboxError: the host does not give the level or the back end; the message says why.
        UnsupportedHost: not Linux on x86-64.
    """

    def __init__(
        self,
        workers: int | None = None,
        level: Level = "strongest",
        preload: Sequence[str] | None = None,
        limits: Limits | None = None,
        backend: Backend = "zygote",
    ) -> None:
        linux.require_host()
        if backend not in ("zygote", "bubblewrap"):
            raise ValueError(f'backend must be "zygote" or "bubblewrap", not {backend!r}')
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        self.workers = workers or os.cpu_count() or 1
        self.limits = limits or Limits()
        self.backend: Backend = backend
        self.preload = tuple(preload if preload is not None else PRELOAD if backend == "zygote" else ())
        if backend == "bubblewrap":
            if level not in ("strongest", bubblewrap.LEVEL):
                raise SandboxError(f"bubblewrap gives level {bubblewrap.LEVEL}, not {level}")
            if why := why_no_bubblewrap():
                raise SandboxError(f"this host gives no bubblewrap: {why}")
            self.level = bubblewrap.LEVEL
        elif level == "strongest":
            found = strongest()
            if found.level == 0:
                raise SandboxError(f"this host gives no safe level: {found.why_not_higher}")
            self.level = found.level
        else:
            self.level = level
        self._begin()
        _open.add(self)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._slots: queue.LifoQueue[_Jails | None] = queue.LifoQueue()
        for _ in range(self.workers):
            self._slots.put(None)
        self._closed = False

    @staticmethod
    def capabilities() -> Capabilities:
        """See ``capabilities``."""
        return capabilities()

    # Running ----------------------------------------------------------------------------------------------------

    def run(
        self, code: str, stdin: bytes | str = b"", argv: Sequence[str] = (), *, limits: Limits | None = None
    ) -> Execution:
        """Run a program with standard input and arguments."""
        return self._execute(self._stdio(code, stdin, argv, limits))

    def call(
        self,
        code: str,
        function: str,
        arguments: Sequence[Any] = (),
        keywords: Mapping[str, Any] | None = None,
        *,
        stdin: bytes = b"",
        limits: Limits | None = None,
        result_bytes: int = 1 << 16,
    ) -> Execution:
        """Run code, then call a function of it. ``result`` holds ``[value, arguments as left]``, encoded by ``codec``.

        Args:
            code: the program; its ``__name__`` is not ``"__main__"``.
            function: its name, or ``Class.method``.
            arguments: of exact built-in types; so are ``keywords``' values.
            keywords: keyword arguments.
            stdin: what standard input holds.
            limits: of this run.
            result_bytes: how long the encoded result may be.

        Raises:
            codec.NotPlain: an argument of another type.
        """
        return self._execute(self._calling(code, function, arguments, keywords, stdin, limits, result_bytes))

    async def arun(
        self, code: str, stdin: bytes | str = b"", argv: Sequence[str] = (), *, limits: Limits | None = None
    ) -> Execution:
        """``run`` without holding up the event loop; cancelling it ends the program."""
        return await self._aexecute(self._stdio(code, stdin, argv, limits))

    async def acall(
        self,
        code: str,
        function: str,
        arguments: Sequence[Any] = (),
        keywords: Mapping[str, Any] | None = None,
        *,
        stdin: bytes = b"",
        limits: Limits | None = None,
        result_bytes: int = 1 << 16,
    ) -> Execution:
        """``call`` without holding up the event loop; cancelling it ends the program."""
        job = self._calling(code, function, arguments, keywords, stdin, limits, result_bytes)
        return await self._aexecute(job)

    def _stdio(self, code: str, stdin: bytes | str, argv: Sequence[str], limits: Limits | None) -> Job:
        data = stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin
        return Job(codec.encode([code, list(argv), None]), data, limits or self.limits)

    def _calling(
        self,
        code: str,
        function: str,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any] | None,
        stdin: bytes,
        limits: Limits | None,
        result_bytes: int,
    ) -> Job:
        given = [list(arguments), [list(pair) for pair in (keywords or {}).items()]]
        payload = codec.encode([code, [], [function, given]], ordered=True)
        return Job(payload, stdin, limits or self.limits, result_bytes)

    async def _aexecute(self, job: Job) -> Execution:
        try:
            return await asyncio.to_thread(self._execute, job)
        except asyncio.CancelledError:
            job.cancelled.set()
            raise

    def _execute(self, job: Job) -> Execution:
        for name, asked in (("processes", job.limits.processes > 1), ("files", job.limits.files > 0)):
            if asked and self.level < 3:
                wanted = getattr(job.limits, name)
                raise SandboxError(f"{name}={wanted} needs level 3; this sandbox is at level {self.level}")
        slots = self._own_slots()
        zygote = slots.get()
        try:
            try:
                zygote = zygote or self._zygote()
                return zygote.run(job)
            except SandboxError as error:
                first = str(error)
            if zygote is not None:
                zygote.close()
                zygote = None
            zygote, execution = self._again(job, first)
            return execution
        except BaseException:
            if zygote is not None:
                zygote.close()
            zygote = None
            raise
        finally:
            slots.put(zygote)

    def _again(self, job: Job, first: str) -> tuple[_Jails | None, Execution]:
        """Once more, alone on a fresh zygote, beside a program that is known to run where the job may do as much."""
        asked = CANARY.limits.model_copy(update=job.limits.model_dump(include={"processes", "files"}))
        zygote, fit = None, False
        try:
            try:
                zygote = self._zygote()
                canary = zygote.run(replace(CANARY, limits=asked))
            except SandboxError as error:
                return None, Execution(outcome=RunOutcome.BROKEN, level=self.level, detail=f"{first}; then: {error}")
            if canary.stdout != b"42\n":
                detail = f"{first}; a known program failed too"
                return None, Execution(outcome=RunOutcome.BROKEN, level=self.level, detail=detail)
            try:
                execution = zygote.run(job)
            except SandboxError as error:
                detail = f"it broke its jail twice, where a known program passed: {error}"
                return None, Execution(outcome=RunOutcome.RESOURCE, level=self.level, detail=detail)
            fit = True
            return zygote, execution
        finally:
            if zygote is not None and not fit:
                zygote.close()

    def _zygote(self) -> _Jails:
        if self.backend == "bubblewrap":
            return bubblewrap.Bubblewrap(worker_index(), self.preload)
        return Zygote(self.level, worker_index(), self.preload)

    def _own_slots(self) -> queue.LifoQueue[_Jails | None]:
        if self._pid != os.getpid():  # a forked worker: the parent's zygotes are not ours to talk to
            self._begin()
        if self._closed:
            raise SandboxError("this sandbox is closed")
        return self._slots

    # Ending -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the zygotes. Runs that are under way end first."""
        if self._pid != os.getpid() or self._closed:
            return
        self._closed = True
        for _ in range(self.workers):
            zygote = self._slots.get()
            if zygote is not None:
                zygote.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_open: weakref.WeakSet[Sandbox] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for sandbox in list(_open):
        sandbox.close()
