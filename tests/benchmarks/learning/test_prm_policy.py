"""The run against judges: what is watched, and the whole of it in its quick form."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs TRL: pip install markscheme[train]")
pytest.importorskip("matplotlib", reason="needs matplotlib: pip install markscheme[bench]")

from markscheme.benchmarks.learning.campaign import Log
from markscheme.benchmarks.learning.hacking.arms import ARMS, BY_NAME, JUDGES, Truth
from markscheme.benchmarks.learning.hacking.report import curve, report, units_of
from markscheme.benchmarks.learning.hacking.settings import FULL, QUICK
from markscheme.benchmarks.learning.hacking.watching import JudgedMarker, compared, pairs
from markscheme.benchmarks.learning.policy import judge_ids, make_tokenizer
from markscheme.benchmarks.learning.prm_policy import main
from markscheme.benchmarks.learning.task import Problem
from markscheme.benchmarks.learning.units import Unit
from markscheme.verifiers.errors import DataError

pytestmark = pytest.mark.train

PROMPT = "7a*3b+8:"
RIGHT, FLAWED, IDLE = "7a*3=1\n1b+8=9\n#9", "7a*3=2\n2b+8=0\n#0", "7a*3=1\n1=1\n1=1\n1b+8=9\n#9"


def ids_of(text: str, *, ended: bool = True) -> list[int]:
    tokenizer = make_tokenizer()
    return [*tokenizer.encode(text), *([tokenizer.eos_token_id] if ended else [])]


def marker_of(name: str, *texts: str, ended: bool = True) -> tuple[JudgedMarker, list[list[int]]]:
    marker = JudgedMarker(make_tokenizer(), BY_NAME[name], 1, {"truth": Truth()})
    ids = [ids_of(text, ended=ended) for text in texts]
    marker.outcome([PROMPT] * len(ids), ids)
    return marker, ids


def test_a_judge_that_never_errs_says_what_the_task_says() -> None:
    assert Truth().score(PROMPT, FLAWED.split("\n")) == [0, 1, 1]
    marker, ids = marker_of("truth", RIGHT, FLAWED)
    truth = marker.steps([PROMPT] * 2, ids)
    rule = JudgedMarker(make_tokenizer(), BY_NAME["rule"], 1, {}).steps([PROMPT] * 2, ids)
    assert truth == rule == [[(6, 1.0), (13, 1.0), (16, 1.0)], [(6, 0.0), (13, 1.0), (16, 1.0)]]


def test_min_has_rewards_around_zero() -> None:
    marker = JudgedMarker(
        make_tokenizer(), dataclasses.replace(BY_NAME["montecarlo_min"], source="truth"), 1, {"truth": Truth()}
    )
    ids = [ids_of(FLAWED)]
    marker.outcome([PROMPT], ids)
    assert marker.steps([PROMPT], ids) == [[(6, -1.0), (13, 1.0), (16, 1.0)]]


def test_an_idle_line_is_paid_by_a_judge_once_and_by_the_rule_never() -> None:
    marker, ids = marker_of("truth", IDLE)
    assert [value for _, value in marker.steps([PROMPT], ids)[0]] == [1, 1, 0, 1, 1]
    assert marker.judges["truth"].figures["steps/repeated"] == pytest.approx(1 / 5)
    rule = JudgedMarker(make_tokenizer(), BY_NAME["rule"], 1, {}).steps([PROMPT], ids)
    assert [value for _, value in rule[0]] == [1, None, None, 1, 1]


def test_a_step_that_was_cut_off_is_in_no_figure() -> None:
    marker, ids = marker_of("truth", "7a*3=1\n1b+", ended=False)
    assert marker.steps([PROMPT], ids) == [[(6, 1.0)]]
    assert pairs(marker.judged, marker.given["truth"]) == ([(1.0, True)], 0)


def test_rewards_are_put_beside_the_truth_of_their_own_steps() -> None:
    judged = [judge_ids(Problem.read(PROMPT), ids_of(text), make_tokenizer()) for text in (RIGHT, FLAWED)]
    rewards: Any = [[(6, 0.9), (13, 0.8), (16, 0.7)], [(6, 0.75), (13, 0.6), (16, 0.9)]]
    found = compared(judged, rewards)
    assert found["reward"] == pytest.approx(4.65 / 6)
    assert found["truth"] == pytest.approx(5 / 6)
    assert found["wrong"] == 0.75
    assert found["right"] == pytest.approx(3.9 / 5)
    assert found["auc"] == pytest.approx(3 / 5), "0.9, 0.8 and 0.9 are above 0.75; 0.7 and 0.6 are not"
    assert found["unmatched"] == 0
    alike = compared(judged[:1], [[(6, 0.5), (13, 0.5), (16, 0.5)]])
    assert alike["correlation"] is None
    assert alike["auc"] is None
    assert compared(judged, [[(6, 0.9)], rewards[1]])["unmatched"] == 1
    assert compared(judged[:1], [None])["reward"] is None


def test_curves_pool_generations_and_keep_seeds_apart() -> None:
    settings = dataclasses.replace(QUICK, tokens=100)
    seeds: Any = [
        [{"tokens": 4, "judges": {"j": {"auc": 0.2}}}, {"tokens": 9, "judges": {"j": {"auc": 0.4}}}],
        [{"tokens": 5, "judges": {"j": {"auc": None}}}, {"tokens": 108, "judges": {"j": {"auc": 1.0}}}],
    ]
    points = curve(seeds, ("judges", "j", "auc"), settings)
    assert len(points) == 10
    assert points[0][0] == 5
    assert points[0][1] == [pytest.approx(0.3), None]
    assert points[-1] == [95, [None, 1.0]], "the update that reaches the budget goes past it"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished quick run."""
    folder = tmp_path_factory.mktemp("hacking")
    assert main(["--quick", "--workers", "1", "--work", str(folder)]) == 0
    return folder


