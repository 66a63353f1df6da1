from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

np = pytest.importorskip("numpy", reason="needs numpy: pip install markscheme[train]")

from markscheme.trainer import trend  # noqa: E402

REWARDS = st.lists(st.floats(-2, 2, allow_subnormal=False), min_size=8, max_size=60)


@given(REWARDS, st.floats(0, 0.99))
def test_the_average_is_the_weighted_mean_of_all_that_was_seen(rewards: list[float], alpha: float) -> None:
    ema = trend.Ema(alpha)
    for count, reward in enumerate(rewards, 1):
        value = ema.add(reward)
        weights = [alpha ** (count - i) for i in range(1, count + 1)]
        mean = sum(w * r for w, r in zip(weights, rewards, strict=False)) / sum(weights)
        assert math.isclose(value, mean, rel_tol=1e-9, abs_tol=1e-9)


def test_the_first_average_is_the_first_reward() -> None:
    ema = trend.Ema(0.9)
    assert math.isnan(ema.value)
    assert math.isclose(ema.add(0.5), 0.5)
    assert math.isclose(ema.moment, 0.05), "the uncorrected average, a tenth of it"


@pytest.mark.parametrize("alpha", [1.0, -0.1])
def test_a_weight_out_of_range(alpha: float) -> None:
    with pytest.raises(ValueError, match="0 <= alpha < 1"):
        trend.Ema(alpha)


def line_by_hand(values: list[float]) -> tuple[float, float, float]:
    """Mean, slope and standard error from numpy's polynomial fit and loops over the residuals."""
    size = len(values)
    slope, start = np.polyfit(np.arange(size), values, 1)
    residuals = [value - start - slope * i for i, value in enumerate(values)]
    squares = sum(r * r for r in residuals)
    spread = sum((i - (size - 1) / 2) ** 2 for i in range(size))
    raw = sum(a * b for a, b in pairwise(residuals)) / squares
    rho = min(max(raw + (2 + 4 * raw) / size, 0.0), 0.95)
    return sum(values) / size, slope, math.sqrt(squares / (size - 2) / spread * (1 + rho) / (1 - rho))


@given(REWARDS)
def test_every_window_agrees_with_a_fit_by_hand(rewards: list[float]) -> None:
    windows = np.array(sorted({8, len(rewards) // 2, len(rewards)} - set(range(8))))
    lines = trend.fit(np.array(rewards), windows)
    for at, window in enumerate(windows):
        values = rewards[-int(window) :]
        if np.ptp(np.array(values) - np.polyval(np.polyfit(range(len(values)), values, 1), range(len(values)))) < 1e-6:
            assert lines.errors[at] < 1e-6, "an exact line: the correlation of nothing is not defined"
            continue
        level, slope, error = line_by_hand(values)
        assert math.isclose(lines.levels[at], level, rel_tol=1e-7, abs_tol=1e-7)
        assert math.isclose(lines.slopes[at], slope, rel_tol=1e-7, abs_tol=1e-7)
        assert math.isclose(lines.errors[at], error, rel_tol=1e-4, abs_tol=1e-7)


def test_correlated_noise_widens_the_error() -> None:
    rng = np.random.default_rng(0)
    white = rng.normal(0, 1, 400)
    wandering = np.convolve(white, [1, 0.8, 0.6, 0.4, 0.2])[:400]
    wandering *= white.std() / wandering.std()
    window = np.array([400])
    assert trend.fit(wandering, window).errors[0] > 1.5 * trend.fit(white, window).errors[0]


def test_a_straight_line_has_no_error() -> None:
    lines = trend.fit(0.5 + 0.01 * np.arange(50), np.array([20, 50]))
    assert np.allclose(lines.slopes, 0.01)
    assert np.all(lines.errors < 1e-8)
