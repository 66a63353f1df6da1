"""``markscheme judge``: files in, verdicts, tables and a report out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes import HOSTILE, Run, read_jsonl, write_jsonl
from markscheme.cli import programs
from markscheme.verifiers.code.sandbox.hosts import capabilities
from markscheme.verifiers.code.sandbox.supervisor import SandboxError
from markscheme.verifiers.code.verifier import CodeVerifier

ADD = "print(sum(map(int, input().split())))"
PROBLEMS = [
    {
        "id": "add",
        "problem": "Add.",
        "cases": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "2 2\n", "stdout": "4\n"}],
    },
    {"id": 2, "cases": [{"function": "f", "arguments": [1, [2]], "expected": {"a": 1.5}}]},
    {"id": "t", "tests": "assert g(2) == 4\nassert g(3) == 9"},
]
SOLUTIONS = [
    {"id": "add", "solution": ADD},
    {"id": 2, "completion": "Here:\n```python\ndef f(a, b): return {'a': 1.5}\n```"},
    {"id": "add", "response": "```python\nprint(3)\n```"},
    {"id": "2", "code": "def f(a, b): return 1 / 0"},
    {"id": "t", "solution": "def g(x): return x * x"},
    {"id": "t", "solution": "```python\ndef g(x): return"},
]


@pytest.fixture(scope="module", autouse=True)
def _level() -> None:
    found = capabilities()
    if not found.level:
        pytest.skip(f"this host gives no safe level: {found.why_not_higher}")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write_jsonl(tmp_path / "p.jsonl", PROBLEMS), write_jsonl(tmp_path / "s.jsonl", SOLUTIONS)


def test_verdicts_table_and_report(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    out, page = tmp_path / "new" / "v.jsonl", tmp_path / "r.html"
    result = run("judge", *files, "-o", out, "--report", page, "--workers", 2)
    rows = read_jsonl(out)
    assert [(row["row"], row["id"], row["sample"], row["outcome"], row["score"]) for row in rows] == [
        (0, "add", 0, "correct", 1.0),
        (1, 2, 0, "correct", 1.0),
        (2, "add", 1, "incorrect", 0.0),
        (3, 2, 1, "incorrect", 0.0),
        (4, "t", 0, "correct", 1.0),
        (5, "t", 1, "unreadable", 0.0),
    ]
    assert [row["reason"] for row in rows][2:4] == ["wrong_answer", "runtime_error"]
    assert rows[0]["level"] in {2, 3}
    assert [case["outcome"] for case in rows[0]["cases"]] == ["correct", "correct"]
    assert [case["outcome"] for case in rows[2]["cases"]] == ["correct", "incorrect"]
    assert "accuracy: 50.0 %" in result.stdout
    assert "problems: 3" in result.stdout
    assert "pass@1: 50.0 %" in result.stdout
    assert "pass@2: 100.0 %" in result.stdout
    html = page.read_text(encoding="utf-8")
    for text in ("First failing case", "Cases passed", "1 of 2", "input:\\n2 2\\n", "f(1, [2]) == {'a': 1.5}"):
        assert text in html.replace("&#39;", "'").replace("\\u0027", "'"), text


def test_fractions(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    result = run("judge", *files, "-o", out, "--score", "fraction")
    assert [row["score"] for row in read_jsonl(out)][:4] == [1.0, 1.0, 0.5, 0.0]
    assert "mean score: 0.583" in result.stdout


@pytest.mark.parametrize(("limit", "code"), [(50, 0), (51, 1)])
def test_fail_under(run: Run, files: tuple[Path, Path], limit: float, code: int) -> None:
    assert ("is below --fail-under" in run("judge", *files, "--fail-under", limit, code=code).stderr) is (code == 1)


def test_a_stopped_run_goes_on(
    run: Run, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "v.jsonl"
    verify: Callable[..., object] = CodeVerifier.verify
    calls = 0

    def interrupted(self: CodeVerifier, *args: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return verify(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(CodeVerifier, "verify", interrupted)
        result = run("judge", *files, "-o", out, "--workers", 1, code=130)
    assert f"3 rows graded so far, kept in {out}; run the same command again" in result.stderr
    first = out.read_bytes()
    result = run("judge", *files, "-o", out)
    assert out.read_bytes().startswith(first)
    assert "3 rows taken from an earlier run" in result.stdout
    assert [row["row"] for row in read_jsonl(out)] == list(range(6))


@pytest.mark.parametrize(
    "change",
    [
        lambda p, s: write_jsonl(s, [{**SOLUTIONS[0], "solution": "print(0)"}, *SOLUTIONS[1:]]),
        lambda p, s: write_jsonl(p, [{**PROBLEMS[0], "cases": [{"stdin": "1 2\n", "stdout": "4\n"}]}, *PROBLEMS[1:]]),
        lambda p, s: ["--cpu-seconds", "1"],
        lambda p, s: ["--score", "fraction"],
    ],
    ids=["solution", "cases", "limits", "score"],
)
def test_a_changed_input_is_refused_and_fresh_starts_over(
    run: Run, files: tuple[Path, Path], tmp_path: Path, change: Callable[[Path, Path], object]
) -> None:
    out = tmp_path / "v.jsonl"
    run("judge", *files, "-o", out)
    changed = change(*files)
    options = changed if isinstance(changed, list) else []
    result = run("judge", *files, "-o", out, *options, code=2)
    assert f"{out}, line 1: the verdict on row 0 is of another input" in result.stderr
    run("judge", *files, "-o", out, "--fresh", *options)


def test_neither_input_is_the_output(run: Run, files: tuple[Path, Path]) -> None:
    for file in files:
        before = file.read_bytes()
        assert "-o names the file" in run("judge", *files, "-o", file, code=2).stderr
        assert file.read_bytes() == before


def test_unknown_ids_are_all_named(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    write_jsonl(files[1], [*SOLUTIONS, {"id": "\x1bx", "solution": "1"}, {"id": 7, "solution": "1"}])
    result = run("judge", *files, "-o", tmp_path / "v.jsonl", code=2)
    assert "2 solution(s) have no problem:" in result.stderr
    assert f"{files[1]}, line 7: id '\\x1bx' is in no row of the problems" in result.stderr
    assert f"{files[1]}, line 8: id 7" in result.stderr
    assert not (tmp_path / "v.jsonl").exists()


def test_problems_that_cannot_be_judged_by_are_all_named(run: Run, files: tuple[Path, Path]) -> None:
    bad = [
        {"id": "a", "cases": []},
        {"id": "b"},
        {"cases": [{"stdin": "", "stdout": ""}]},
        {"id": "add", "tests": "f()"},
    ]
    write_jsonl(files[0], [*PROBLEMS, *bad])
    said = run("judge", *files, code=2).stderr
    assert "4 problem(s) cannot be judged by:" in said
    assert f"{files[0]}, line 4, id 'a'" in said
    assert "no cases are never a pass" in said
    assert f"{files[0]}, line 5, id 'b'" in said
    assert f"{files[0]}, line 6: no id" in said
    assert f"{files[0]}, line 7: id 'add' was there before" in said


def test_what_stands_before_a_bad_line_is_judged(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    with files[1].open("a") as file:
        file.write('{"id": "add"}\n')
    result = run("judge", *files, "-o", tmp_path / "v.jsonl", code=2)
    assert f"{files[1]}, line 7: no solution" in result.stderr
    assert len(read_jsonl(tmp_path / "v.jsonl")) == 6


def test_problems_without_solutions_are_counted(run: Run, files: tuple[Path, Path]) -> None:
    write_jsonl(files[1], SOLUTIONS[:1])
    result = run("judge", *files)
    assert "2 of 3 problems have no solution" in result.stdout
    assert "pass@" not in result.stdout


def test_hostile_text_stays_text(run: Run, tmp_path: Path) -> None:
    problems = write_jsonl(
        tmp_path / "p.jsonl", [{"id": HOSTILE, "problem": HOSTILE, "cases": [{"stdin": HOSTILE, "stdout": HOSTILE}]}]
    )
    program = f"import sys\nsys.stdout.write({HOSTILE!r} + 'x')\nraise ValueError({HOSTILE!r})"
    solutions = write_jsonl(
        tmp_path / "s.jsonl", [{"id": HOSTILE, "solution": program}, {"id": HOSTILE, "solution": f"print({HOSTILE!r})"}]
    )
    page = tmp_path / "r.html"
    output = run("judge", problems, solutions, "--report", page, "-o", tmp_path / "v.jsonl").output
    assert "accuracy: " in output
    for character in "\x1b\x07\x9b\u202e\u2028":
        assert character not in output
    html = page.read_text(encoding="utf-8")
    assert "<img" not in html
    assert html.count("<script") == 2
    assert "\x1b" not in html


def test_a_host_without_the_level_is_told_why(
    run: Run, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: CodeVerifier) -> object:
        raise SandboxError("this host gives no safe level: no Landlock")

    monkeypatch.setattr(CodeVerifier, "sandbox", property(refuse))
    assert "error: this host gives no safe level: no Landlock" in run("judge", *files, code=2).stderr


def test_case_text() -> None:
    cases = programs.parse_cases([{"stdin": "a", "stdout": "b"}])
    assert programs.case_text(cases, 0) == "input:\na\nexpected output:\nb"
    assert programs.case_text(cases, 1) == "all of them together"
    assert programs.case_text(programs.parse_cases({"tests": "assert f()"}), 0) == "assert f()"
    assert json.loads(programs.ProblemRow(1, cases, "", "{}").source) == {}
