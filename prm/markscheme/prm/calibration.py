"""Making scores mean what they say, and choosing the threshold below which a step counts as wrong.

Both are fitted on a named set, which the result keeps, because a figure taken on the set that chose its threshold is an
upper bound and no measurement.

Isotonic regression is the pool-adjacent-violators algorithm, written out: a dozen exact lines, where SciPy's or
scikit-learn's would be a dependency that nothing else here has, also for whoever only serves a calibrated judge.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from markscheme.prm.metrics.steps import BINS, ece, reliability
from markscheme.verifiers.errors import DataError, MissingExtraError

_EPS = 1e-6
"""Scores are kept this far from 0 and 1 before their log-odds are taken."""
_T_RANGE = (0.01, 100.0)


class Temperature(BaseModel):
    """Temperature scaling: σ(logit(p) / T) (Guo et al. 2017, 1706.04599). Keeps the order of scores.

    Attributes:
        temperature: above 1 when scores were too sure of themselves.
        data: the set it was fitted on.
        n: steps of it.
    """

    model_config = ConfigDict(frozen=True)
    kind: Literal["temperature"] = "temperature"
    temperature: float = Field(gt=0)
    data: str = ""
    n: int = 0

    def apply(self, score: float) -> float:
        """Calibrate one score. NaN stays NaN."""
        return score if math.isnan(score) else _sigmoid(_logit(score) / self.temperature)


class Isotonic(BaseModel):
    """Isotonic regression: the non-decreasing function closest to the targets (Zadrozny and Elkan 2002).

    Between its points it is linear, outside them constant; scores on one level tie, so it can lower the AUC.

    Attributes:
        scores: strictly increasing.
        values: what each becomes, non-decreasing.
        data: the set it was fitted on.
        n: steps of it.
    """

    model_config = ConfigDict(frozen=True)
    kind: Literal["isotonic"] = "isotonic"
    scores: tuple[float, ...] = Field(min_length=1)
    values: tuple[float, ...]
    data: str = ""
    n: int = 0

    @model_validator(mode="after")
    def _in_order(self) -> Isotonic:
        if len(self.scores) != len(self.values):
            raise ValueError(f"expected one value a score: {len(self.scores)} scores, {len(self.values)} values")
        if any(a >= b for a, b in zip(self.scores, self.scores[1:], strict=False)):
            raise ValueError("scores must increase")
        if any(a > b for a, b in zip(self.values, self.values[1:], strict=False)):
            raise ValueError("values must not decrease")
        return self

    def apply(self, score: float) -> float:
        """Calibrate one score. NaN stays NaN."""
        if math.isnan(score):
            return score
        place = bisect.bisect_left(self.scores, score)
        if place == len(self.scores):
            return self.values[-1]
        if place == 0 or self.scores[place] == score:
            return self.values[place]
        low, high = self.scores[place - 1], self.scores[place]
        share = (score - low) / (high - low)
        return self.values[place - 1] + share * (self.values[place] - self.values[place - 1])


Calibrator = Temperature | Isotonic
_CALIBRATOR: TypeAdapter[Calibrator] = TypeAdapter(Annotated[Calibrator, Field(discriminator="kind")])


def calibrator(saved: object) -> Calibrator:
    """Build a calibrator from what its ``model_dump`` gave, as read back from JSON."""
    return _CALIBRATOR.validate_python(saved)


def before_calibration(calibrator: Calibrator | None, threshold: float) -> float:
    """Return the threshold on scores that are not calibrated yet which flags what ``threshold`` flags after it.

    It is the smallest score whose calibrated value is not below ``threshold``; 1 where there is none.
    """
    if calibrator is None:
        return threshold
    low, high = 0.0, 1.0
    if calibrator.apply(low) >= threshold:
        return low
    while high - low > 1e-15:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if calibrator.apply(middle) >= threshold else (middle, high)
    return high


def fit_temperature(scores: Sequence[float], targets: Sequence[float], data: str) -> Temperature:
    """Fit a temperature by maximum likelihood; soft targets count as shares.

    The loss Σ softplus(βz) - tβz is convex in β = 1/T, so the zero of its slope is bisected.

    Args:
        scores: of steps, in [0, 1].
        targets: of the same steps.
        data: the set's name.

    Raises:
        DataError: nothing to fit, targets of one class alone, or scores that are all one half.
    """
    _fittable(scores, targets, data)
    logits = [_logit(score) for score in scores]
    if not any(logits):
        raise DataError(f"{data}: every score is 0.5: no temperature changes them")

    def slope(beta: float) -> float:
        return math.fsum((_sigmoid(beta * z) - t) * z for z, t in zip(logits, targets, strict=True))

    low, high = 1 / _T_RANGE[1], 1 / _T_RANGE[0]
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return Temperature(temperature=1 / math.sqrt(low * high), data=data, n=len(scores))


def fit_isotonic(scores: Sequence[float], targets: Sequence[float], data: str) -> Isotonic:
    """Fit isotonic regression by pooling adjacent violators. Arguments and errors as `fit_temperature`."""
    _fittable(scores, targets, data)
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    blocks: list[list[float]] = []  # of each block: the sum of its targets, how many, its lowest and highest score
    for i in order:
        if blocks and blocks[-1][3] == scores[i]:
            blocks[-1][0] += targets[i]
            blocks[-1][1] += 1
        else:
            blocks.append([targets[i], 1, scores[i], scores[i]])
    pooled: list[list[float]] = []
    for block in blocks:
        pooled.append(block)
        while len(pooled) > 1 and pooled[-2][0] * pooled[-1][1] >= pooled[-1][0] * pooled[-2][1]:
            total, n, _, high = pooled.pop()
            pooled[-1][:2] = pooled[-1][0] + total, pooled[-1][1] + n
            pooled[-1][3] = high
    points = [(edge, total / n) for total, n, low, high in pooled for edge in sorted({low, high})]
    found, values = zip(*points, strict=True)
    return Isotonic(scores=found, values=values, data=data, n=len(scores))


def reliability_plot(
    curves: dict[str, tuple[Sequence[float], Sequence[float]]], path: Path | str, *, bins: int = BINS
) -> None:
    """Draw reliability diagrams, one beside the other: the share of right steps over the mean score, bin by bin.

    Args:
        curves: scores and targets, by name ("before", "after").
        path: the image to write; its ending names the format.
        bins: of equal width.

    Raises:
        MissingExtraError: matplotlib is not installed.
        DataError: a curve without steps.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional extra
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError('a reliability plot needs matplotlib: pip install "markscheme[bench]"') from None
    figure = Figure(figsize=(4.2 * len(curves), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for place, (name, (scores, targets)) in enumerate(curves.items(), 1):
        if not scores:
            raise DataError(f"the reliability plot's curve {name!r} has no steps")
        held = [one for one in reliability(scores, targets, bins) if one.n]
        axes = figure.add_subplot(1, len(curves), place)
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        axes.bar(
            [one.low for one in held],
            [one.n / len(scores) for one in held],
            width=1 / bins,
            align="edge",
            color="0.9",
            label="share of steps",
        )
        axes.plot([one.score for one in held], [one.right for one in held], marker="o", label="right")
        error = ece(scores, targets, bins)
        axes.set(title=f"{name}: ECE {error:.3f}, {len(scores)} steps", xlabel="mean score", ylabel="share right")
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.legend(loc="upper left", frameon=False)
    figure.savefig(path)


def _fittable(scores: Sequence[float], targets: Sequence[float], data: str) -> None:
    if len(scores) != len(targets):
        raise DataError(f"{data}: expected one target a score: {len(scores)} scores, {len(targets)} targets")
    for name, values in (("score", scores), ("target", targets)):
        bad = next((value for value in values if not 0 <= value <= 1), None)
        if bad is not None:
            raise DataError(f"{data}: the {name} {bad} is not in [0, 1]; leave out steps without one")
    if not scores or min(targets) == max(targets):
        found = f"all {len(targets)} targets are {targets[0]}" if targets else "there are no labelled steps"
        raise DataError(f"{data}: {found}: right and wrong steps are needed to calibrate on")


def _logit(score: float) -> float:
    kept = min(max(score, _EPS), 1 - _EPS)
    return math.log(kept / (1 - kept))


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
