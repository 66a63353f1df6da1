"""What a worker of a cluster does: it starts what is dear once, and judges shard after shard with it."""

from __future__ import annotations

import pickle
import socket
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from markscheme.verifiers.code.cases import Cases
from markscheme.verifiers.code.results import ProgramVerdict
from markscheme.verifiers.code.verifier import CodeVerifier
from markscheme.verifiers.errors import MarkschemeError, StepDataError
from markscheme.verifiers.grading import Judge, Setup
from markscheme.verifiers.tasks import Task
from markscheme.verifiers.verdict import Verdict

Judging = Callable[[Sequence[Any]], list[Any]]
"""Judges a shard's items; a result an item, in their order."""


class Work(Protocol):
    """How a worker judges. It is pickled and sent to every one."""

    @property
    def heavy(self) -> bool:
        """Whether a worker holds a model: it gets a GPU, or where there are none, a node's processors."""
        ...

    def start(self) -> Judging:
        """Start what is dear, in the worker."""
        ...


@dataclass(frozen=True, slots=True)
class GradeWork:
    """Judges answers, as `markscheme.verifiers.grading.grade` does in one process.

    Attributes:
        setup: how the verifiers are made.
    """

    setup: Setup
    heavy: bool = False

    def start(self) -> Judging:
        """Make the judge; its algebra worker starts when something needs it."""
        judge = Judge(self.setup)

        def run(tasks: Sequence[Task]) -> list[Verdict]:
            return [judge(task).verdict for task in tasks]

        return run


@dataclass(frozen=True, slots=True)
class ProgramWork:
    """Judges programs in a jail pool of the worker's own.

    Attributes:
        verifier: how, with one jail; it is pickled without its sandbox.
    """

    verifier: CodeVerifier
    heavy: bool = False

    def start(self) -> Judging:
        """Start the sandbox. Raises SandboxError where this host gives no safe level."""
        _ = self.verifier.sandbox

        def run(items: Sequence[tuple[str, Cases]]) -> list[ProgramVerdict]:
            return [self.verifier.verify(completion, cases) for completion, cases in items]

        return run


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a shard could not be judged, in plain values (errors do not all survive pickling).

    Attributes:
        message: for the user.
        host: where.
        bad: rows that a judge of steps cannot lay out, as `StepDataError` has them; the other rows may be fine.
        expected: it is an error that users can mend; else the message holds the traceback.
    """

    message: str
    host: str
    bad: tuple[tuple[int, str, str], ...] = ()
    expected: bool = True


class ShardWorker:
    """Judges pickled shards by a `Work`. An error comes back as a `Failure`: only a death is the engine's to handle."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._judging: Judging | None = None

    def judge(self, items: bytes) -> bytes:
        """Judge one shard: pickled items in, pickled results or a pickled `Failure` out."""
        try:
            if self._judging is None:
                self._judging = self._work.start()
            return pickle.dumps(self._judging(pickle.loads(items)))  # noqa: S301 - our own driver's
        except StepDataError as error:
            return pickle.dumps(Failure(str(error), socket.gethostname(), tuple(error.rows)))
        except MarkschemeError as error:
            return pickle.dumps(Failure(str(error), socket.gethostname()))
        except Exception:  # noqa: BLE001 - whatever it is, the driver must hear of it rather than retry it
            return pickle.dumps(Failure(traceback.format_exc(), socket.gethostname(), expected=False))
