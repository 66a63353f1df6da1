"""Shards on the disk: whole or not there, resumed, in the input's order."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import read_jsonl, verdict
from markscheme.verifiers import Outcome, Verdict
from markscheme.verifiers.bulk import Shards
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.grading import Setup
from markscheme.verifiers.records import LineFile, VerdictFile, digest
from markscheme.verifiers.tasks import Task

TASKS = [Task(row, f"\\boxed{{{row}}}", "1", keys={"id": f"t{row}"}) for row in range(10)]
DIGESTS = {task.row: digest(task, Setup()) for task in TASKS}


def opened(out: Path, tasks: list[Task] = TASKS, **given: object) -> Shards[Verdict]:
    return Shards(out, {task.row: digest(task, Setup()) for task in tasks}, Verdict, **given)  # type: ignore[arg-type]


def judged(tasks: list[Task]) -> list[Verdict]:
    return [verdict(Outcome.CORRECT if task.row == 1 else Outcome.INCORRECT, answer=str(task.row)) for task in tasks]


def rows_of(shards: list[list[Task]]) -> list[list[int]]:
    return [[task.row for task in shard] for shard in shards]


def test_shards_become_the_file_that_one_process_writes(tmp_path: Path) -> None:
    out, plain = tmp_path / "new" / "v.jsonl", tmp_path / "plain.jsonl"
    shards = opened(out)
    parts = shards.missing(TASKS, 4)
    assert rows_of(parts) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    for part in reversed(parts):
        shards.write(part, judged(part))
    assert not out.exists(), "the file is whole or not there"
    shards.merge(TASKS)
    with VerdictFile(plain, TASKS, Setup()) as file:
        for task, one in zip(TASKS, judged(TASKS), strict=True):
            file.append(task, one)
    assert out.read_bytes() == plain.read_bytes()
    assert [path.name for path in out.parent.iterdir()] == ["v.jsonl"]


def test_only_missing_shards_are_taken_up_whatever_their_size_was(tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    first = opened(out)
    part = first.missing(TASKS, 4)[1]
    first.write(part, judged(part))
    again = opened(out)
    assert sorted(again.done) == [4, 5, 6, 7]
    assert rows_of(again.missing(TASKS, 4)) == [[0, 1, 2, 3], [8, 9]]
    assert rows_of(again.missing(TASKS, 3)) == [[0, 1, 2], [3], [8], [9]]
    for rest in again.missing(TASKS, 3):
        again.write(rest, judged(rest))
    again.merge(TASKS)
    assert [row["row"] for row in read_jsonl(out)] == list(range(10))


def test_what_one_process_began_a_cluster_goes_on_with(tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    with VerdictFile(out, TASKS, Setup()) as file:
        file.append(TASKS[5], judged(TASKS)[5])
    out.write_bytes(out.read_bytes() + b'{"row":')  # cut off, as by a kill
    shards = opened(out)
    assert rows_of(shards.missing(TASKS, 5)) == [[0, 1, 2, 3, 4], [6, 7, 8, 9]]
    for part in shards.missing(TASKS, 5):
        shards.write(part, judged(part))
    shards.merge(TASKS)
    assert [row["row"] for row in read_jsonl(out)] == list(range(10))


def test_what_a_cluster_began_one_process_does_not_pass_over(tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    shards = opened(out)
    shards.write(TASKS[:2], judged(TASKS[:2]))
    with pytest.raises(DataError, match=r"v\.jsonl\.shards holds what a run with --engine ray has done so far"):
        LineFile(out, DIGESTS, Verdict)
    with LineFile(out, DIGESTS, Verdict, fresh=True):
        assert not shards.folder.exists()


@pytest.mark.parametrize("change", ["input", "settings", "fewer rows"])
def test_a_shard_of_something_else_is_refused(tmp_path: Path, change: str) -> None:
    out = tmp_path / "v.jsonl"
    first = opened(out)
    first.write(TASKS[:2], judged(TASKS[:2]))
    tasks = [replace(task, completion="2") if change == "input" else task for task in TASKS]
    setup = Setup(reading="boxed") if change == "settings" else Setup()
    digests = {task.row: digest(task, setup) for task in (tasks[:1] if change == "fewer rows" else tasks)}
    wrong = r"rows-000000000-000000001\.jsonl, line \d: the verdict on row \d is of another input, or was reached with"
    with pytest.raises(DataError, match=wrong):
        Shards(out, digests, Verdict)
    assert Shards(out, digests, Verdict, fresh=True).done == {}
    assert not list(first.folder.iterdir())


def test_a_shard_that_was_being_written_is_not_there(tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    shards = opened(out)
    (shards.folder / ".rows-000000000-000000003.jsonl.part").write_text('{"row": 0, ')
    again = opened(out)
    assert again.done == {}
    for part in again.missing(TASKS, 4):
        again.write(part, judged(part))
    again.merge(TASKS)
    assert not shards.folder.exists()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, fresh: bool) -> None:  # noqa: FBT001
    out = tmp_path / "notes.jsonl"
    out.write_text(json.dumps({"note": 1}) + "\n")
    with pytest.raises(DataError, match="not a verdict; the file is left as it is"):
        opened(out, fresh=fresh)
    assert out.read_text() == '{"note": 1}\n'


def test_an_empty_folder_is_removed(tmp_path: Path) -> None:
    shards = opened(tmp_path / "v.jsonl")
    shards.leave()
    assert not shards.folder.exists()
