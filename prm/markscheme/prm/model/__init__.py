"""Heads on causal backbones, and how a step's logit is read from each.

Names load on first use, and torch and transformers with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.prm.model.causal import lm_model
    from markscheme.prm.model.pair import PairClassifier, pair_model
    from markscheme.prm.model.readout import LMReadout, Readout, SpanReadout, StepBatch, TokenReadout
    from markscheme.prm.model.states import StateCache
    from markscheme.prm.model.token import StepClassifier, token_model

_HOMES = {
    "LMReadout": "readout",
    "PairClassifier": "pair",
    "Readout": "readout",
    "SpanReadout": "readout",
    "StateCache": "states",
    "StepBatch": "readout",
    "StepClassifier": "token",
    "TokenReadout": "readout",
    "lm_model": "causal",
    "pair_model": "pair",
    "token_model": "token",
}

__all__ = [
    "LMReadout",
    "PairClassifier",
    "Readout",
    "SpanReadout",
    "StateCache",
    "StepBatch",
    "StepClassifier",
    "TokenReadout",
    "lm_model",
    "pair_model",
    "token_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
