"""Fitting a calibrator and a threshold to a judge, and saying what they change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.cli.terminal import console, safe, table
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from markscheme.cli.prm.calibrate import Method
    from markscheme.cli.prm.judges import Judging
    from markscheme.prm.calibration import Calibrator
    from markscheme.prm.load import Loaded
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
    """What was fitted, and on what.

    Attributes:
        calibrator: of scores.
        threshold: of calibrated scores, where one was chosen.
        was: the judge's threshold until now, of scores before calibration.
        fitted_on: the set that fitted both.
        test: a set that fitted nothing.
    """

    calibrator: Calibrator | None
    threshold: Threshold | None
    was: float
    fitted_on: Scored
    test: Scored | None = None

    @property
    def value(self) -> float:
        """The threshold of calibrated scores: the chosen one, or what the judge's own has become."""
        return _applied(self.calibrator, self.was) if self.threshold is None else self.threshold.value

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
        after = _figures(one.samples, one.after, self.value)
        return {"before": _figures(one.samples, one.before, self.was), "after": after}


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
        require_both_groups(_told(loaded[0].samples, judging), loaded[0].name)
    scores, was = judging.uncalibrated([sample for one in loaded for sample in one.samples])
    held, rest = [], iter(enumerate(scores))
    for one in loaded:
        own = islice(rest, len(one.samples))
        pairs = [(a, found) for a, (row, found) in zip(one.samples, own, strict=True) if row not in judging.failed]
        held.append(Scored(one.name, [sample for sample, _ in pairs], [found for _, found in pairs]))
    _note(judging, loaded, held)
    found, targets, _ = step_pairs(held[0].samples, held[0].before)
    calibrator: Calibrator | None = None
    if method == "temperature":
        calibrator = fit_temperature(found, targets, held[0].name)
    elif method == "isotonic":
        calibrator = fit_isotonic(found, targets, held[0].name)
    for scored in held:
        scored.after = [[_applied(calibrator, value) for value in row] for row in scored.before]
    chosen = None
    if choose:
        told = _told(held[0].samples, judging)
        kept = {id(sample) for sample in told}
        after = [row for sample, row in zip(held[0].samples, held[0].after, strict=True) if id(sample) in kept]
        chosen = choose_threshold(told, after, held[0].name)
    return Fitted(calibrator, chosen, was, held[0], held[1] if test is not None else None)


def _told(samples: Sequence[StepSample], judging: Judging) -> list[StepSample]:
    """The solutions that a threshold can be chosen on: where rows are to be skipped, those with a known first error."""
    return [sample for sample in samples if judging.on_bad == "error" or sample.first_error is not None]


def _note(judging: Judging, loaded: Sequence[Loaded], held: Sequence[Scored]) -> None:
    """Say what was left out, what has no score, and what the two sets have in common."""
    from markscheme.prm.metrics import contamination

    for one in loaded:
        if one.skipped:
            row, _, why = one.skipped[0]
            judging.notes.append(
                f"{one.name}: left out {len(one.skipped)} of {one.rows} bad rows, such as row {row}: {why}"
            )
    if judging.failed:
        row, why = next(iter(sorted(judging.failed.items())))
        place = [sample.place for one in loaded for sample in one.samples][row] or f"row {row}"
        judging.notes.append(
            f"{len(judging.failed)} solutions cannot be laid out and are left out, such as {place}: {why}"
        )
    unknown = len(held[0].samples) - len(_told(held[0].samples, judging))
    if unknown:
        judging.notes.append(f"{held[0].name}: {unknown} solutions' first error is not known: they choose no threshold")
    for scored in held:
        found = zip(scored.samples, scored.before, strict=True)
        unscored = sum(len(sample.steps) - sum(not math.isnan(value) for value in row) for sample, row in found)
        if unscored:
            judging.notes.append(f"{scored.name}: {unscored} steps have no score: they are beyond the judge's length")
    if len(held) > 1:
        shared = contamination(*((sample.problem for sample in one.samples) for one in held)).shared
        if shared:
            judging.notes.append(
                f"{shared} problems of {held[1].name} are in {held[0].name}, which was fitted on: figures are too good"
            )


def keep(fitted: Fitted, judge: str) -> str | None:
    """Write what was fitted into a local checkpoint. Returns its folder; None where the judge is none of ours."""
    if not Path(judge, "prm_config.json").is_file():
        return None
    from markscheme.prm.checkpoints.own import update_file

    changes: dict[str, Any] = {
        "calibration": None if fitted.calibrator is None else fitted.calibrator.model_dump(mode="json"),
        "threshold": fitted.value,
    }
    if fitted.threshold is not None:
        changes["threshold_source"] = fitted.threshold.data
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
