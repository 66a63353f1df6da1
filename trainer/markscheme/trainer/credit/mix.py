"""Outcome and process supervision together."""

from __future__ import annotations

from torch import Tensor

from markscheme.verifiers.errors import CreditError


def mix_advantages(
    outcome: Tensor, process: Tensor, mask: Tensor, *, outcome_weight: float = 1.0, process_weight: float = 1.0
) -> Tensor:
    """Â_{i,t} = w_o Â_i + w_p Â_{i,t} on the completion's tokens, 0 elsewhere; each part normalised on its own.

    Args:
        outcome: (B,) of ``outcome_advantages``.
        process: (B, T) of ``process_advantages``.
        mask: (B, T), 1 or True on the completion's tokens.
        outcome_weight: w_o.
        process_weight: w_p.

    Returns:
        (B, T) advantages.

    Raises:
        CreditError: shapes that do not fit.
    """
    if process.dim() != 2 or outcome.shape != process.shape[:1] or mask.shape != process.shape:
        raise CreditError(
            f"outcome {tuple(outcome.shape)}, process {tuple(process.shape)}, mask {tuple(mask.shape)}: "
            "expected (B,), (B, T) and (B, T)."
        )
    mixed = outcome_weight * outcome.unsqueeze(1) + process_weight * process
    return mixed.masked_fill(~mask.bool(), 0.0)
