from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import profiles  # noqa: F401 - sets how many examples are drawn
from markscheme.prm.calibration import (
    Isotonic,
    Temperature,
    before_calibration,
    calibrator,
    fit_isotonic,
    fit_temperature,
    reliability_plot,
)
from markscheme.prm.metrics import auc, ece
from markscheme.verifiers.errors import DataError

pairs = st.lists(
    st.tuples(st.floats(0, 1, allow_subnormal=False), st.sampled_from([0.0, 0.25, 1.0])), min_size=2, max_size=15
).filter(lambda rows: len({t for _, t in rows}) > 1)


def overconfident(temperature: float, n: int = 4000) -> tuple[list[float], list[float]]:
    """Scores whose log-odds are a known factor too large, and labels drawn from the true chances."""
    source = random.Random(3)
    logits = [source.gauss(0.5, 1.5) for _ in range(n)]
    targets = [float(source.random() < 1 / (1 + math.exp(-z))) for z in logits]
    return [1 / (1 + math.exp(-z * temperature)) for z in logits], targets


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_a_known_temperature_is_found(temperature: float) -> None:
    scores, targets = overconfident(temperature)
    found = fit_temperature(scores, targets, "set")
    assert found.temperature == pytest.approx(temperature, rel=0.1)
    assert (found.data, found.n) == ("set", 4000)
    after = [found.apply(score) for score in scores]
    before, now = ece(scores, targets), ece(after, targets)
    assert before is not None
    assert now is not None
    assert now < 0.03
    assert now <= before + 0.005
    right = [target == 1 for target in targets]
    assert auc(after, right) == pytest.approx(auc(scores, right))


def loss(scores: list[float], targets: list[float], temperature: float) -> float:
    calibrated = [Temperature(temperature=temperature).apply(score) for score in scores]
    return -math.fsum(
        t * math.log(max(p, 1e-300)) + (1 - t) * math.log(max(1 - p, 1e-300))
        for p, t in zip(calibrated, targets, strict=True)
    )


@given(pairs)
def test_no_temperature_nearby_is_likelier(rows: list[tuple[float, float]]) -> None:
    scores, targets = [s for s, _ in rows], [t for _, t in rows]
    if all(score == 0.5 for score in scores):
        with pytest.raises(DataError, match=r"every score is 0\.5"):
            fit_temperature(scores, targets, "set")
        return
    best = fit_temperature(scores, targets, "set").temperature
    assert 0.0099 <= best <= 100.1
    for factor in (0.8, 0.95, 1.05, 1.25):
        if 0.01 <= best * factor <= 100:
            assert loss(scores, targets, best) <= loss(scores, targets, best * factor) + 1e-6


@given(pairs)
def test_isotonic_regression_is_the_max_min_formula(rows: list[tuple[float, float]]) -> None:
    """The fitted value is max over starts of min over ends of the mean between them (Barlow et al. 1972)."""
    scores, targets = [s for s, _ in rows], [t for _, t in rows]
    found = fit_isotonic(scores, targets, "set")
    levels = sorted(set(scores))
    own = [[t for s, t in rows if s == level] for level in levels]

    def mean(start: int, stop: int) -> float:
        held = [t for level in own[start : stop + 1] for t in level]
        return sum(held) / len(held)

    for i, level in enumerate(levels):
        wanted = max(min(mean(start, stop) for stop in range(i, len(levels))) for start in range(i + 1))
        assert found.apply(level) == pytest.approx(wanted)
    probes = [found.apply(k / 50) for k in range(51)]
    assert probes == sorted(probes)
    assert math.isnan(found.apply(math.nan))


def test_isotonic_against_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    scores, targets = overconfident(2.0, 500)
    found = fit_isotonic(scores, targets, "set")
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    wanted = optimize.isotonic_regression([targets[i] for i in order]).x
    assert [found.apply(scores[i]) for i in order] == pytest.approx(list(wanted))


def test_calibrators_survive_json() -> None:
    for made in (
        Temperature(temperature=1.5, data="d", n=3),
        fit_isotonic([0.1, 0.6, 0.8], [0, 1, 0], "d"),
    ):
        assert calibrator(json.loads(made.model_dump_json())) == made
    with pytest.raises(ValidationError, match="kind"):
        calibrator({"kind": "platt"})
    with pytest.raises(ValidationError, match="scores must increase"):
        Isotonic(scores=(0.2, 0.1), values=(0.0, 1.0))
    with pytest.raises(ValidationError, match="values must not decrease"):
        Isotonic(scores=(0.1, 0.2), values=(1.0, 0.0))
    with pytest.raises(ValidationError, match="one value a score"):
        Isotonic(scores=(0.1, 0.2), values=(1.0,))


def test_between_and_outside_its_points_isotonic_is_linear_and_constant() -> None:
    made = Isotonic(scores=(0.2, 0.6), values=(0.1, 0.5))
    assert [made.apply(s) for s in (0.0, 0.2, 0.4, 0.6, 1.0)] == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.5])


@pytest.mark.parametrize(
    ("scores", "targets", "said"),
    [
        ([], [], "set: there are no labelled steps: right and wrong steps are needed"),
        ([0.1, 0.2], [1, 1], "set: all 2 targets are 1: right and wrong steps are needed"),
        ([0.1], [1, 0], "set: expected one target a score: 1 scores, 2 targets"),
        ([0.1, math.nan], [1, 0], r"set: the score nan is not in \[0, 1\]; leave out steps without one"),
        ([0.1, 0.2], [1, -1], r"set: the target -1 is not in \[0, 1\]"),
    ],
)
@pytest.mark.parametrize("fit", [fit_temperature, fit_isotonic])
def test_what_cannot_be_fitted_on_is_named(fit: object, scores: list[float], targets: list[float], said: str) -> None:
    with pytest.raises(DataError, match=said):
        fit(scores, targets, "set")  # type: ignore[operator]


def test_a_reliability_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scores, targets = overconfident(3.0, 300)
    path = tmp_path / "plot.png"
    reliability_plot({"before": (scores, targets), "after": (scores, targets)}, path)
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(content[i : i + 4]) for i in (16, 20))
    assert width > 1.9 * height
    with pytest.raises(DataError, match="curve 'none' has no steps"):
        reliability_plot({"none": ([], [])}, path)


@given(st.floats(0, 1), st.floats(0.05, 20), st.lists(st.floats(0, 1), max_size=20))
def test_a_threshold_before_calibration_flags_what_it_flags_after(
    threshold: float, temperature: float, scores: list[float]
) -> None:
    for one in (Temperature(temperature=temperature), Isotonic(scores=(0.2, 0.5, 0.9), values=(0.1, 0.1, 0.8))):
        before = before_calibration(one, threshold)
        for score in scores:
            if abs(score - before) > 1e-12 and score < 1:
                assert (score < before) == (one.apply(score) < threshold)
    assert before_calibration(None, threshold) == threshold
