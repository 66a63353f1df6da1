"""The benchmark of answers: rows, sampling, figures; a run beside math-verify where it is installed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from markscheme.benchmarks.speed import graders
from markscheme.benchmarks.speed.answers import compare, main, percentile, run
from markscheme.benchmarks.speed.figures import print_table
from markscheme.benchmarks.speed.graders import Ours, delimited
from markscheme.benchmarks.speed.rows import Row, built_in_rows, load_rows, sample_rows
from markscheme.verifiers import DataError, Outcome

NEEDS_PEER = "needs math-verify and matplotlib: pip install markscheme[bench]"


class Fixed:
    """A grader that accepts always or never, and says that each call cost its workers a CPU-second."""

    setup = "fixed"

    def __init__(self, name: str, *, accept: bool) -> None:
        self.name, self.accept, self.seen = name, accept, []

    def accepts(self, row: Row) -> bool:
        self.seen.append(row.id)
        return self.accept

    def worker_cpu_seconds(self) -> float:
        return float(len(self.seen))


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
    return path


def test_rows_of_both_kinds(tmp_path: Path) -> None:
    path = write(
        tmp_path / "pairs.jsonl",
        {"id": "a", "gold": "4", "prediction": "4", "expected": True, "form": "completion", "kind": "extra"},
        "",
        {"gold": "4", "prediction": "5", "expected": False},
        {"id": 7, "problem": "2+2?", "gold": "#### 4", "completion": "\\boxed{4}"},
    )
    assert load_rows(path) == [
        Row("a", "4", "4", expected=True, form="completion"),
        Row(f"{path}:3", "4", "5", expected=False, form="answer"),
        Row("7", "#### 4", "\\boxed{4}", expected=None, form="completion"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r":2:2: not JSON"),
        ("[1]", r":2: expected a JSON object, not list"),
        ('{"gold": "4"}', r":2: expected text in completion; the fields that came: gold"),
        ('{"prediction": 4}', r":2: expected text in gold and prediction"),
        ('{"gold": "4", "prediction": "4", "expected": "yes"}', r":2: expected must be true or false"),
        ('{"gold": "4", "prediction": "4", "form": "essay"}', r'form "answer" or "completion": None, \'essay\''),
    ],
)
def test_bad_rows_are_named(line: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.jsonl", {"gold": "4", "prediction": "4"}, line)
    with pytest.raises(DataError, match=message):
        load_rows(path)


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"empty\.jsonl: no rows"):
        load_rows(write(tmp_path / "empty.jsonl"))
    with pytest.raises(DataError, match=r"absent\.jsonl: cannot be read"):
        load_rows(tmp_path / "absent.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"gold": "\xe9"}')
    with pytest.raises(DataError, match=r"latin\.jsonl: cannot be read as UTF-8"):
        load_rows(tmp_path / "latin.jsonl")


def test_samples_are_seeded_and_in_order() -> None:
    rows = built_in_rows()
    sample = sample_rows(rows, 5, seed=3)
    assert sample == sample_rows(rows, 5, seed=3) != sample_rows(rows, 5, seed=4)
    assert sample == sorted(sample, key=lambda row: row.id)
    assert sample_rows(rows, None, seed=3) == sample_rows(rows, 1000, seed=3) == rows


def test_built_in_pairs_hold_right_and_wrong_ones() -> None:
    rows = built_in_rows()
    assert len({row.id for row in rows}) == len(rows)
    assert {(row.expected, row.form) for row in rows} == {
        (True, "answer"),
        (False, "answer"),
        (True, "completion"),
        (False, "completion"),
    }


def test_compare_counts_and_takes_turns() -> None:
    rows = [Row(str(at), "4", "4", at % 3 != 0, "answer") for at in range(30)] + [Row("30", "4", "4", None, "answer")]
    yes, no = Fixed("yes", accept=True), Fixed("no", accept=False)
    result = compare("pairs", rows, [yes, no])
    assert (result["n"], result["true"], result["false"], result["times_as_fast"]) == (31, 20, 10, 1.0)
    assert {name: (one["accepted"], one["fn"], one["fp"]) for name, one in result["graders"].items()} == {
        "yes": (31, 0, 10),
        "no": (0, 20, 0),
    }
    assert result["graders"]["yes"]["pairs_per_cpu_s"] == 1.0
    assert yes.seen == no.seen == [row.id for row in rows]


def test_percentiles_by_nearest_rank() -> None:
    seconds = [at / 1000 for at in range(100, 0, -1)]
    assert [percentile(seconds, percent) for percent in (50, 99, 100)] == [50.0, 99.0, 100.0]
    assert percentile([0.002], 50) == 2.0


def test_ours_judges_both_forms_and_counts_outcomes() -> None:
    ours = Ours()
    rows = [
        Row("a", "4", "4", expected=True, form="answer"),
        Row("b", "4", "It is $\\boxed{4}$.", expected=True, form="completion"),
        Row("c", "4", "\\boxed{5}", expected=False, form="completion"),
    ]
    assert [ours.accepts(row) for row in rows] == [True, True, False]
    assert ours.outcomes == {Outcome.CORRECT: 2, Outcome.INCORRECT: 1}
    result = compare("pairs", rows, [ours])["graders"]["markscheme"]
    assert result["outcomes"] == {"correct": 2, "incorrect": 1, "unreadable": 0, "undecided": 0, "broken": 0}


def test_algebra_workers_are_on_our_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 4.0])
    monkeypatch.setattr(graders, "worker_cpu_seconds", lambda: next(clock))
    rows = [Row("a", "4", "4", expected=True, form="answer")]
    assert compare("pairs", rows, [Ours()])["graders"]["markscheme"]["cpu_s"] == pytest.approx(3.0, abs=0.5)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("\\frac12", "$\\frac12$"),
        ("$4$", "$4$"),
        ("\\boxed{4}", "\\boxed{4}"),
        ("\\$4", "$\\$4$"),
        ("\\(4\\)", "\\(4\\)"),
    ],
)
def test_bare_answers_are_delimited_for_the_peer(answer: str, text: str) -> None:
    assert delimited(answer) == text


def test_table_shows_names_as_they_are() -> None:
    result = compare("[bold]f[/bold]", built_in_rows(), [Fixed("yes", accept=True), Fixed("no", accept=False)])
    out = io.StringIO()
    print_table({"files": [result], "setup": {"yes": "[x]"}}, Console(file=out, width=100))
    assert "[bold]f[/bold]" in out.getvalue()
    assert "yes: [x]" in out.getvalue()


def test_run_beside_math_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("math_verify", reason=NEEDS_PEER)
    pytest.importorskip("matplotlib", reason=NEEDS_PEER)
    data = write(
        tmp_path / "pairs.jsonl",
        {"gold": "4", "prediction": "4", "expected": True},
        {"gold": "\\frac{1}{2}", "prediction": "\\frac{1}{3}", "expected": False},
        {"gold": "2+2=4\n#### 4", "completion": "It is $\\boxed{4}$.", "expected": True},
    )
    out, image = tmp_path / "out" / "figures.json", tmp_path / "out" / "figures.png"
    assert main(["--data", str(data), "--json", str(out), "--plot", str(image)]) == 0
    figures = json.loads(out.read_text())
    (result,) = figures["files"]
    assert (result["file"], result["n"], result["true"], result["false"]) == ("pairs.jsonl", 3, 2, 1)
    for one in result["graders"].values():
        assert (one["fn"], one["fp"]) == (0, 0)
        assert 0 < one["p50_ms"] <= one["p99_ms"] <= one["max_ms"]
        assert one["pairs_per_cpu_s"] > 0
    assert figures["versions"]["math-verify"]
    assert image.read_bytes().startswith(b"\x89PNG")
    assert "math-verify" in capsys.readouterr().out


def test_run_without_data_takes_a_sample_of_the_bundled_pairs() -> None:
    pytest.importorskip("math_verify", reason=NEEDS_PEER)
    assert [result["n"] for result in run([], limit=3)["files"]] == [3]


def test_bad_input_ends_with_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path / "absent.jsonl")]) == 2
    assert "absent.jsonl: cannot be read" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--limit", "0"])
    assert "--limit must be at least 1" in capsys.readouterr().err
