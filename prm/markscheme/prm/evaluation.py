"""One evaluation: a judge's figures on a benchmark, with those of the baselines beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from markscheme.prm.load import OnBad, load_samples
from markscheme.prm.metrics.baselines import BASELINES, knows_outcomes, require_outcomes
from markscheme.prm.metrics.contamination import contamination
from markscheme.prm.metrics.prmbench import prm_bench
from markscheme.prm.metrics.processbench import DEFAULT_THRESHOLD, first_errors, process_bench
from markscheme.prm.metrics.scores import Scores
from markscheme.prm.metrics.steps import step_metrics
from markscheme.prm.schema import StepSample
from markscheme.prm.threshold import choose_step_threshold, choose_threshold
from markscheme.verifiers.errors import DataError, StepDataError

StepBenchmark = Literal["processbench", "prmbench"]
LIKELIHOOD = "likelihood"
ORACLE = "outcome-oracle"


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A judge's scores of a benchmark's solutions.

    Attributes:
        name: of the judge.
        scores: a score a step, in the order of the samples.
        threshold: the score below which a step counts as wrong.
        threshold_from: what chose it.
        upper_bound: the threshold was chosen on the very data that it is measured on.
    """

    name: str
    scores: Sequence[Scores]
    threshold: float = DEFAULT_THRESHOLD
    threshold_from: str = "default"
    upper_bound: bool = False


@dataclass(frozen=True, slots=True)
class BenchmarkData:
    """A benchmark's solutions.

    Attributes:
        samples: of all its files.
        names: of the files.
        skipped: bad rows that were left out, as (file, row, id, why).
    """

    samples: tuple[StepSample, ...]
    names: tuple[str, ...]
    skipped: tuple[tuple[str, int, str, str], ...] = ()

    @property
    def name(self) -> str:
        """What figures on it are said to be on."""
        return " + ".join(self.names)


def load_benchmark(
    paths: Sequence[Path], benchmark: StepBenchmark, *, on_bad: OnBad = "error", originals: bool = False
) -> BenchmarkData:
    """Read a benchmark's files. A sample that names no subset is of the subset that is called as its file is.

    Args:
        paths: the files.
        benchmark: what is to be measured; ProcessBench needs solutions whose first error is known.
        on_bad: what to do with bad rows; see `load_samples`.
        originals: of PRMBench, also take the unmodified solutions.

    Raises:
        StepDataError: rows cannot be used; it lists those of the first file that has any.
        DataError: a file is not of a known format.
        OSError: a file cannot be read.
    """
    samples: list[StepSample] = []
    skipped: list[tuple[str, int, str, str]] = []
    for path in paths:
        loaded = load_samples(path, on_bad=on_bad, originals=originals)
        skipped += [(loaded.name, *row) for row in loaded.skipped]
        if benchmark == "processbench":
            loaded.samples = _with_first_errors(loaded.samples, path, on_bad, skipped)
        samples += [
            sample if sample.subset else sample.model_copy(update={"subset": path.stem}) for sample in loaded.samples
        ]
    return BenchmarkData(tuple(samples), tuple(Path(path).name for path in paths), tuple(skipped))


def baseline(name: str, samples: Sequence[StepSample]) -> JudgedSet:
    """Let a baseline judge.

    Raises:
        DataError: there is no such baseline.
        StepDataError: the outcome oracle, of samples that do not say whether their answer is right; it lists them.
    """
    if name not in BASELINES:
        raise DataError(f"baseline: expected one of {', '.join(BASELINES)}, got {name!r}")
    if name == ORACLE:
        require_outcomes(samples)
    return JudgedSet(name, [BASELINES[name](sample) for sample in samples])


def baselines(samples: Sequence[StepSample]) -> list[JudgedSet]:
    """All baselines that the samples allow: the outcome oracle only where every outcome is known."""
    return [baseline(name, samples) for name in BASELINES if name != ORACLE or knows_outcomes(samples)]


def with_best_threshold(judged: JudgedSet, data: BenchmarkData, benchmark: StepBenchmark = "processbench") -> JudgedSet:
    """Give a judge the threshold with the best F1, or PRMScore, on the very data: an upper bound, marked as one.

    Where the data cannot choose one (a group of solutions is empty) the judge is returned as it is.
    """
    choose = choose_threshold if benchmark == "processbench" else choose_step_threshold
    try:
        chosen = choose(data.samples, judged.scores, data.name)
    except DataError:
        return judged
    return replace(judged, threshold=chosen.value, threshold_from=data.name, upper_bound=True)


def figures(judged: JudgedSet, samples: Sequence[StepSample], benchmark: StepBenchmark) -> dict[str, Any]:
    """One judge's figures, ready for JSON: n, acc_error, acc_correct, f1, threshold first. Shares are in percent."""
    measure = process_bench if benchmark == "processbench" else prm_bench
    found = measure(samples, judged.scores, threshold=judged.threshold, threshold_from=judged.threshold_from).summary()
    return {**found, "upper_bound": judged.upper_bound}


def evaluate(
    data: BenchmarkData,
    judged: JudgedSet,
    benchmark: StepBenchmark,
    *,
    others: Sequence[JudgedSet] = (),
    train: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return a judge's figures with all that belongs beside them, ready for JSON.

    Args:
        data: the benchmark.
        judged: the judge.
        benchmark: which one it is.
        others: judges to stand beside it, such as the likelihood baseline; the baselines that know nothing of steps
            are always there.
        train: the problems that the judge was trained on, to look for those of the benchmark among them.
    """
    beside = {one.name: one for one in (*baselines(data.samples), *others)}
    shared = contamination(train, (sample.problem for sample in data.samples)) if train is not None else None
    return {
        **figures(judged, data.samples, benchmark),
        "benchmark": benchmark,
        "data": list(data.names),
        "judge": judged.name,
        "steps": step_metrics(data.samples, judged.scores, threshold=judged.threshold).summary(),
        "baselines": {name: _headline(figures(one, data.samples, benchmark)) for name, one in beside.items()},
        "contamination": None
        if shared is None
        else {"test_problems": shared.test_problems, "shared": shared.shared, "test_rows": len(shared.test_rows)},
        "skipped": [{"data": name, "row": row, "id": own, "why": why} for name, row, own, why in data.skipped],
    }


def _headline(found: dict[str, Any]) -> dict[str, Any]:
    kept = ("n", "acc_error", "acc_correct", "f1", "prmscore", "threshold", "threshold_from", "upper_bound")
    return {name: found[name] for name in kept if name in found}


def _row_of(sample: StepSample, place: int) -> int:
    """A sample's row in its file: not its place among those that were kept."""
    return place if sample.origin.row is None else sample.origin.row


def _with_first_errors(
    samples: list[StepSample], path: Path, on_bad: OnBad, skipped: list[tuple[str, int, str, str]]
) -> list[StepSample]:
    """Keep the samples whose first error is known; the others are an error, or join those skipped."""
    try:
        first_errors(samples)
    except StepDataError as error:
        rows = [(_row_of(samples[row], row), name, why) for row, name, why in error.rows]
        if on_bad == "error" or len(rows) == len(samples):
            raise StepDataError(rows, str(path)) from None
        skipped += [(Path(path).name, *row) for row in rows]
        return [sample for sample in samples if sample.first_error is not None]
    return samples
