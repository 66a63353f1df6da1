"""The benchmark of completions of like length, in a tiny run that also shows what is claimed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tinytraining import MARKS

from markscheme.benchmarks.speed import lengths  # isort: skip

pytestmark = MARKS


def test_ragged_lengths_cost_less_and_give_the_same_gradient() -> None:
    figures = lengths.run(rounds=1, kinds=["grpo"], spreads=[1.0])
    (row,) = figures["rows"]
    assert row["filled"] < 0.5
    assert row["loss_ratio"] < 0.9 and row["passes_ratio"] < 0.9
    assert row["loss_difference"] <= 1e-6 < row["loss_size"]
    assert row["passes_difference"] <= 1e-5 < row["passes_size"]
    out = io.StringIO()
    lengths.print_table(figures, Console(file=out, width=140))
    assert "grpo" in out.getvalue() and f"{row['filled']:.0%}" in out.getvalue()


@pytest.mark.parametrize("spread", lengths.SPREADS)
def test_the_longest_fills_the_tensor(spread: float) -> None:
    batches = lengths.make_batches(spread)
    longest = max(int(batch["completion_mask"].sum(1).max()) for batch in batches)
    assert longest == lengths.LENGTH and len(batches) == lengths.STEPS


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = dict.fromkeys((f"{of}_{what}" for of in ("loss", "passes") for what in ("trl_cpu_ms", "ratio")), 0.5)
    row |= {"filled": 0.25, "loss_difference": 1e-9, "loss_size": 1e-2}
    monkeypatch.setattr(lengths, "run", lambda rounds: {"rounds": rounds, "rows": [{**row, "loss": "dapo"}]})
    assert lengths.main(["--rounds", "3", "--json", str(tmp_path / "a" / "out.json")]) == 0
    assert json.loads((tmp_path / "a" / "out.json").read_text())["rounds"] == 3
    assert "25%" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        lengths.main(["--rounds", "0"])
    assert "--rounds must be at least 1, not 0" in capsys.readouterr().err
