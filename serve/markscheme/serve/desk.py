"""The bounded queue: so many requests at work, so many waiting, the rest turned away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from markscheme.serve.guard import GONE, Refused

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")


class Desk:
    """Gives work its turn. One event loop's.

    Args:
        workers: what is worked on at once.
        queue: what may wait beside it.
    """

    def __init__(self, workers: int, queue: int) -> None:
        self.workers = workers
        self.queue = queue
        self._turns = asyncio.Semaphore(workers)
        self._tasks: set[asyncio.Task[object]] = set()

    @property
    def pending(self) -> int:
        """What is at work or waits."""
        return len(self._tasks)

    async def work(self, request: Request, make: Callable[[], Awaitable[T]]) -> T:
        """Do work in its turn, and give it up when the client goes.

        What waits is dropped at once. What is at work is cancelled: a program is ended, with the judgement that it is
        part of; an answer's grading keeps its turn until it ends, by its deadline at the latest.

        Raises:
            Refused: the queue is full (429), or the client has gone.
        """
        if self.pending >= self.workers + self.queue:
            raise Refused(429, "the queue is full; try again later", ((b"retry-after", b"1"),))
        task = asyncio.create_task(self._in_turn(make))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        watcher = asyncio.create_task(_gone(request))
        try:
            await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise Refused(GONE, "the client has gone")
        finally:
            task.cancel()
            watcher.cancel()

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen: asyncio would log that of a client that has gone, and it may hold a program

    async def _in_turn(self, make: Callable[[], Awaitable[T]]) -> T:
        async with self._turns:
            return await make()

    async def close(self) -> None:
        """Cancel all that is left, and wait for it."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def in_thread(call: Callable[[], T], give_up: Callable[[], None] | None = None) -> T:
    """Make a call in a thread. Cancelling calls ``give_up`` and waits for the thread, which keeps its turn so long."""
    task = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if give_up is not None:
            give_up()
        await asyncio.wait({task})
        raise


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
