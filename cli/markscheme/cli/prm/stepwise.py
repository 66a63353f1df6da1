"""ProcessBench and PRMBench on the command line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from markscheme.cli.terminal import clip, console, safe, table
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from markscheme.cli.prm.judges import Judging
    from markscheme.prm.evaluation import BenchmarkData, JudgedSet
    from markscheme.prm.judging import Solution
    from markscheme.prm.schema import StepSample

StepBenchmark = Literal["processbench", "prmbench"]
CHECKPOINT = "checkpoint"
"""What the threshold is said to come from where it is the judge's own."""


def measure(
    judging: Judging,
    paths: Sequence[Path],
    benchmark: StepBenchmark,
    threshold: float | None,
    threshold_data: Path | None,
    train: Sequence[Path],
) -> dict[str, Any]:
    """Return the figures of a judge, ready for JSON.

    Raises:
        DataError: the data or the judge cannot be used.
        OSError: a file cannot be read.
    """
    from markscheme.prm.evaluation import LIKELIHOOD, JudgedSet, evaluate, load_benchmark, with_best_threshold
    from markscheme.prm.load import problems_of
    from markscheme.prm.metrics.scores import padded
    from markscheme.prm.threshold import require_both_groups

    if threshold is not None and threshold_data is not None:
        raise DataError("--threshold and --threshold-data exclude each other")
    data = load_benchmark(paths, benchmark, on_bad=judging.on_bad)
    chooser = load_benchmark([threshold_data], "processbench", on_bad=judging.on_bad) if threshold_data else None
    if chooser is not None:
        require_both_groups(chooser.samples, chooser.name)
    solutions = _solutions([*data.samples, *(chooser.samples if chooser else ())])
    own: float | None = None
    if judging.is_baseline:
        found = _by_baseline(judging.judge, data, chooser)
    else:
        found, own = judging.scores(solutions)
    likely = judging.likelihood(solutions, "min") if judging.policy else None
    data, chooser, found, likely = _without_failed(judging, data, chooser, found, likely)
    n = len(data.samples)
    judged = _with_threshold(JudgedSet(Path(judging.judge).name, found[:n]), threshold, own, data, chooser, found[n:])
    if judged.threshold_from == CHECKPOINT:
        judged = _with_source(judged, judging.threshold_source, data)
    judging.notes += [
        f"{name}: the judge was calibrated, or its threshold chosen, on it: its figures are too good"
        for name in dict.fromkeys(judging.fitted_on)
        if _named(name, data)
    ]
    others = []
    if likely is not None:
        by_policy = JudgedSet(LIKELIHOOD, likely[:n])
        if chooser:
            others.append(_with_threshold(by_policy, None, None, data, chooser, likely[n:]))
        else:
            others.append(with_best_threshold(by_policy, data, benchmark))
    problems = [problem for path in train for problem in problems_of(path)] if train else None
    result = evaluate(data, judged, benchmark, others=others, train=problems)
    unscored = sum(
        math.isnan(score)
        for one, scores in zip(data.samples, judged.scores, strict=True)
        for score in padded(scores, len(one.steps))
    )
    return {**result, "unscored": unscored, "unusable": len(judging.failed), "notes": judging.notes}


def _with_threshold(
    judged: JudgedSet,
    given: float | None,
    own: float | None,
    data: BenchmarkData,
    chooser: BenchmarkData | None,
    chooser_scores: Sequence[Sequence[float]],
) -> JudgedSet:
    from dataclasses import replace

    from markscheme.prm.threshold import choose_threshold

    if chooser is not None:
        chosen = choose_threshold(chooser.samples, chooser_scores, chooser.name)
        same = {sample.problem for sample in chooser.samples} & {sample.problem for sample in data.samples}
        return replace(judged, threshold=chosen.value, threshold_from=chooser.name, upper_bound=bool(same))
    if given is not None:
        return replace(judged, threshold=given, threshold_from="given")
    return judged if own is None else replace(judged, threshold=own, threshold_from=CHECKPOINT)


def _with_source(judged: JudgedSet, source: str, data: BenchmarkData) -> JudgedSet:
    """Say what chose a checkpoint's own threshold, and whether that is what is measured."""
    from dataclasses import replace

    if not source:
        return judged
    return replace(judged, threshold_from=f"{CHECKPOINT}: {source}", upper_bound=_named(source, data))


def _named(name: str, data: BenchmarkData) -> bool:
    """Whether a name, as a checkpoint has it, is that of a file of the data: with its ending, or without."""
    return any(name in (file, Path(file).stem) for file in data.names)


def _by_baseline(name: str, data: BenchmarkData, chooser: BenchmarkData | None) -> list[list[float]]:
    from markscheme.prm.evaluation import baseline

    sets = [data] if chooser is None else [data, chooser]
    return [list(scores) for one in sets for scores in baseline(name, one.samples).scores]


