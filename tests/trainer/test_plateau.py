"""The rules of early stopping on simulated runs: as many seeds as seconds allow; docs/training.md has 200 of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="needs numpy: pip install markscheme[train]")

from markscheme.benchmarks import early_stopping as study
from markscheme.trainer import plateau


def test_the_page_has_the_figures() -> None:
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    rising = [line for line in page.splitlines() if line.startswith("| rises")]
    assert len(rising) >= 6 and all(line.endswith("| never |") for line in rising)


def stops(shape: str, steps: int, runs: int, **noise: float) -> list[int | None]:
    return [study.stopped_at(plateau.SlopeRule(), study.rewards(shape, steps, seed, **noise)) for seed in range(runs)]


@pytest.mark.parametrize(("steps", "runs"), [(150, 24), (300, 24), (1000, 8)])
@pytest.mark.parametrize("noise", [{"prompts": 16}, {"prompts": 128}, {"correlation": 0.5}], ids=str)
def test_a_rising_run_is_never_stopped(steps: int, runs: int, noise: dict[str, float]) -> None:
    """From 0.6 to 0.9, noisy, very noisy, and with noise that wanders."""
    assert stops("rising", steps, runs, **noise) == [None] * runs


@pytest.mark.parametrize(("prompts", "within"), [(128, 240), (32, 360), (16, 460)])
def test_a_plateau_is_stopped_within_so_many_steps(prompts: int, within: int) -> None:
    found = stops("plateau", within, 16, prompts=prompts)
    assert None not in found
    assert min(step for step in found if step) > 54, "not before the warm-up and the patience"


def test_a_wandering_plateau_is_stopped_too() -> None:
    assert None not in stops("plateau", 800, 8, correlation=0.5)


def test_a_falling_run_is_stopped_early() -> None:
    assert None not in stops("falling", 200, 16)


def test_a_saturating_run_is_stopped_only_when_little_is_left() -> None:
    """Its slope is below 0.1 % in 5 steps from step 426 of 1000."""
    found = stops("saturating", 1000, 8)
    assert all(step is not None and 426 < step < 900 for step in found)


@pytest.mark.parametrize("steps", [150, 300, 1000])
def test_the_literal_rule_stops_rising_runs_at_once(steps: int) -> None:
    """Its fault, measured."""
    at = [study.stopped_at(plateau.LiteralRule(), study.rewards("rising", steps, seed)) for seed in range(40)]
    found = sorted(step for step in at if step is not None)
    assert len(found) == 40
    assert found[20] <= 10
    warm = [
        study.stopped_at(plateau.LiteralRule(warmup=50), study.rewards("rising", steps, seed)) for seed in range(40)
    ]
    assert sum(step is not None for step in warm) >= 36, "a warm-up alone does not mend it"


def test_the_literal_rule_by_hand() -> None:
    rule = plateau.LiteralRule(min_improvement=0.1, patience=2, alpha=0.5)
    # m: .5, 1.25, 2.125, 2.5625 … over 1 - α^t: averages 1, 5/3, 2.4286, 2.7333, 2.8710
    assert [rule.observe(x) for x in (1.0, 2.0, 3.0, 3.0, 3.0)] == [None] * 5
    assert rule.observe(3.0) == "plateau"
    assert "went from 2.733 to 2.937 over the last 2 observations, where 10.00% is asked for" in rule.explain()


def test_no_noise_at_all() -> None:
    rule = plateau.SlopeRule()
    assert [rule.observe(0.75) for _ in range(54)] == [None] * 54
    assert rule.observe(0.75) == "plateau", "the fifth observation after the warm-up of 50"
    rising = plateau.SlopeRule()
    assert {rising.observe(0.5 + 0.001 * step) for step in range(500)} == {None}
    falling = plateau.SlopeRule()
    assert [falling.observe(0.9 - 0.001 * step) for step in range(55)][-1] == "falling"


def test_rewards_about_zero_need_a_scale() -> None:
    """Of a level of zero every percentage is nothing, so that a plateau there is never below it."""
    rewards = [0.001 * (-1) ** step for step in range(200)]
    assert {plateau.SlopeRule().observe(r) for r in rewards} == {None}
    assert study.stopped_at(plateau.SlopeRule(scale=1.0), rewards) is not None


def test_the_figures_are_told() -> None:
    rule = plateau.SlopeRule()
    assert rule.explain() == "0 observations are too few for a window"
    for reward in study.rewards("plateau", 400, 0):
        if rule.observe(float(reward)):
            break
    assert rule.trend is not None
    assert rule.trend.upper < rule.trend.least
    assert f"over the last {rule.trend.window} observations (mean 0.7" in rule.explain()
    assert "at 99.0% confidence, where 0.10% in 5 observations is" in rule.explain()


@pytest.mark.parametrize("make", [plateau.SlopeRule, plateau.LiteralRule], ids=lambda rule: rule.__name__)
def test_memory_goes_through_json_and_goes_on_alike(make: type) -> None:
    run = study.rewards("plateau", 500, 3)
    whole = study.stopped_at(make(), run)
    assert whole is not None
    for cut in (1, 3, whole - 1):
        first, second = make(), make()
        assert [first.observe(float(r)) for r in run[:cut]] == [None] * cut
        second.recall(json.loads(json.dumps(first.memory())))
        assert study.stopped_at(second, run[cut:]) == whole - cut


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_improvement": 0}, "min_improvement > 0, a fraction such as 0.001"),
        ({"patience": 0}, "patience >= 1 and warmup >= 0"),
        ({"confidence": 0.5}, "0.5 < confidence < 1"),
        ({"min_window": 4}, "8 <= min_window <= max_window"),
        ({"max_window": 10}, "8 <= min_window <= max_window"),
        ({"scale": 0.0}, "a scale above 0, such as the rewards' range"),
    ],
)
def test_settings_out_of_range(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plateau.SlopeRule(**settings)
