"""Steps checked by rule: the arithmetic that a step states, without a gold answer and without a model."""

from __future__ import annotations

from markscheme.verifiers.steps.verdicts import ClaimOutcome, StepClaim, StepOutcome, StepVerdict
from markscheme.verifiers.steps.verifier import EquationStepVerifier

__all__ = ["ClaimOutcome", "EquationStepVerifier", "StepClaim", "StepOutcome", "StepVerdict"]
