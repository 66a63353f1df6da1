"""The GRPO objective in plain torch, to read and to check others by; it trains nothing itself."""

# Tensors are named with their shapes: B completions, T tokens.

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from markscheme.verifiers.errors import CreditError

LossType = Literal["grpo", "dr_grpo", "dapo", "bnpo"]


def k3(logp: Tensor, ref_logp: Tensor) -> Tensor:
    """The estimate π_ref/π_θ - log(π_ref/π_θ) - 1 of KL(π_θ ‖ π_ref), per token; never below 0 in exact arithmetic.

    DeepSeekMath, arXiv 2402.03300, equation 4.

    Args:
        logp: log π_θ of the sampled tokens, any shape.
        ref_logp: log π_ref of the same tokens.
    """
    log_ratio = ref_logp - logp
    return torch.exp(log_ratio) - log_ratio - 1


def grpo_loss(
    logp: Tensor,
    old_logp: Tensor | None,
    advantages: Tensor,
    mask: Tensor,
    *,
    loss_type: LossType = "grpo",
    epsilon_low: float = 0.2,
    epsilon_high: float = 0.2,
    beta: float = 0.0,
    ref_logp: Tensor | None = None,
    bias_corrected_kl: bool = False,
    max_completion_length: int | None = None,
    batch_tokens: Tensor | float | None = None,
) -> Tensor:
    """The loss to minimise: clipped surrogate and k3, reduced over tokens.

    Per token, with ρ = π_θ/π_old: ℓ = -min(ρ Â, clip(ρ, 1-ε_low, 1+ε_high) Â) + β k3 (DeepSeekMath, arXiv 2402.03300,
    equation 3; ε_high apart: DAPO, 2503.14476, equation 10). Over tokens:

    - ``"grpo"``: mean in each completion, then over completions (equation 3);
    - ``"dr_grpo"``: Σ ℓ / (B · ``max_completion_length``) (2503.20783);
    - ``"dapo"``: Σ ℓ / tokens of the whole batch (2503.14476, equation 8);
    - ``"bnpo"``: Σ ℓ / tokens of this batch; ``"dapo"`` without ``batch_tokens``.

    Args:
        logp: (B, T) log π_θ of the completions' tokens; the gradient flows through it.
        old_logp: (B, T) of the policy that sampled them; None for the present policy (ρ = 1, with its gradient).
        advantages: (B,) or (B, T).
        mask: (B, T), 1 or True on the tokens that count.
        loss_type: the reduction.
        epsilon_low: ε below 1.
        epsilon_high: ε above 1.
        beta: β, weight of the KL term; 0 leaves it out.
        ref_logp: (B, T) of the reference policy; needed unless β = 0.
        bias_corrected_kl: multiply k3 by ρ, TRL's default since 1.10 (DeepSeek-V3.2); the paper's form does not.
        max_completion_length: in tokens; needed for ``"dr_grpo"``.
        batch_tokens: tokens of all the batches of an optimiser's step, for ``"dapo"``; default: those of ``mask``.

    Returns:
        A scalar.

    Raises:
        CreditError: a shape that does not fit, an unknown reduction, or a needed argument that is missing.
    """
    _check_shapes(logp, advantages, mask, old_logp=old_logp, ref_logp=ref_logp)
    mask_BT = mask.to(logp.dtype)
    advantages_BT = advantages if advantages.dim() == 2 else advantages.unsqueeze(1)

    ratio_BT = torch.exp(logp - (logp.detach() if old_logp is None else old_logp))
    clipped_BT = ratio_BT.clamp(1 - epsilon_low, 1 + epsilon_high)
    loss_BT = -torch.min(ratio_BT * advantages_BT, clipped_BT * advantages_BT)
    if beta:
        if ref_logp is None:
            raise CreditError(f"beta={beta}: the KL term needs ref_logp, the reference policy's log-probabilities.")
        kl_BT = k3(logp, ref_logp)
        loss_BT = loss_BT + beta * (kl_BT * ratio_BT if bias_corrected_kl else kl_BT)

    tokens_B = mask_BT.sum(dim=1)
    total = (loss_BT * mask_BT).sum()
    if loss_type == "grpo":
        return ((loss_BT * mask_BT).sum(dim=1) / tokens_B.clamp(min=1)).mean()
    if loss_type == "dr_grpo":
        if not max_completion_length:
            raise CreditError('loss_type="dr_grpo" divides by max_completion_length: pass it, in tokens.')
        return total / (logp.size(0) * max_completion_length)
    if loss_type == "bnpo" or (loss_type == "dapo" and batch_tokens is None):
        return total / tokens_B.sum().clamp(min=1)
    if loss_type == "dapo":
        return total / torch.as_tensor(batch_tokens, dtype=logp.dtype, device=logp.device).clamp(min=1)
    raise CreditError(f'loss_type={loss_type!r}: expected "grpo", "dr_grpo", "dapo" or "bnpo".')


def _check_shapes(logp: Tensor, advantages: Tensor, mask: Tensor, **others: Tensor | None) -> None:
    shape = tuple(logp.shape)
    if logp.dim() != 2:
        raise CreditError(f"logp of shape {shape}: expected (B, T).")
    if tuple(advantages.shape) not in (shape, shape[:1]):
        raise CreditError(f"advantages of shape {tuple(advantages.shape)}: expected {shape[:1]} or {shape}.")
    for name, tensor in {"mask": mask, **others}.items():
        if tensor is not None and tuple(tensor.shape) != shape:
            raise CreditError(f"{name} of shape {tuple(tensor.shape)}: expected {shape}, as logp.")
