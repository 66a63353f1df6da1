"""Verdicts begun before their batch is whole: a completion is judged while others of its batch are still generated.

A verdict depends on the completion and its gold alone, so those are its key: whoever asks for the batch later takes
what is there under them and judges the rest. Nothing has to say which row of which batch a verdict was meant for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")

MOST = 4096
"""Verdicts that are begun and not yet asked for, at most."""


class Ahead(Generic[Found]):
    """What was begun for the next batch, in threads of its own. Can be pickled and copied, without what it holds.

    Args:
        threads: verdicts that are worked on at once; None for as many as `concurrent.futures` takes.
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
            self._begun[key] = self._threads.submit(judge)
        return self._begun[key]

    def complete(self, keys: Sequence[Hashable], judge: Callable[[list[int]], Sequence[Found]]) -> list[Found]:
        """Return what belongs to each key, and forget all that was begun.

        What was begun is waited for; then ``judge`` is called with the rows of the rest. An error of one that was begun
        is not raised here: its row is judged again with the rest, and raises there, where its place is known.
        """
        begun = self._begun if self._process == os.getpid() else {}
        self._begun = {}
        if not begun:
            return list(judge(list(range(len(keys)))))
        for key in begun.keys() - set(keys):
            begun[key].cancel()
        there = {row: begun[key] for row, key in enumerate(keys) if key in begun}
        found = {row: one.result() for row, one in there.items() if not one.cancelled() and one.exception() is None}
        rest = [row for row in range(len(keys)) if row not in found]
        found.update(zip(rest, judge(rest) if rest else (), strict=True))
        return [found[row] for row in range(len(keys))]
