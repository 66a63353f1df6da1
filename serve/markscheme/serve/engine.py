"""What the routes work with: the sandbox, the verifiers and the queue."""

from __future__ import annotations

import functools
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from markscheme.verifiers.code.outcomes import Execution, Limits
from markscheme.verifiers.math.verifier import MathVerifier
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.reading import Reading

if TYPE_CHECKING:
    from markscheme.serve.desk import Desk
    from markscheme.serve.score import Scorer
    from markscheme.serve.settings import Settings


class Runner(Protocol):
    """The part of a `Sandbox` that the routes need (and the judge, by a `Leash`: ``level`` and ``preload``)."""

    level: Any

    def arun(
        self, code: str, stdin: bytes | str = b"", argv: Sequence[str] = (), *, limits: Limits | None = None
    ) -> Coroutine[Any, Any, Execution]:
        """Run a program; cancelling ends it."""
        ...

    def acall(
        self,
        code: str,
        function: str,
        arguments: Sequence[Any] = (),
        keywords: Mapping[str, Any] | None = None,
        *,
        stdin: bytes = b"",
        limits: Limits | None = None,
        result_bytes: int = 1 << 16,
    ) -> Coroutine[Any, Any, Execution]:
        """Call a function of a program; cancelling ends it."""
        ...

    def close(self) -> None:
        """End it."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """All that a route needs."""

    settings: Settings
    sandbox: Runner
    desk: Desk
    scorer: Scorer | None = None
    scoring: Desk | None = None
    """Where requests wait for the judge of steps, which answers one at a time."""


@functools.lru_cache(maxsize=64)
def math_verifier(reading: Reading, deadline: float, policy: Policy, thinking: bool) -> MathVerifier:  # noqa: FBT001
    """A verifier for these conventions, kept for the next request."""
    return MathVerifier(reading, deadline, policy, thinking=thinking)
