"""Hostile results cost the judge's own process little: all that the benchmark measures, of a size that is soon made."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from markscheme.benchmarks.speed import results
from markscheme.benchmarks.speed.results import (
    MOST_MIB,
    RESULTS,
    WAYS,
    Cost,
    judge_at,
    main,
    measure,
    over,
    print_table,
)
from markscheme.verifiers.code import CodeVerifier
from markscheme.verifiers.code.sandbox import capabilities

CPU_MS = 150.0  # three times the benchmark's bound: a busy host makes all dearer, by half
TRIES = 3  # the least counts: other threads of the process that tests run in are measured with it


@pytest.fixture(scope="module", params=[3, 2])
def judge(request: pytest.FixtureRequest) -> Iterator[CodeVerifier]:
    if request.param > capabilities().level:
        pytest.skip(f"this host gives level {capabilities().level}")
    with judge_at(request.param) as made:
        yield made


@pytest.mark.parametrize("name", RESULTS)
def test_hostile_results(judge: CodeVerifier, name: str) -> None:
    for way in WAYS:
        for judged in ("calls", "tests"):
            for _ in range(TRIES):
                cost = measure(judge, name, way, judged, 1.0 if way == "frame" else 0.03)  # type: ignore[arg-type]
                if cost.cpu_ms < CPU_MS:
                    break
            assert cost.outcome == "incorrect", cost
            assert cost.mib < MOST_MIB, cost
            assert cost.cpu_ms < CPU_MS, cost


def test_the_table_marks_what_is_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    costs = [
        Cost(3, "a", "returned", "calls", 1.0, 2.0, "incorrect"),
        Cost(3, "b", "frame", "tests", 51.0, 0.0, "incorrect"),
    ]
    assert [over(one) for one in costs] == [False, True]
    assert over(costs[0]._replace(mib=64.0)) and over(costs[0]._replace(outcome="correct"))
    out = io.StringIO()
    print_table(costs, Console(file=out, width=120))
    assert "1 of 2 over the bounds" in out.getvalue() and out.getvalue().count("OVER") == 1
    for found, status in ((costs, 1), (costs[:1], 0), ([], 2)):
        monkeypatch.setattr(results, "run", lambda size, found=found: found)
        assert main(["--size", "0.5", "--json", str(tmp_path / "out.json")]) == status
    assert json.loads((tmp_path / "out.json").read_text())[0]["name"] == "a"
    with pytest.raises(SystemExit):
        main(["--size", "2"])
