from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from fakes import HOSTILE, Run, read_jsonl, write_jsonl
from markscheme.cli import run as run_module
from markscheme.verifiers import GoldError, Verdict
from markscheme.verifiers.grading import Setup, Task, grade

ROWS = [
    {"id": "right", "gold": "18", "completion": "so \\boxed{18}"},
    {"id": "wrong", "gold": "18", "completion": "so \\boxed{19}"},
    {"id": "none", "gold": "18", "completion": ""},
    {"id": "gsm8k", "gold": "2+2=<<2+2=4>>4\n#### 4", "completion": "#### 4"},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "rows.jsonl", ROWS)


def test_table_accuracy_reasons_and_verdicts(run: Run, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "verdicts.jsonl"
    result = run("grade", rows, "-o", out, "--report", tmp_path / "new" / "report.html")
    assert "accuracy: 50.0 % (95 % interval 15.0 to 85.0)" in result.stdout
    assert "no_answer" in result.stdout  # the empty completion
    verdicts = read_jsonl(out)
    assert [(v["row"], v["id"], v["outcome"]) for v in verdicts] == [
        (0, "right", "correct"),
        (1, "wrong", "incorrect"),
        (2, "none", "unreadable"),
        (3, "gsm8k", "correct"),
    ]
    assert set(Verdict.model_fields) <= set(verdicts[0])
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(("limit", "code"), [(50, 0), (50.1, 1)])
def test_fail_under(run: Run, rows: Path, limit: float, code: int) -> None:
    result = run("grade", rows, "--fail-under", limit, code=code)
    assert ("is below --fail-under" in result.stderr) is (code == 1)


def test_form_and_field_names(run: Run, tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "r.jsonl",
        [{"label": 18, "text": 18, "form": "answer"}, {"label": "18", "text": "18", "form": "completion"}],
    )
    out = tmp_path / "v.jsonl"
    run("grade", path, "-o", out, "--gold-field", "label", "--completion-field", "text", "--reading", "boxed")
    bare = read_jsonl(out)[0]
    assert (bare["outcome"], bare["reading"]) == ("correct", None)
    other = write_jsonl(tmp_path / "s.jsonl", [{"gold": "18", "prediction": "18"}])
    run("grade", other, "-o", tmp_path / "w.jsonl", "--form", "answer")
    assert read_jsonl(tmp_path / "w.jsonl")[0]["outcome"] == "correct"


def test_workers_give_the_same(run: Run, rows: Path, tmp_path: Path) -> None:
    run("grade", rows, "-o", tmp_path / "a.jsonl")
    run("grade", rows, "-o", tmp_path / "b.jsonl", "--workers", "2")
    a, b = ([{**v, "seconds": 0} for v in read_jsonl(tmp_path / n)] for n in ("a.jsonl", "b.jsonl"))
    assert a == b


def test_a_long_completion_is_graded(run: Run, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "r.jsonl", [{"gold": "18", "completion": "a " * 500_000 + "\\boxed{18}"}])
    result = run("grade", path, "--report", tmp_path / "r.html")
    assert "accuracy: 100.0 %" in result.stdout
    assert (tmp_path / "r.html").stat().st_size < 100_000


@pytest.mark.parametrize("bad", [b"{oops}\n", b'{"id": "x", "gold": "1"}\n', b'"\xff"\n', b"\0\n"])
def test_what_stands_before_a_bad_line_is_graded_and_kept(run: Run, rows: Path, tmp_path: Path, bad: bytes) -> None:
    good, out = rows.read_bytes(), tmp_path / "v.jsonl"
    rows.write_bytes(good + bad + good)
    result = run("grade", rows, "-o", out, "--report", tmp_path / "r.html", code=2)
    assert len(read_jsonl(out)) == 4
    assert (tmp_path / "r.html").exists()
    assert "accuracy: 50.0 %" in result.stdout
    assert f"error: {rows}, line 5" in result.stderr
    assert f"4 rows graded so far, kept in {out}; run the same command again to go on" in result.stderr
    rows.write_bytes(good + good)
    result = run("grade", rows, "-o", out)
    assert "4 rows taken from an earlier run" in result.stdout
    assert len(read_jsonl(out)) == 8


def test_a_bad_first_line_without_o(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("[]\n")
    result = run("grade", path, code=2)
    assert result.stdout == ""
    assert "line 1, column 1: found a list; expected one JSON object a line" in result.stderr
    assert "Traceback" not in result.output


def test_missing_and_empty_files(run: Run, tmp_path: Path) -> None:
    assert "No such file" in run("grade", tmp_path / "absent.jsonl", code=2).stderr
    (tmp_path / "empty.jsonl").touch()
    assert "the file is empty" in run("grade", tmp_path / "empty.jsonl", code=2).stderr


def test_the_input_is_never_the_output(run: Run, rows: Path) -> None:
    before = rows.read_bytes()
    assert "-o names the file that is to be graded" in run("grade", rows, "-o", rows, code=2).stderr
    assert rows.read_bytes() == before


def test_ctrl_c_keeps_what_is_graded_and_the_next_run_goes_on(
    run: Run, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "v.jsonl"

    def stopped(tasks: list[Task], setup: Setup, workers: int) -> Iterator[Verdict]:
        yield from grade(tasks[:2], setup, workers)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "grade", stopped)
        result = run("grade", rows, "-o", out, code=130)
    assert f"stopped: 2 rows graded so far, kept in {out}; run the same command again to go on" in result.stderr
    first = out.read_bytes()
    run("grade", rows, "-o", out)
    assert out.read_bytes().startswith(first)
    assert [v["row"] for v in read_jsonl(out)] == [0, 1, 2, 3]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_an_interrupt_of_the_real_processes_leaves_whole_lines(tmp_path: Path, workers: str) -> None:
    path, out = write_jsonl(tmp_path / "r.jsonl", ROWS * 10_000), tmp_path / "v.jsonl"
    command = [sys.executable, "-m", "markscheme.cli", "grade", str(path), "-o", str(out), "--workers", workers]
    pipe = subprocess.PIPE
    # A shell starts what runs in its background with the interrupt ignored, which these would inherit.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        command,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
        preexec_fn=heard,  # noqa: PLW1509
    ) as process:
        while not out.exists() or out.stat().st_size < 10_000:
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip().startswith("stopped: ")
    assert len(said.strip().splitlines()) == 1
    done = read_jsonl(out)
    assert [v["row"] for v in done] == list(range(len(done)))
    assert 0 < len(done) < 40_000


def test_a_changed_row_is_refused_and_fresh_starts_over(run: Run, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    run("grade", rows, "-o", out)
    write_jsonl(rows, [{**ROWS[0], "completion": "so \\boxed{17}"}, *ROWS[1:]])
    result = run("grade", rows, "-o", out, code=2)
    assert f"{out}, line 1: the verdict on row 0 is of another input" in result.stderr
    run("grade", rows, "-o", out, "--fresh")
    assert read_jsonl(out)[0]["outcome"] == "incorrect"


@pytest.fixture
def bad_golds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let golds that hold "bad" be unreadable, whatever the grammar can read."""

    def load(golds: Iterable[object]) -> list[object]:
        bad = [(i, str(gold), "not an answer") for i, gold in enumerate(golds) if "bad" in str(gold)]
        if bad:
            raise GoldError(bad)
        return []

    monkeypatch.setattr(run_module, "load_golds", load)


@pytest.mark.usefixtures("bad_golds")
def test_unreadable_golds_are_all_listed_or_skipped(run: Run, tmp_path: Path) -> None:
    rows = [{"gold": f"bad \x1b{i % 4}" if i % 2 else "1", "completion": "\\boxed{1}"} for i in range(60)]
    path, out = write_jsonl(tmp_path / "r.jsonl", rows), tmp_path / "v.jsonl"
    result = run("grade", path, "-o", out, code=2)
    assert "30 gold answer(s) cannot be read (rows are counted from 0):" in result.stderr
    for row in range(1, 60, 2):
        assert f"  row {row}: 'bad \\x1b{row % 4}': not an answer" in result.stderr
    assert "--on-bad-gold skip" in result.stderr
    result = run("grade", path, "-o", out, "--on-bad-gold", "skip")
    assert "30 rows left out, for the gold answer cannot be read: 1, 3, 5" in result.stdout
    assert [v["row"] for v in read_jsonl(out)] == list(range(0, 60, 2))


def test_hostile_text_reaches_the_terminal_as_text(run: Run, tmp_path: Path) -> None:
    rows = [{"id": HOSTILE, "gold": HOSTILE, "completion": HOSTILE + " \\boxed{" + HOSTILE[:-12] + "}"}]
    path = write_jsonl(tmp_path / "\x1b[31mr.jsonl", rows)
    for args in ((), ("--gold-field", "\x1b[1mgold")):
        output = run("grade", path, *args, code=None).output
        assert "accuracy" in output or "error" in output
        for character in "\x1b\x07\x9b\u202e\u2028":
            assert character not in output


def test_bad_options_are_usage_errors(run: Run, rows: Path) -> None:
    assert "guess" in run("grade", rows, "--reading", "guess", code=2).stderr


def test_the_examples_are_well_formed() -> None:
    path = Path(__file__).parents[2] / "examples" / "completions.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert 30 <= len(rows) <= 40
    assert all(list(row) == ["id", "problem", "gold", "completion"] for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
