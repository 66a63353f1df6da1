"""Judging many rows: tasks in, verdicts out, in order, in this process or in several."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from markscheme.verifiers.errors import WorkerError
from markscheme.verifiers.math.verifier import MathVerifier
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.reading import Reading
from markscheme.verifiers.tasks import Task
from markscheme.verifiers.verdict import Verdict

CHUNK = 16
"""Tasks that go to a process at once: few enough that a stopped run loses little, enough to hide the transfer."""
AHEAD = 3
"""Chunks a process that are under way or waiting to be taken."""


class AnswerVerifier(Protocol):
    """A verifier of completions and of bare answers, as `MathVerifier` is."""

    def verify(self, completion: str, gold: str) -> Verdict:
        """Judge a completion."""
        ...

    def verify_answer(self, answer: str, gold: str) -> Verdict:
        """Judge a bare answer."""
        ...


@dataclass(frozen=True, slots=True)
class Setup:
    """How a run's verifiers are made: the arguments of `MathVerifier`, its policy apart (tasks carry that)."""

    reading: Reading = "auto"
    deadline: float = 5.0
    thinking: bool = False

    def verifier(self, policy: Policy) -> AnswerVerifier:
        """Make the verifier for one policy."""
        return MathVerifier(self.reading, self.deadline, policy, thinking=self.thinking)


@dataclass(frozen=True, slots=True)
class Timed:
    """A verdict with the wall time it took, in seconds."""

    verdict: Verdict
    wall: float


class Judge:
    """Judges tasks in this process, with one verifier for each policy."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._verifiers: dict[Policy, AnswerVerifier] = {}

    def __call__(self, task: Task) -> Timed:
        """Judge one task."""
        verifier = self._verifiers.get(task.policy)
        if verifier is None:
            verifier = self._verifiers[task.policy] = self._setup.verifier(task.policy)
        return judge(verifier, task)


def judge(verifier: AnswerVerifier, task: Task) -> Timed:
    """Judge one task with a given verifier (the task's own policy is not looked at)."""
    method = verifier.verify_answer if task.form == "answer" else verifier.verify
    start = time.perf_counter()
    verdict = method(task.completion, task.gold)
    return Timed(verdict, time.perf_counter() - start)


def cpu_seconds() -> float:
    """CPU seconds that this process and its algebra workers, live and ended, have used so far."""
    # No worker can have run where their module was never loaded; loading it only to ask would cost time.
    cas = sys.modules.get("markscheme.verifiers.math.cas")
    workers: float = cas.worker_cpu_seconds() if cas is not None else 0.0
    return time.process_time() + workers


def grade(tasks: Sequence[Task], setup: Setup, workers: int = 0) -> Iterator[Verdict]:
    """Judge tasks and yield their verdicts in order, each as soon as it and those before it are there.

    Args:
        tasks: what to judge.
        setup: how the verifiers are made.
        workers: processes to use; 0 or 1: this one. Each is a fresh interpreter, so a script that calls this with
            more needs the usual ``if __name__ == "__main__"`` guard.

    Raises:
        WorkerError: a process died (killed for memory, as a rule); what it had not returned is not graded.
    """
    if workers <= 1:
        yield from (timed.verdict for timed in map(Judge(setup), tasks))
        return
    for chunk, _cpu in grade_chunks(tasks, setup, workers):
        yield from (timed.verdict for timed in chunk)


def grade_chunks(tasks: Sequence[Task], setup: Setup, workers: int) -> Iterator[tuple[list[Timed], float]]:
    """Judge tasks in ``workers`` processes; yield chunks in order, each with the CPU seconds it took there.

    Raises:
        WorkerError: a process died.
    """
    chunks = (tasks[start : start + CHUNK] for start in range(0, len(tasks), CHUNK))
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start, (setup,))
    waiting: deque[Future[tuple[list[Timed], float]]] = deque()
    try:
        for chunk in islice(chunks, workers * AHEAD):
            waiting.append(_submit(pool, chunk))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(_submit(pool, chunk) for chunk in islice(chunks, 1))
    except BrokenProcessPool:
        raise WorkerError("a grading process died; was it killed for want of memory? Use fewer --workers") from None
    finally:
        pool.shutdown(cancel_futures=True)


_judges: list[Judge] = []


def _submit(pool: ProcessPoolExecutor, tasks: Sequence[Task]) -> Future[tuple[list[Timed], float]]:
    # Submitting starts the processes. Ctrl-C reaches the whole group, and only the parent is to act on it: theirs is
    # blocked, which they inherit, until they ignore it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_run, tasks)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(setup: Setup) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _judges[:] = [Judge(setup)]


def _run(tasks: Sequence[Task]) -> tuple[list[Timed], float]:
    before = cpu_seconds()
    done = [_judges[0](task) for task in tasks]
    return done, cpu_seconds() - before
