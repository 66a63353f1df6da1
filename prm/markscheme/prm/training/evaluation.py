"""What is measured at each evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markscheme.prm.metrics import process_bench, step_metrics

if TYPE_CHECKING:
    from markscheme.prm.schema import StepSample


def measure(
    samples: Sequence[StepSample], scores: Sequence[Sequence[float]], threshold: float
) -> dict[str, float | None]:
    """Figures over steps and over solutions.

    Returns:
        ``auc``, ``ece`` in [0, 1]; ``f1_wrong``, ``f1_macro`` in percent; and, over the solutions whose labels tell
        their first error, ProcessBench's ``processbench_f1``, ``acc_error``, ``acc_correct`` in percent. None where a
        figure has no meaning: no wrong step, no right one.
    """
    steps = step_metrics(samples, scores, threshold=threshold)
    found: dict[str, float | None] = {
        "auc": steps.auc,
        "f1_wrong": steps.f1_wrong,
        "f1_macro": steps.f1_macro,
        "ece": steps.ece,
        "unscored": float(steps.unscored),
    }
    told = [place for place, sample in enumerate(samples) if sample.first_error is not None]
    bench = process_bench([samples[place] for place in told], [scores[place] for place in told], threshold=threshold)
    found |= {
        "processbench_f1": bench.f1,
        "acc_error": bench.acc_error,
        "acc_correct": bench.acc_correct,
        "solutions": float(len(told)),
    }
    return found
