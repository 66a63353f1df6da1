"""The figures of an evaluation: see `markscheme.verifiers.statistics`, where the judge of steps finds them too."""

from __future__ import annotations

from markscheme.verifiers.statistics import (
    Z95,
    clustered_interval,
    ks,
    majority_correct,
    pass_at_k,
    wilson,
)

__all__ = ["Z95", "clustered_interval", "ks", "majority_correct", "pass_at_k", "wilson"]
