"""A sandbox for one piece of work in a thread, which ends what runs there when the work is given up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

from markscheme.verifiers.code.outcomes import Execution, Limits

if TYPE_CHECKING:
    from markscheme.serve.engine import Runner


class Cut(Exception):
    """The work was given up: nobody waits for it any more."""


class Leash:
    """The part of a `Sandbox` that judges use, run by the event loop so that it can be cancelled.

    Made in the event loop; ``run`` and ``call`` are for other threads.
    """

    def __init__(self, sandbox: Runner) -> None:
        self._sandbox = sandbox
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._current: Future[Execution] | None = None
        self._cut = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def run(
        self, code: str, stdin: bytes | str = b"", argv: Sequence[str] = (), *, limits: Limits | None = None
    ) -> Execution:
        """See `Sandbox.run`. Raises Cut where the work has been given up."""
        return self._result(lambda: self._sandbox.arun(code, stdin, argv, limits=limits))

    def call(
        self,
        code: str,
        function: str,
        arguments: Sequence[Any] = (),
        keywords: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> Execution:
        """See `Sandbox.call`. Raises Cut where the work has been given up."""
        return self._result(lambda: self._sandbox.acall(code, function, arguments, keywords, **how))

    def _result(self, make: Callable[[], Coroutine[Any, Any, Execution]]) -> Execution:
        with self._lock:
            if self._cut:
                raise Cut
            future = asyncio.run_coroutine_threadsafe(make(), self._loop)
            self._current = future
        try:
            return future.result()
        except CancelledError:
            raise Cut from None

    def cut(self) -> None:
        """End what runs, and let nothing more begin."""
        with self._lock:
            self._cut = True
            if self._current is not None:
                self._current.cancel()
