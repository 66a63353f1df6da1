"""A worker: results or a failure in plain values, whatever happens."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from markscheme.verifiers.bulk import Failure, GradeWork, ShardWorker
from markscheme.verifiers.errors import MissingExtraError, StepDataError
from markscheme.verifiers.grading import Setup, grade
from markscheme.verifiers.tasks import Task
from raynodes import Failing

TASKS = [Task(row, f"\\boxed{{{row}}}", "\\frac{2}{2}") for row in range(3)]


def test_grading_calls_what_one_process_calls() -> None:
    worker = ShardWorker(pickle.loads(pickle.dumps(GradeWork(Setup()))))
    found = pickle.loads(worker.judge(pickle.dumps(TASKS)))
    expected = list(grade(TASKS, Setup()))
    assert [one.model_copy(update={"seconds": 0}) for one in found] == [
        one.model_copy(update={"seconds": 0}) for one in expected
    ]
    assert [one.outcome for one in found] == ["incorrect", "correct", "incorrect"]


@dataclass
class Counting:
    heavy: bool = False
    starts: int = 0

    def start(self) -> Callable[[Sequence[int]], list[int]]:
        self.starts += 1
        return list


def test_what_is_dear_starts_once() -> None:
    work = Counting()
    worker = ShardWorker(work)
    assert work.starts == 0
    assert [pickle.loads(worker.judge(pickle.dumps([n]))) for n in range(3)] == [[0], [1], [2]]
    assert work.starts == 1


@pytest.mark.parametrize(
    ("error", "bad", "expected", "said"),
    [
        (StepDataError([(7, "x", "step 0 is empty")]), ((7, "x", "step 0 is empty"),), True, "row(s) cannot be used"),
        (MissingExtraError("needs torch"), (), True, "needs torch"),
        (RuntimeError("out of memory"), (), False, "RuntimeError: out of memory"),
    ],
    ids=["rows", "a missing piece", "a bug"],
)
def test_an_error_comes_back_as_values(error: Exception, bad: object, expected: bool, said: str) -> None:  # noqa: FBT001
    failure = pickle.loads(ShardWorker(Failing(error)).judge(pickle.dumps([1])))
    assert isinstance(failure, Failure)
    assert (failure.bad, failure.expected) == (bad, expected)
    assert said in failure.message
    assert failure.host
