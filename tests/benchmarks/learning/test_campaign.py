"""A run that stops goes on where it was."""

from __future__ import annotations

import dataclasses
import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

pytest.importorskip("trl", reason="needs TRL: pip install markscheme[train]")

from markscheme.benchmarks.learning import campaign
from markscheme.benchmarks.learning.campaign import Log, run_units
from markscheme.benchmarks.learning.settings import FULL, QUICK, Settings
from markscheme.benchmarks.learning.units import Unit
from markscheme.verifiers.errors import DataError

pytestmark = pytest.mark.train

UNITS = [Unit("outcome", seed, 1e-3) for seed in (1, 2, 3)]


def fake(unit: Unit, settings: Settings, folder: Path) -> dict[str, Any]:
    if unit.seed == 9:
        raise RuntimeError("no seed nine")
    return {"evaluation": {"sampled": {"accuracy": unit.seed / 10}}, "cpu_s": 1.0}


def go(log: Log, units: list[Unit], **options: Any) -> str:
    out = io.StringIO()
    run_units(units, QUICK, log, title="t", console=Console(file=out, width=100), run=fake, **options)
    return out.getvalue()


def test_units_are_written_as_they_end_and_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "units.jsonl"
    shown = go(Log(path, QUICK), UNITS[:2], workers=1)
    assert "outcome/1/0.001: accuracy 0.100, 1 CPU-s" in shown
    assert "2/2" in shown
    again = go(Log(path, QUICK), UNITS, workers=1)
    assert "outcome/1" not in again
    assert "outcome/3" in again
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["unit"] for line in lines] == [unit.key for unit in UNITS]
    assert all(line["settings"] == QUICK.digest("outcome") and line["date"] for line in lines)


def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers in this process: spawned ones load torch and TRL anew."""
    monkeypatch.setattr(campaign, "processes", ThreadPoolExecutor)


def test_two_workers_do_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_threads(monkeypatch)
    log = Log(tmp_path / "units.jsonl", QUICK)
    go(log, UNITS, workers=2)
    accuracies = {key: entry["evaluation"]["sampled"]["accuracy"] for key, entry in log.done.items()}
    assert accuracies == {unit.key: unit.seed / 10 for unit in UNITS}, "each result under its own unit"


@pytest.mark.soak
def test_two_processes_do_the_same(tmp_path: Path) -> None:
    log = Log(tmp_path / "units.jsonl", QUICK)
    go(log, UNITS, workers=2)
    assert set(log.done) == {unit.key for unit in UNITS}


def test_what_runs_beside_a_failing_unit_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_threads(monkeypatch)
    log = Log(tmp_path / "units.jsonl", QUICK)
    with pytest.raises(RuntimeError, match="no seed nine") as caught:
        go(log, [UNITS[0], Unit("outcome", 9, 1e-3), *UNITS[1:]], workers=2)
    assert UNITS[0].key in log.done
    assert "in unit outcome/9/0.001" in caught.value.__notes__[0]


def test_what_a_failing_unit_leaves(tmp_path: Path) -> None:
    path = tmp_path / "units.jsonl"
    with pytest.raises(RuntimeError, match="no seed nine"):
        go(Log(path, QUICK), [UNITS[0], Unit("outcome", 9, 1e-3), UNITS[1]], workers=1)
    assert list(Log(path, QUICK).done) == [UNITS[0].key]


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "units.jsonl"
    go(Log(path, QUICK), UNITS[:2], workers=1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    log = Log(path, QUICK)
    assert list(log.done) == [UNITS[0].key]
    go(log, UNITS[:2], workers=1)
    assert list(Log(path, QUICK).done) == [unit.key for unit in UNITS[:2]]


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "units.jsonl"
    go(Log(path, QUICK), UNITS[:1], workers=1)
    path.write_text(path.read_text() + "[1]\n")
    with pytest.raises(DataError, match=r"units\.jsonl, line 2: expected an object with 'unit'.*delete the line"):
        Log(path, QUICK)


def test_other_settings_are_another_run(tmp_path: Path) -> None:
    path = tmp_path / "units.jsonl"
    go(Log(path, QUICK), UNITS[:1], workers=1)
    assert Log(path, dataclasses.replace(QUICK, seeds=(1, 2, 3, 4))).done, "more seeds: the same units"
    assert not Log(path, dataclasses.replace(QUICK, tokens=1)).done
    assert FULL.digest("sft") == dataclasses.replace(FULL, tokens=1).digest("sft"), "the first training generates none"
