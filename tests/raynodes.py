"""Ray clusters of several nodes on one machine, and what runs on them. Importable in Ray's workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from markscheme.verifiers.grading import AnswerVerifier, Setup
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.verdict import Verdict

NEEDED = "needs Ray Data: pip install 'markscheme[ray]'"
_MEMORY = 80 * 2**20
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_prestart_worker_first_driver": "0",  # each takes seconds of a processor, and most would be for nothing
}
_TRIES = 4
T = TypeVar("T")


def _patiently(start: Callable[[], T]) -> T:
    """Start a node again where it was too slow: on a busy host Ray gives up when its helpers take more than 15 s."""
    for _ in range(_TRIES - 1):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start()


class Nodes:
    """A head without processors, which no work runs on, and nodes of one processor each."""

    def __init__(self, count: int = 2) -> None:
        from ray.cluster_utils import Cluster  # noqa: PLC0415

        self._before = dict(os.environ)
        # Nodes hand their environment to the workers, which import this module.
        paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        os.environ |= _SETTINGS
        head = {"num_cpus": 0, "object_store_memory": _MEMORY, "include_dashboard": False}
        self._cluster = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        self._workers: list[Any] = []
        self.ensure(count)

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def ensure(self, count: int) -> None:
        """Add nodes until there are so many, and wait until the head knows of these and of no dead one."""
        for _ in range(count - len(self._workers)):
            add = partial(self._cluster.add_node, num_cpus=1, object_store_memory=_MEMORY)
            self._workers.append(_patiently(add))
        self._cluster.wait_for_nodes(timeout=60)

    def kill_one(self) -> str:
        """Kill a node with all its processes, without a word to the others; return its id."""
        node = self._workers.pop()
        found: str = node.node_id
        self._cluster.remove_node(node, allow_graceful=False)
        return found

    def close(self) -> None:
        self._cluster.shutdown()
        for name in ("PYTHONPATH", *_SETTINGS):
            if name in self._before:
                os.environ[name] = self._before[name]
            else:
                del os.environ[name]


@dataclass(frozen=True, slots=True)
class SlowSetup(Setup):
    """Judges as `Setup` does, 20 ms later: work that two nodes can share on one processor."""

    def verifier(self, policy: Policy) -> AnswerVerifier:
        return _Slow(Setup.verifier(self, policy))


class _Slow:
    def __init__(self, verifier: AnswerVerifier) -> None:
        self._verifier = verifier

    def verify(self, completion: str, gold: str) -> Verdict:
        time.sleep(0.02)
        return self._verifier.verify(completion, gold)

    def verify_answer(self, answer: str, gold: str) -> Verdict:
        return self._verifier.verify_answer(answer, gold)


@dataclass(frozen=True)
class Doubling:
    """Doubles numbers; the process that first meets ``deadly`` is killed, as for want of memory.

    ``mark`` is the file that says that it has happened; without it, every process is killed.
    """

    deadly: int
    mark: Path | None = None
    heavy: bool = False

    def start(self) -> Callable[[Sequence[int]], list[int]]:
        return self._run

    def _run(self, items: Sequence[int]) -> list[int]:
        if self.deadly in items and (self.mark is None or not self.mark.exists()):
            if self.mark is not None:
                self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return [2 * item for item in items]


@dataclass(frozen=True)
class Failing:
    """Raises as a bug does, or as a missing piece does."""

    error: Exception
    heavy: bool = False

    def start(self) -> Callable[[Sequence[int]], list[int]]:
        def run(items: Sequence[int]) -> list[int]:
            raise self.error

        return run
