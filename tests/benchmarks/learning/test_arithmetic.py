"""The learning run in its quick form: every arm, the files, and their figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs TRL: pip install markscheme[train]")
pytest.importorskip("matplotlib", reason="needs matplotlib: pip install markscheme[bench]")

from markscheme.benchmarks.learning.arithmetic import main
from markscheme.benchmarks.learning.arms import ARMS, BY_NAME, PROBES
from markscheme.benchmarks.learning.campaign import Log
from markscheme.benchmarks.learning.intervals import bootstrap
from markscheme.benchmarks.learning.report import chosen_rates, report
from markscheme.benchmarks.learning.settings import QUICK

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished quick run."""
    folder = tmp_path_factory.mktemp("learning")
    assert main(["--quick", "--workers", "1", "--work", str(folder)]) == 0
    return folder


def units(work: Path) -> dict[str, dict[str, Any]]:
    return Log(work / "units.jsonl", QUICK).done


def test_every_arm_runs_at_its_rate_on_every_seed(work: Path) -> None:
    done = units(work)
    rates = chosen_rates(done, QUICK)
    assert set(rates.values()) <= set(QUICK.rates)
    wanted = {f"sft/{seed}" for seed in QUICK.policies}
    for arm in (*ARMS, *PROBES):
        if arm.trained:
            seeds = QUICK.seeds if arm in ARMS else QUICK.seeds[: QUICK.probe_seeds]
            wanted |= {f"{arm.name}/{seed}/{rates[arm.probes or arm.name]:g}" for seed in seeds}
            if arm in ARMS:
                wanted |= {f"{arm.name}/{QUICK.tune_seeds[0]}/{rate:g}" for rate in QUICK.rates}
    assert set(done) == wanted


def test_arms_spend_the_same_tokens_and_start_alike(work: Path) -> None:
    done = units(work)
    most = QUICK.prompts * QUICK.group * QUICK.limit
    spent = [one["tokens"] for key, one in done.items() if not key.startswith("sft")]
    assert all(QUICK.tokens <= tokens < QUICK.tokens + most for tokens in spent)
    for seed in QUICK.seeds:
        first = [one["curve"][0] for one in done.values() if one["seed"] == seed and "curve" in one]
        assert len(first) >= 8
        assert all(point == first[0] for point in first), "paired: the first generation is the same in all arms"


def test_updates_change_the_policy(work: Path) -> None:
    rejection = [one for key, one in units(work).items() if key.startswith("rejection")]
    assert all(one["sampled"] % (QUICK.prompts * QUICK.group) == 0 for one in rejection)
    grpo = [one for one in units(work).values() if BY_NAME[one["arm"]].kind == "grpo"]
    assert all(one["updates"] == len(one["curve"]) >= 1 for one in grpo)
    counted = [sum(sum(sides.values()) for sides in one["signs"].values()) for one in grpo]
    assert min(counted) > 0


def test_the_files_hold_the_figures_of_the_units(work: Path) -> None:
    figures = json.loads((work / "arithmetic.json").read_text())
    assert (work / "arithmetic.png").read_bytes().startswith(b"\x89PNG")
    page = (work / "arithmetic.md").read_text()
    done, rates = units(work), figures["rates"]
    for arm in ARMS:
        row = figures["arms"][arm.name]
        assert f"| {arm.name} |" in page
        if arm.trained:
            own = [done[f"{arm.name}/{seed}/{rates[arm.name]:g}"] for seed in QUICK.seeds]
            values = [one["evaluation"]["sampled"]["accuracy"] for one in own]
            assert row["sampled"]["accuracy"]["values"] == values
            assert row["sampled"]["accuracy"]["interval"] == pytest.approx(list(bootstrap(values)))
        if arm.name != "outcome":
            pairs = zip(row["sampled"]["accuracy"]["values"], outcome(figures), strict=True)
            mean = sum(a - b for a, b in pairs) / len(QUICK.seeds)
            assert row["sampled"]["accuracy"]["difference"][0] == pytest.approx(mean)
    first = figures["contrasts"][0]
    assert first["arms"] == ["delta", "delta_shuffled"]
    values = [figures["arms"][name]["sampled"]["accuracy"]["values"] for name in first["arms"]]
    assert first["difference"][0] == pytest.approx(sum(a - b for a, b in zip(*values, strict=True)) / 2)
    assert "| delta minus delta_shuffled |" in page
    assert figures["seeds"] == [1, 2]
    assert figures["units"] == len(done)
    assert figures["command"].endswith("--quick")


def outcome(figures: dict[str, Any]) -> list[float]:
    values: list[float] = figures["arms"]["outcome"]["sampled"]["accuracy"]["values"]
    return values


def test_a_finished_run_is_reported_without_running(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (work / "units.jsonl").read_bytes()
    assert main(["--quick", "--report-only", "--work", str(work), "--out", str(work / "again")]) == 0
    assert (work / "units.jsonl").read_bytes() == before
    assert (work / "again" / "arithmetic.md").read_bytes() == (work / "arithmetic.md").read_bytes()
    shown = capsys.readouterr().out
    assert "first_error" in shown
    assert "minus outcome" in shown


def test_the_best_rate_is_chosen_and_the_smaller_of_equals(work: Path) -> None:
    done = json.loads(json.dumps(units(work)))
    for rate, accuracy in zip(QUICK.rates, (0.2, 0.4), strict=True):
        done[f"sum/101/{rate:g}"]["evaluation"]["sampled"]["accuracy"] = accuracy
        done[f"min/101/{rate:g}"]["evaluation"]["sampled"]["accuracy"] = 0.3
    assert chosen_rates(done, QUICK)["sum"] == QUICK.rates[1]
    assert chosen_rates(done, QUICK)["min"] == QUICK.rates[0]


def test_options_are_in_the_command_that_is_reported(work: Path) -> None:
    options = ["--seeds", "2", "--rates", "2e-3", "1e-3", "2e-3", "--tune-seeds", "101"]
    out = work / "options"
    assert main(["--quick", *options, "--report-only", "--work", str(work), "--out", str(out)]) == 0
    figures = json.loads((out / "arithmetic.json").read_text())
    assert figures["command"].endswith("arithmetic --quick --seeds 2 --rates 0.001 0.002 --tune-seeds 101")
    assert figures["arms"] == json.loads((work / "arithmetic.json").read_text())["arms"]


def test_units_that_the_report_does_not_rest_on_are_not_in_its_cost(work: Path) -> None:
    done = units(work)
    cost = report(done, QUICK, "c")["cpu_s"]
    done["sum/1/0.5"] = {**next(iter(done.values())), "cpu_s": 1e6}
    assert report(done, QUICK, "c")["cpu_s"] == cost


def test_only_seeds_with_every_arm_are_reported(work: Path) -> None:
    done = units(work)
    rates = chosen_rates(done, QUICK)
    done.pop(f"both/2/{rates['both']:g}")
    with pytest.raises(ValueError, match="at least 2 seeds with every arm, got 1"):
        report(done, QUICK, "c")


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--seeds", "1"])
    assert "--seeds must be 2 to 16, not 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--workers", "0"])
    assert "--workers must be at least 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--tune-seeds", "101", "3"])
    assert "--tune-seeds: 3 is a seed that is reported" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--rates", "1e-3", "0"])
    assert "--rates must be above 0, not 0" in capsys.readouterr().err
    assert main(["--quick", "--report-only", "--work", str(tmp_path)]) == 2
    assert "the run holds no unit rejection/101/0.001: run again without --report-only" in capsys.readouterr().err
