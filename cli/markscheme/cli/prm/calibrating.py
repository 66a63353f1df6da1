"""Fitting a calibrator and a threshold to a judge, and saying what they change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.cli.terminal import console, safe, table
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from markscheme.cli.prm.calibrate import Method
    from markscheme.cli.prm.judges import Judging
    from markscheme.prm.calibration import Calibrator
    from markscheme.prm.schema import StepSample
    from markscheme.prm.threshold import Threshold

Scores = list[list[float]]


@dataclass(slots=True)
class Scored:
    """A set with a judge's scores before and after calibration."""

    name: str
    samples: Sequence[StepSample]
    before: Scores
    after: Scores = field(default_factory=list)


@dataclass(slots=True)
class Fitted:
    """What was fitted, and on what."""

    calibrator: Calibrator | None
    threshold: Threshold | None
    was: float
    fitted_on: Scored
    test: Scored | None = None

    def summary(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        sets = {"fitted_on": self.fitted_on} | ({"eval": self.test} if self.test is not None else {})
        chosen = self.threshold
        return {
            "calibration": None if self.calibrator is None else self.calibrator.model_dump(mode="json"),
            "threshold": None
            if chosen is None
            else {"value": chosen.value, "f1": chosen.f1, "data": chosen.data, "n": chosen.n},
            **{name: {"data": one.name, **self._measured(one)} for name, one in sets.items()},
        }

    def _measured(self, one: Scored) -> dict[str, Any]:
        new = self.was if self.threshold is None else self.threshold.value
        return {"before": _figures(one.samples, one.before, self.was), "after": _figures(one.samples, one.after, new)}


def fit(judging: Judging, data: Path, test: Path | None, method: Method, *, choose: bool) -> Fitted:
    """Score a set without calibration, and fit.

    Raises:
        DataError: labels that do not tell a threshold, or of one class alone; a file of scores with a second set.
    """
    from markscheme.prm.calibration import fit_isotonic, fit_temperature
    from markscheme.prm.load import load_samples
    from markscheme.prm.metrics.steps import step_pairs
    from markscheme.prm.threshold import choose_threshold, require_both_groups

    if test is not None and judging.is_file:
        raise DataError("--eval needs a judge that can score it: a checkpoint, not a file of scores")
    paths = [data, *([test] if test is not None else [])]
    loaded = [load_samples(path, on_bad=judging.on_bad) for path in paths]
    if choose:
        require_both_groups(loaded[0].samples, loaded[0].name)
    scores, was = judging.uncalibrated([sample for one in loaded for sample in one.samples])
    first = len(loaded[0].samples)
    held = [Scored(loaded[0].name, loaded[0].samples, scores[:first])]
    if test is not None:
        held.append(Scored(loaded[1].name, loaded[1].samples, scores[first:]))
    found, targets, _ = step_pairs(held[0].samples, held[0].before)
    calibrator: Calibrator | None = None
    if method == "temperature":
        calibrator = fit_temperature(found, targets, held[0].name)
    elif method == "isotonic":
        calibrator = fit_isotonic(found, targets, held[0].name)
    for one in held:
        one.after = [[_applied(calibrator, value) for value in row] for row in one.before]
    chosen = choose_threshold(held[0].samples, held[0].after, held[0].name) if choose else None
    return Fitted(calibrator, chosen, was, held[0], held[1] if test is not None else None)


def keep(fitted: Fitted, judge: str) -> str | None:
    """Write what was fitted into a local checkpoint. Returns its folder; None where the judge is none of ours."""
    if not Path(judge, "prm_config.json").is_file():
        return None
    from markscheme.prm.checkpoints.own import update_file

    changes: dict[str, Any] = {
        "calibration": None if fitted.calibrator is None else fitted.calibrator.model_dump(mode="json")
    }
    if fitted.threshold is not None:
        changes |= {"threshold": fitted.threshold.value, "threshold_source": fitted.threshold.data}
    update_file(judge, **changes)
    return judge


def draw(fitted: Fitted, path: Path) -> None:
    """Draw reliability, on the set that fitted nothing where there is one. Raises as `reliability_plot`."""
    from markscheme.prm.calibration import reliability_plot
    from markscheme.prm.metrics.steps import step_pairs

    one = fitted.test or fitted.fitted_on
    parts = {"before": one.before, "after": one.after}
    reliability_plot({name: step_pairs(one.samples, scores)[:2] for name, scores in parts.items()}, path)


def show(fitted: Fitted, kept: str | None, notes: Sequence[str]) -> None:
    """Print the figures before and after."""
    found = fitted.summary()
    rows = []
    for name, mark in (("fitted_on", " (fitted on)"), ("eval", "")):
        for when in ("before", "after"):
            if name in found:
                one = found[name][when]
                cells = (one["ece"], one["brier"], one["auc"], one["f1"], one["threshold"])
                rows.append((f"{found[name]['data']}{mark}, {when}", *(_cell(value) for value in cells)))
    out = console()
    out.print(table(("set", "ECE", "Brier", "AUC", "F1 %", "threshold"), rows, right=range(1, 6)))
    if fitted.calibrator is not None and fitted.calibrator.kind == "temperature":
        out.print(f"temperature {fitted.calibrator.temperature:.4g}, by {fitted.calibrator.n:,} steps", soft_wrap=True)
    said = f"kept in {kept}" if kept else "kept nowhere"
    for line in (said, "figures on the set that was fitted on are upper bounds", *notes):
        out.print(safe(line), soft_wrap=True)


def _applied(calibrator: Calibrator | None, value: float) -> float:
    return value if calibrator is None else calibrator.apply(value)


def _figures(samples: Sequence[StepSample], scores: Scores, threshold: float) -> dict[str, Any]:
    from markscheme.prm.metrics.processbench import process_bench
    from markscheme.prm.metrics.steps import step_metrics

    steps = step_metrics(samples, scores, threshold=threshold).summary()
    known = [place for place, sample in enumerate(samples) if sample.first_error is not None]
    f1 = None
    if known:
        f1 = process_bench([samples[i] for i in known], [scores[i] for i in known], threshold=threshold).f1
    return {name: steps[name] for name in ("n", "auc", "ece", "brier")} | {"f1": f1, "threshold": threshold}


def _cell(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.4g}"
