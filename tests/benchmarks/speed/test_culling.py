"""The benchmark of culling, in a tiny run that also shows what is claimed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tinytraining import MARKS

from markscheme.benchmarks.speed import culling  # isort: skip

pytestmark = MARKS


def test_half_of_the_groups_dead_cost_at_most_two_thirds() -> None:
    figures = culling.run(rounds=2, losses=["dapo"], shares=[0.5])
    (row,) = figures["rows"]
    assert row["ratio"] <= 0.65
    assert row["choosing_cpu_ms"] <= 0.03 * row["trl_cpu_ms"]  # all that a batch without dead rows costs more
    assert row["gradient_difference"] <= 1e-6 < row["gradient_size"]
    out = io.StringIO()
    culling.print_table(figures, Console(file=out, width=120))
    assert "dapo" in out.getvalue() and "50%" in out.getvalue()


@pytest.mark.parametrize("share", culling.SHARES)
def test_the_batch_has_the_share_asked_for(share: float) -> None:
    advantages = culling.make_batch(share)["advantages"]
    assert (advantages == 0).float().mean() == share


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"loss": "grpo", "dead": 0.5, "trl_cpu_ms": 2.0, "ours_cpu_ms": 1.0, "ratio": 0.5, "choosing_cpu_ms": 0.1}
    figures = {"rows": [{**row, "gradient_difference": 1e-9, "gradient_size": 1e-2}]}
    monkeypatch.setattr(culling, "run", lambda rounds: {**figures, "rounds": rounds})
    assert culling.main(["--rounds", "3", "--json", str(tmp_path / "a" / "out.json")]) == 0
    assert json.loads((tmp_path / "a" / "out.json").read_text())["rounds"] == 3
    assert "0.500" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        culling.main(["--rounds", "0"])
    assert "--rounds must be at least 1, not 0" in capsys.readouterr().err