def _without_failed(
    judging: Judging,
    data: BenchmarkData,
    chooser: BenchmarkData | None,
    found: list[list[float]],
    likely: list[list[float]] | None,
) -> tuple[BenchmarkData, BenchmarkData | None, list[list[float]], list[list[float]] | None]:
    """Leave out the solutions that a judge could not lay out, everywhere, and say so."""
    from dataclasses import replace

    if not judging.failed:
        return data, chooser, found, likely
    row, why = next(iter(sorted(judging.failed.items())))
    first = [*data.samples, *(chooser.samples if chooser is not None else ())][row].place or f"row {row}"
    judging.notes.append(f"{len(judging.failed)} solutions cannot be laid out and are left out, such as {first}: {why}")
    n = len(data.samples)
    kept = [row for row in range(len(found)) if row not in judging.failed]
    data = replace(data, samples=tuple(data.samples[row] for row in kept if row < n))
    if not data.samples:
        raise DataError(f"the judge cannot lay out any solution: {first}: {why}")
    if chooser is not None:
        chooser = replace(chooser, samples=tuple(chooser.samples[row - n] for row in kept if row >= n))
    return data, chooser, [found[row] for row in kept], None if likely is None else [likely[row] for row in kept]


def _solutions(samples: Iterable[StepSample]) -> list[Solution]:
    from markscheme.prm.judging import Solution

    return [
        Solution(row, sample.problem, sample.steps, {"id": sample.id} if sample.id else {}, sample.place)
        for row, sample in enumerate(samples)
    ]


# What is shown -------------------------------------------------------------------------------------------------------


def show(found: dict[str, Any]) -> None:
    """Print a judge's figures, with the baselines below it."""
    out = console()
    score = "prmscore" if found["benchmark"] == "prmbench" else None
    columns = ["judge", "n", "error %", "correct %", "F1", *(["PRMScore"] if score else []), "τ", "τ from"]
    others = [(name, one) for name, one in found["baselines"].items() if name != found["judge"]]
    rows = [_row(found["judge"], found, score), *(_row(name, one, score) for name, one in others)]
    out.print(f"{found['benchmark']}: {safe(', '.join(found['data']))}", soft_wrap=True)
    out.print(table(columns, rows, right=range(1, len(columns) - 1)))
    parts = found.get("subsets") or found["kinds"]
    if len(parts) > 1:
        lines = [
            (
                one["name"],
                one["n"],
                *(_shown(one[key]) for key in ("acc_error", "acc_correct", "f1", *([score] if score else []))),
            )
            for one in parts
        ]
        head = ["kind" if score else "subset", "n", "error %", "correct %", "F1", *(["PRMScore"] if score else [])]
        out.print(table(head, lines, right=range(1, len(head))))
    for line in _sentences(found):
        out.print(safe(line), soft_wrap=True)


def _row(name: str, one: dict[str, Any], score: str | None) -> list[object]:
    chosen = f"{one['threshold_from']}{', the same problems: an upper bound' if one['upper_bound'] else ''}"
    keys = ("acc_error", "acc_correct", "f1", *([score] if score else []))
    return [clip(name, 40), one["n"], *(_shown(one[key]) for key in keys), f"{one['threshold']:.4g}", chosen]


def _sentences(found: dict[str, Any]) -> list[str]:
    steps = found["steps"]
    said = [
        f"single steps: {steps['n']} labelled and scored, {steps['wrong']} wrong; AUC {_shown(steps['auc'], 3)}, "
        f"F1 of wrong steps {_shown(steps['f1_wrong'])}, ECE {_shown(steps['ece'], 3)}"
    ]
    if found["unscored"]:
        said.append(f"{found['unscored']} steps have no score: they are beyond the judge's length")
    if "flawed" in found:
        flawed = found["flawed"]
        said.append(
            f"right answer, wrong step: {flawed['n']} solutions, first error found in {_shown(flawed['acc_error'])} %, "
            f"something flagged in {_shown(flawed['flagged'])} %"
        )
        said.append(f"smallest score on the last step: {_shown(found['last_smallest'])} % of solutions")
        if found["truncated"]:
            said.append(f"cut off before anything was flagged, counted as misses: {found['truncated']} solutions")
    if found["contamination"]:
        shared = found["contamination"]
        said.append(f"{shared['shared']} of {shared['test_problems']} test problems are in the training data")
    if found["skipped"]:
        first = found["skipped"][0]
        said.append(
            f"left out: {len(found['skipped'])} bad rows, such as {first['data']} row {first['row']}: {first['why']}"
        )
    return [*said, *found["notes"]]


def _shown(value: float | None, digits: int = 1) -> str:
    return "none" if value is None else f"{value:.{digits}f}"
