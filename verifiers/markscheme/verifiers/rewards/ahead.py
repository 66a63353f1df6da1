"""Verdicts begun before their batch is whole: a completion is judged while others of its batch are still generated.

A verdict depends on the completion and its gold alone, so those are its key: whoever asks for the batch later takes
what is there under them and judges the rest. Nothing has to say which row of which batch a verdict was meant for.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")

MOST = 4096
"""Verdicts that are begun and not yet asked for, at most."""


class Ahead(Generic[Found]):
    """What was begun for the next batch, in threads of its own. Can be pickled and copied, without what it holds.

    Args:
        threads: verdicts that are worked on at once; None for as many as `concurrent.futures` takes. With 1 there is
            never more than one, beside the batch neither: for what cannot be asked twice at a time.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._size = threads
        self._begun: dict[Hashable, Future[Found]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._size,)

    def begin(self, key: Hashable, judge: Callable[[], Found]) -> Future[Found] | None:
        """Have ``judge`` called in a thread, once for a key. None where `MOST` are begun already."""
        if self._process != os.getpid():  # a fork has none of its parent's threads
            self.__init__(self._size)  # type: ignore[misc]
        if key not in self._begun:
            if len(self._begun) >= MOST:
                return None
            self._threads = self._threads or ThreadPoolExecutor(self._size, "ahead")
            self._begun[key] = self._threads.submit(_as_here(judge))
        return self._begun[key]

    def complete(self, keys: Sequence[Hashable], judge: Callable[[list[int]], Sequence[Found]]) -> list[Found]:
        """Return what belongs to each key, and forget all that was begun.

        ``judge`` is called with the rows that were not begun, and with those that still wait for a thread: a batch may
        have better ways than one after the other. What runs is waited for. An error of one that was begun is not raised
        here: ``judge`` is called with its row, and raises where its place is known.
        """
        begun, self._begun = (self._begun if self._process == os.getpid() else {}), {}
        running = {key: one for key, one in begun.items() if not one.cancel()}  # or done
        if self._size == 1:
            wait(running.values())
        there = {row: running[key] for row, key in enumerate(keys) if key in running}
        rest = [row for row in range(len(keys)) if row not in there]
        found = dict(zip(rest, judge(rest) if rest or not keys else (), strict=True))
        failed = [row for row, one in there.items() if one.exception() is not None]
        found.update((row, one.result()) for row, one in there.items() if row not in failed)
        found.update(zip(failed, judge(failed) if failed else (), strict=True))
        return [found[row] for row in range(len(keys))]


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