def test_every_arm_runs_and_meets_the_same_first_generation(work: Path) -> None:
    done = Log(work / "units.jsonl", QUICK).done
    assert set(done) == {unit.key for seed in QUICK.seeds for unit in units_of(seed)}
    first = [one["curve"][0] for one in done.values() if "curve" in one]
    assert len(first) == len(ARMS)
    assert all(point == first[0] for point in first), "paired: policy, problems and judges are the same"
    most = QUICK.prompts * QUICK.group * QUICK.limit
    assert all(QUICK.tokens <= one["tokens"] < QUICK.tokens + most for one in done.values() if "curve" in one)


def test_the_files_hold_the_figures_of_the_units(work: Path) -> None:
    figures = json.loads((work / "prm_policy.json").read_text())
    done = Log(work / "units.jsonl", QUICK).done
    assert figures["command"] == "python -m markscheme.benchmarks.learning.prm_policy --quick"
    assert figures["cpu_s"] == round(sum(one["cpu_s"] for one in done.values()))
    for arm in ARMS:
        own = done[Unit(arm.name, 1, arm.rate).key]
        assert figures["arms"][arm.name]["sampled"]["accuracy"] == [own["evaluation"]["sampled"]["accuracy"]]
        for judge in JUDGES:
            assert figures["arms"][arm.name]["held_out"][judge]["reward"] == [own["held_out"][judge]["reward"]]
    truth = figures["before"]["held_out"]["truth"]
    assert truth["wrong"] == [0]
    assert truth["auc"] == [1]
    page = (work / "prm_policy.md").read_text()
    assert "| montecarlo_both | before |" in page
    assert "| rule / gold | before |" in page
    assert (work / "prm_policy.png").read_bytes().startswith(b"\x89PNG")


def test_a_finished_run_is_reported_without_running(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (work / "units.jsonl").read_bytes()
    assert main(["--quick", "--work", str(work), "--out", str(work / "again")]) == 0
    assert (work / "units.jsonl").read_bytes() == before
    assert (work / "again" / "prm_policy.md").read_bytes() == (work / "prm_policy.md").read_bytes()
    assert "The judge that is learnt from" in capsys.readouterr().out


def test_only_seeds_with_every_arm_are_reported(work: Path) -> None:
    done = Log(work / "units.jsonl", QUICK).done
    two = dataclasses.replace(QUICK, seeds=(1, 2))
    assert report(done, two, "c")["seeds"] == [1]
    done.pop(Unit("gold", 1, BY_NAME["gold"].rate).key)
    with pytest.raises(DataError, match="at least one seed with every arm, got none"):
        report(done, two, "c")


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--seeds", "--workers"):
        with pytest.raises(SystemExit):
            main([option, "0"])
        assert f"{option} must be at least 1, not 0" in capsys.readouterr().err
    assert main(["--quick", "--report-only", "--work", str(tmp_path)]) == 2
    assert "error: expected at least one seed with every arm" in capsys.readouterr().err


def test_more_seeds_keep_the_units_and_other_judges_do_not() -> None:
    assert FULL.digest("gold") == dataclasses.replace(FULL, seeds=(1,)).digest("gold")
    assert FULL.digest("judges") == dataclasses.replace(FULL, tokens=1).digest("judges")
    other = dataclasses.replace(FULL, judge=dataclasses.replace(FULL.judge, rollouts=4))
    assert FULL.digest("judges") != other.digest("judges")
    assert FULL.digest("gold") != other.digest("gold")
