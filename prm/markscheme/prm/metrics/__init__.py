"""Metrics of judges of steps, always beside baselines that know nothing of steps."""

from __future__ import annotations

from markscheme.prm.metrics.baselines import BASELINES, always_right, always_wrong, outcome_oracle
from markscheme.prm.metrics.contamination import Contamination, contamination, decontaminate, normalised
from markscheme.prm.metrics.prmbench import PRMBenchResult, prm_bench
from markscheme.prm.metrics.processbench import ProcessBenchResult, last_smallest, process_bench
from markscheme.prm.metrics.scores import Scores, first_below
from markscheme.prm.metrics.steps import StepResult, auc, ece, reliability, step_metrics

__all__ = [
    "BASELINES",
    "Contamination",
    "PRMBenchResult",
    "ProcessBenchResult",
    "Scores",
    "StepResult",
    "always_right",
    "always_wrong",
    "auc",
    "contamination",
    "decontaminate",
    "ece",
    "first_below",
    "last_smallest",
    "normalised",
    "outcome_oracle",
    "prm_bench",
    "process_bench",
    "reliability",
    "step_metrics",
]
