from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fakes import read_jsonl, verdict
from markscheme.verifiers import DataError, Outcome
from markscheme.verifiers.grading import Setup
from markscheme.verifiers.records import VerdictFile, digest
from markscheme.verifiers.tasks import Task

TASKS = [Task(i, f"c{i}", "1", keys={"id": f"r{i}"}) for i in range(3)]
RIGHT = verdict(Outcome.CORRECT, span=(0, 1), reading="boxed")


def write(path: Path, count: int) -> None:
    with VerdictFile(path, TASKS, Setup()) as file:
        for task in TASKS[:count]:
            file.append(task, RIGHT)


def test_a_line_holds_the_row_its_keys_and_the_verdict(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "v.jsonl"
    write(path, 1)
    (line,) = read_jsonl(path)
    assert list(line)[:3] == ["row", "id", "digest"]
    assert line["id"] == "r0"
    assert line["outcome"] == "correct"
    assert line["span"] == [0, 1]


def test_each_line_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    with VerdictFile(path, TASKS, Setup()) as file:
        file.append(TASKS[0], RIGHT)
        assert len(read_jsonl(path)) == 1


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_cut_off_last_line_is_dropped(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "v.jsonl"
    write(path, 2)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:cut])
    with VerdictFile(path, TASKS, Setup()) as file:
        assert file.done == {0: RIGHT}
        file.append(TASKS[1], RIGHT)
    assert [line["row"] for line in read_jsonl(path)] == [0, 1]


@pytest.mark.parametrize(
    ("tasks", "setup"),
    [
        pytest.param([replace(TASKS[0], completion="other"), *TASKS[1:]], Setup(), id="another completion"),
        pytest.param([replace(TASKS[0], gold="other"), *TASKS[1:]], Setup(), id="another gold"),
        pytest.param(TASKS, Setup(reading="boxed"), id="another reading"),
        pytest.param(TASKS[1:], Setup(), id="a row that is gone"),
    ],
)
def test_another_input_or_setting_is_refused(tmp_path: Path, tasks: list[Task], setup: Setup) -> None:
    path = tmp_path / "v.jsonl"
    write(path, 1)
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"line 1: the verdict on row 0 is of another input.*--fresh"):
        VerdictFile(path, tasks, setup)
    assert path.read_bytes() == before


def test_fresh_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    write(path, 2)
    with VerdictFile(path, TASKS, Setup(reading="boxed"), fresh=True) as file:
        assert file.done == {}
    assert path.read_bytes() == b""


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("content", [b"notes of mine", b'{"gold": "1"}\n', b'{"row": 0}\nnotes'])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, content: bytes, fresh: bool) -> None:  # noqa: FBT001
    path = tmp_path / "v.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a verdict; the file is left as it is"):
        VerdictFile(path, TASKS, Setup(), fresh=fresh)
    assert path.read_bytes() == content


def test_the_digest_follows_all_that_a_verdict_follows_from() -> None:
    task = TASKS[0]
    variants = {digest(task, Setup()), digest(task, Setup(deadline=1)), digest(task, Setup(thinking=True))}
    variants |= {digest(replace(task, form="answer"), Setup()), digest(replace(task, keys={}), Setup())}
    assert len(variants) == 5
    assert digest(task, Setup()) == digest(replace(task, problem="said otherwise"), Setup())
