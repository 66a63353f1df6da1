"""One forward pass a solution against one a prefix: at least four times as fast, and the same scores."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

from markscheme.benchmarks.speed import prm  # noqa: E402


def test_a_pass_a_solution_is_four_times_as_fast_as_one_a_prefix(tmp_path, capsys):
    assert prm.main(["--solutions", "2", "--json", str(tmp_path / "out.json")]) == 0
    figures = json.loads((tmp_path / "out.json").read_text())
    ours, *others = figures["ways"].values()
    assert ours["times_ours"] == 1.0
    for found in others:
        assert found["times_ours"] >= 4
        assert found["difference"] <= prm.TOLERANCE
        assert found["tokens"] > 4 * ours["tokens"]
    assert "a pass a prefix" in capsys.readouterr().out


def test_scores_that_differ_are_a_failure(monkeypatch, capsys):
    shifted = {
        **prm.WAYS,
        "a pass a prefix, batched": lambda *given: [[1.0] * 2 for _ in prm.a_pass_a_solution(*given)],
    }
    monkeypatch.setattr(prm, "WAYS", shifted)
    assert prm.main(["--solutions", "1", "--steps", "2"]) == 2
    assert "a pass a prefix, batched: scores differ from those of a pass a solution by" in capsys.readouterr().err
