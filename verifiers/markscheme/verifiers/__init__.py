"""Verifiers of model answers: right, explainable, unbreakable, fast.

Names load on first use, so that ``import markscheme.verifiers`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.verifiers.code.verifier import CodeVerifier
    from markscheme.verifiers.errors import DataError, GoldError, MarkschemeError, MissingExtraError, WorkerError
    from markscheme.verifiers.golds import Gold, load_golds, read_gold
    from markscheme.verifiers.math.verifier import MathVerifier
    from markscheme.verifiers.place import ReadAnswer
    from markscheme.verifiers.policy import Policy
    from markscheme.verifiers.protocol import Verifier
    from markscheme.verifiers.reading import Reading, read_answer
    from markscheme.verifiers.steps.verdicts import ClaimOutcome, StepClaim, StepOutcome, StepVerdict
    from markscheme.verifiers.steps.verifier import EquationStepVerifier
    from markscheme.verifiers.verdict import Outcome, Reason, Verdict

_HOMES = {
    "ClaimOutcome": "steps.verdicts",
    "CodeVerifier": "code.verifier",
    "DataError": "errors",
    "EquationStepVerifier": "steps.verifier",
    "Gold": "golds",
    "GoldError": "errors",
    "MarkschemeError": "errors",
    "MathVerifier": "math.verifier",
    "MissingExtraError": "errors",
    "Outcome": "verdict",
    "Policy": "policy",
    "ReadAnswer": "place",
    "Reading": "reading",
    "Reason": "verdict",
    "StepClaim": "steps.verdicts",
    "StepOutcome": "steps.verdicts",
    "StepVerdict": "steps.verdicts",
    "Verdict": "verdict",
    "Verifier": "protocol",
    "WorkerError": "errors",
    "load_golds": "golds",
    "read_answer": "reading",
    "read_gold": "golds",
}

__all__ = [
    "ClaimOutcome",
    "CodeVerifier",
    "DataError",
    "EquationStepVerifier",
    "Gold",
    "GoldError",
    "MarkschemeError",
    "MathVerifier",
    "MissingExtraError",
    "Outcome",
    "Policy",
    "ReadAnswer",
    "Reading",
    "Reason",
    "StepClaim",
    "StepOutcome",
    "StepVerdict",
    "Verdict",
    "Verifier",
    "WorkerError",
    "load_golds",
    "read_answer",
    "read_gold",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
