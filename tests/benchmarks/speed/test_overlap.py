"""The benchmark of overlapped verification, in a tiny run that also shows what is claimed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tinytraining import MARKS

from markscheme.benchmarks.speed import overlap  # isort: skip

pytestmark = MARKS


def test_sleeping_verdicts_hide_behind_passes_and_not_behind_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "SECONDS", 0.005)
    figures = overlap.run(rounds=1, lengths=[64], generations=[0.3], beside=False)
    rows = {(row["kind"], row["beta"], row["generation"]): row for row in figures["rows"]}
    kind = "sleep, 16 slots"
    beside, alone, generated = rows[kind, 0.04, 0.0], rows[kind, 0.0, 0.0], rows[kind, 0.0, 0.3]
    assert beside["passes"] > 0.05 and alone["passes"] == 0.0
    assert beside["hidden"] >= 0.9 and beside["hidden"] > alone["hidden"]
    assert generated["hidden"] >= 0.9 and generated["passes"] == 0.0
    saved = beside["waiting"] - beside["overlapped"]
    assert beside["won"] == pytest.approx(saved / beside["verification"], abs=1e-3)
    out = io.StringIO()
    overlap.print_table(figures | {"trl_async": "AssertionError: no"}, Console(file=out, width=140))
    assert "sleep, 16 slots" in out.getvalue() and "AsyncGRPOTrainer on this machine: AssertionError" in out.getvalue()


def test_a_verdict_of_work_takes_cpu_time() -> None:
    import time  # noqa: PLC0415

    begun = time.thread_time()
    assert [overlap.work(0.01, number) for number in range(2)] == [0.0, 1.0]
    assert time.thread_time() - begun >= 0.02


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = dict.fromkeys(("generation", "passes", "verification", "waiting", "overlapped"), 0.5)
    figures = {"verdicts": 64, "processors": 2, "trl_async": "no", "rows": [{**row, "kind": "sleep", "beta": 0.04}]}
    figures["rows"][0] |= {"tokens": 64, "hidden": 0.97, "won": 0.9}  # type: ignore[index]
    monkeypatch.setattr(overlap, "run", lambda rounds: {**figures, "rounds": rounds})
    assert overlap.main(["--rounds", "3", "--json", str(tmp_path / "a" / "out.json")]) == 0
    assert json.loads((tmp_path / "a" / "out.json").read_text())["rounds"] == 3
    assert "97%" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        overlap.main(["--rounds", "0"])
    assert "--rounds must be at least 1, not 0" in capsys.readouterr().err
