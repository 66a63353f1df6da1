"""Intervals over a few seeds."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
from markscheme.benchmarks.learning.intervals import bootstrap, sign_flip_p, student_quantile  # noqa: E402

pytestmark = pytest.mark.train


@pytest.mark.parametrize(
    ("p", "freedom", "table"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.30265),
        (0.975, 7, 2.36462),
        (0.95, 4, 2.13185),
        (0.995, 30, 2.75000),
        (0.5, 3, 0),
    ],
)
def test_quantiles_are_those_of_the_tables(p: float, freedom: int, table: float) -> None:
    assert student_quantile(p, freedom) == pytest.approx(table, rel=1e-5, abs=1e-9)


def test_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    # 400 samples of 8: coverage has a standard error of 1.1 points; the plain percentile interval has 89 to 91 %.
    drawn = torch.randn(400, 8, generator=torch.Generator().manual_seed(4), dtype=torch.float64) * 3 + 5
    ends = [bootstrap(row, resamples=2000, seed=at) for at, row in enumerate(drawn.tolist())]
    covered = sum(low <= 5 <= high for _, low, high in ends) / len(ends)
    assert 0.925 <= covered <= 0.975
    assert ends[0].mean == pytest.approx(drawn[0].mean().item())


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert bootstrap([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5)


def test_pairing_is_what_makes_the_difference_sharp() -> None:
    base = [0.1, 0.5, 0.9, 0.3, 0.7]
    better = [value + 0.05 for value in base]
    low = bootstrap([a - b for a, b in zip(better, base, strict=True)]).low
    assert low == pytest.approx(0.05)
    assert bootstrap(better).low < bootstrap(base).high


def test_sign_flips_by_hand() -> None:
    assert sign_flip_p([1.0] * 8) == 2 / 256
    assert sign_flip_p([1.0, -1.0]) == 1.0
    assert sign_flip_p([3.0, 2.0, -1.0]) == 4 / 8  # |sum| >= 4: (+++) 6, (++-) 4, and their mirrors
    assert sign_flip_p([0.0, 0.0]) == 1.0


def test_too_few_values_are_named() -> None:
    with pytest.raises(ValueError, match="at least 2 values, got 1"):
        bootstrap([1.0])
    with pytest.raises(ValueError, match="1 to 16 differences, got 17"):
        sign_flip_p([1.0] * 17)
    with pytest.raises(ValueError, match=r"freedom >= 1, got p=0\.3"):
        student_quantile(0.3, 4)
