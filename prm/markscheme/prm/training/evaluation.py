"""What is measured at each evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markscheme.prm.metrics import process_bench, step_metrics
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from markscheme.prm.schema import StepSample

UNNAMED = "eval"
"""What an evaluation set without a name is called."""


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


def check_threshold_set(name: str | None, given: Any) -> None:
    """Refuse a name that no evaluation set has: no threshold would ever be chosen, and nothing would say so.

    Args:
        name: of the set that is to choose the threshold.
        given: the evaluation data, several sets by name or one without.

    Raises:
        DataError: no set has the name.
    """
    names = list(given) if isinstance(given, Mapping) else [UNNAMED]
    if name is not None and given is not None and name not in names:
        raise DataError(f"threshold_set: expected the name of an evaluation set ({', '.join(names)}), got {name!r}")
