from __future__ import annotations

import pytest

from fakes import DyingSetup
from markscheme.verifiers import DataError, Outcome, Policy, WorkerError
from markscheme.verifiers.grading import CHUNK, Setup, cpu_seconds, grade, grade_chunks
from markscheme.verifiers.jsonl import Row
from markscheme.verifiers.tasks import Task, read_task

TASKS = [Task(i, f"It is \\boxed{{{i % 3}}}", "1") for i in range(2 * CHUNK + 3)]


def test_in_processes_verdicts_are_the_same_and_in_order() -> None:
    here = [v.model_copy(update={"seconds": 0.0}) for v in grade(TASKS, Setup())]
    there = [v.model_copy(update={"seconds": 0.0}) for v in grade(TASKS, Setup(), workers=2)]
    assert there == here
    assert [v.outcome is Outcome.CORRECT for v in here] == [i % 3 == 1 for i in range(len(TASKS))]


def test_chunks_carry_their_cpu_time() -> None:
    chunks = list(grade_chunks(TASKS, Setup(), workers=1))
    assert [len(chunk) for chunk, _ in chunks] == [CHUNK, CHUNK, 3]
    assert all(cpu > 0 for _, cpu in chunks)


def test_a_process_that_dies_is_an_error_with_a_likely_cause() -> None:
    with pytest.raises(WorkerError, match="a grading process died; was it killed for want of memory"):
        list(grade(TASKS, DyingSetup(), workers=2))


def test_a_task_that_is_a_bare_answer_is_not_read_as_a_completion() -> None:
    (verdict,) = grade([Task(0, "18", "18", form="answer")], Setup(reading="boxed"))
    assert verdict.outcome is Outcome.CORRECT


def test_each_policy_has_its_verifier() -> None:
    tasks = [Task(0, "\\boxed{1}", "1", policy=Policy(precision=p)) for p in ("exact", "gold")]
    assert [v.outcome for v in grade(tasks, Setup())] == [Outcome.CORRECT] * 2


def test_cpu_seconds_never_fall() -> None:
    before = cpu_seconds()
    assert sum(range(10_000)) > 0
    assert cpu_seconds() >= before > 0


@pytest.mark.parametrize("name", ["prediction", "completion", "response"])
@pytest.mark.parametrize("gold", ["gold", "answer", "reference"])
def test_aliases(name: str, gold: str) -> None:
    task = read_task(Row("f", 4, 5, {gold: 18, name: "x", "id": 7, "question": "q"}))
    assert (task.row, task.gold, task.completion, task.keys, task.problem) == (4, "18", "x", {"id": 7}, "q")


def test_a_rows_own_form_wins() -> None:
    row = Row("f", 0, 1, {"gold": "1", "prediction": "1", "form": "answer"})
    assert read_task(row, form="completion").form == "answer"
    with pytest.raises(DataError, match=r"line 1: 'form': expected \"answer\" or \"completion\", found 'bare'"):
        read_task(Row("f", 0, 1, {"gold": "1", "prediction": "1", "form": "bare"}))
