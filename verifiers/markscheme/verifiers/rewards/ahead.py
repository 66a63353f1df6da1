"""Verdicts begun before their batch is whole: a completion is judged while others of its batch are still generated.

A verdict depends on the completion and its gold alone, so those are its key: whoever asks for the batch later takes
what is there under them and judges the rest. Nothing has to say which row of which batch a verdict was meant for.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")

MOST = 4096
"""Verdicts that are begun and not yet asked for, at most."""


class Ahead(Generic[Found]):
    """What was begun for the next batch, in threads of its own. Usable from any thread.

    Can be pickled and copied, without what it holds.

    Args:
        threads: verdicts that are worked on at once; None for as many as `concurrent.futures` takes.
        alone: for what cannot be asked twice at a time. All such share one thread, whatever ``threads`` says, and give
            no verdict beside one that was begun.
    """

    def __init__(self, threads: int | None = None, *, alone: bool = False) -> None:
        self._settings = threads, alone
        self._begun: dict[Hashable, Future[Found]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        threads, alone = self._settings
        return functools.partial(type(self), alone=alone), (threads,)

    def begin(self, key: Hashable, judge: Callable[[], Found]) -> Future[Found] | None:
        """Have ``judge`` called in a thread, once for a key.

        Args:
            key: all that the verdict depends on.
            judge: gives the verdict.

        Returns:
            The verdict that is to come; None where `MOST` are begun already.
        """
        if self._process != os.getpid():  # a fork has none of its parent's threads, but may have its locks
            threads, alone = self._settings
            self.__init__(threads, alone=alone)  # type: ignore[misc]
        with self._lock:
            begun = self._begun.get(key)
            if begun is not None and not begun.cancelled():
                return begun
            if len(self._begun) >= MOST:
                return None
            self._begun[key] = begun = self._executor().submit(_as_here(judge))
            return begun

    def complete(self, keys: Sequence[Hashable], judge: Callable[[list[int]], Sequence[Found]]) -> list[Found]:
        """Return the verdicts of a batch, and forget all that was begun.

        Args:
            keys: of each completion, as `begin` got them.
            judge: gives the verdicts of the rows whose numbers it is called with: those that were not begun, and those
                that still wait for a thread, since a batch may have better ways than one after the other. What runs is
                waited for. An error of a verdict that was begun is not raised here: ``judge`` is called with its row,
                and raises where its place is known.
        """
        with self._lock if self._process == os.getpid() else threading.Lock():
            begun, self._begun = (self._begun if self._process == os.getpid() else {}), {}
        if not begun:
            return list(judge(list(range(len(keys)))))
        running = {key: one for key, one in begun.items() if not one.cancel()}  # or done
        if self._settings[1]:
            wait([self._executor().submit(int)])  # whatever was begun before, for others too
        there = {row: running[key] for row, key in enumerate(keys) if key in running}
        rest = [row for row in range(len(keys)) if row not in there]
        found = dict(zip(rest, judge(rest) if rest else (), strict=True))
        failed = [row for row, one in there.items() if one.exception() is not None]
        found.update((row, one.result()) for row, one in there.items() if row not in failed)
        found.update(zip(failed, judge(failed) if failed else (), strict=True))
        return [found[row] for row in range(len(keys))]

    def _executor(self) -> ThreadPoolExecutor:
        threads, alone = self._settings
        if self._threads is None:
            self._threads = _one_thread(os.getpid()) if alone else ThreadPoolExecutor(threads, "ahead")
        return self._threads


@functools.cache
def _one_thread(process: int) -> ThreadPoolExecutor:
    """The thread of this process that all share who give one verdict at a time."""
    return ThreadPoolExecutor(1, f"ahead-{process}")


def _as_here(judge: Callable[[], Found]) -> Callable[[], Found]:
    """The same with the caller's context and GPU, which are a thread's own."""
    context, cuda = contextvars.copy_context(), getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return functools.partial(context.run, judge)
    device = cuda.current_device()

    def on_device() -> Found:
        cuda.set_device(device)
        return context.run(judge)

    return on_device
