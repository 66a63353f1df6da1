"""Losses on step logits: binary and soft cross-entropy, squared error, focal loss.

A step has one logit z, the log-odds that it is right: a head of two classes gives z = l₁ - l₀ (their softmax is the
sigmoid of the difference), a read-out of two tokens z = l₊ - l₋. A target is a probability in [0, 1]; ``IGNORED``
stands for a step without a label, and for padding, as it does in transformers.

S is the number of steps of the longest row of a batch, B its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch.nn import functional

from markscheme.prm.schema import RIGHT_ABOVE
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

IGNORED = -100.0
LossName = Literal["bce", "soft_ce", "mse", "focal"]


@dataclass(frozen=True, slots=True)
class StepLoss:
    """A loss over the labelled steps of a batch.

    Args:
        name: ``bce``: cross-entropy against hard labels (a target above ``right_above`` is right); ``soft_ce``:
            cross-entropy against the target itself, soft as it is; ``mse``: (σ(z) - y)²; ``focal``: cross-entropy
            against hard labels, times (1 - p of the true class)^γ (Lin et al., 1708.02002, equation 5 with α by
            ``class_weights``).
        class_weights: what a wrong and a right step weigh. A soft target weighs y·right + (1 - y)·wrong. The weighted
            mean is divided by the sum of weights, so that the loss keeps its scale.
        gamma: the focal loss's γ.
        right_above: what a soft target must exceed to count as right where targets are made hard. Give 0 for
            Monte-Carlo shares: a step is then right when any rollout from it succeeds, which the Qwen team's lessons
            (2501.07301) found best.
    """

    name: LossName = "bce"
    class_weights: tuple[float, float] = (1.0, 1.0)
    gamma: float = 2.0
    right_above: float = RIGHT_ABOVE

    def __post_init__(self) -> None:
        if self.name not in ("bce", "soft_ce", "mse", "focal"):
            raise DataError(f"loss: expected bce, soft_ce, mse or focal, got {self.name!r}")
        if len(self.class_weights) != 2 or min(self.class_weights) < 0 or max(self.class_weights) <= 0:
            raise DataError(
                f"class_weights: expected two weights (wrong, right), none negative and one above 0, "
                f"got {self.class_weights!r}"
            )

    def __call__(self, logits: Tensor, targets: Tensor, *, items: Tensor | float | None = None) -> Tensor:
        """Return the mean loss over labelled steps.

        Args:
            logits: (…), any shape.
            targets: (…), the same shape: probabilities, or ``IGNORED``.
            items: what the sum is divided by instead of this batch's own sum of weights: the whole step's, where
                gradients are accumulated or several processes share one step (``weight_of`` its targets).

        Returns:
            A scalar. 0 with a zero gradient where no step has a label.
        """
        known = targets != IGNORED
        z = logits[known].float()
        y = targets[known].float()
        if z.numel() == 0:
            return logits.float().sum() * 0.0
        hard = (y > self.right_above).float() if self.name in ("bce", "focal") else y
        weights = hard * self.class_weights[1] + (1 - hard) * self.class_weights[0]
        total = weights.sum() if items is None else items
        if isinstance(total, torch.Tensor):
            total = total.clamp_min(torch.finfo(torch.float32).tiny)
        return (weights * self._each(z, hard)).sum() / total

    def _each(self, z: Tensor, y: Tensor) -> Tensor:
        if self.name == "mse":
            return (torch.sigmoid(z) - y) ** 2
        entropy = functional.binary_cross_entropy_with_logits(z, y, reduction="none")
        if self.name == "focal":
            # 1 - p of the true class, by the sigmoid of the other sign: exact where p is nearly 1.
            return torch.sigmoid(torch.where(y > 0.5, -z, z)) ** self.gamma * entropy
        return entropy

    def weight_of(self, targets: Tensor) -> Tensor:
        """The sum of the weights of a batch's labelled steps: what its loss is divided by. A scalar."""
        y = targets[targets != IGNORED].float()
        if self.name in ("bce", "focal"):
            y = (y > self.right_above).float()
        return (y * self.class_weights[1] + (1 - y) * self.class_weights[0]).sum()


def mask_after_error(targets: Sequence[float | None], right_above: float = RIGHT_ABOVE) -> list[float | None]:
    """Targets without those after the first wrong step, which keeps its own.

    A step after an error builds on it, and data sets differ in what they say of such steps. Leave them in for PRMBench,
    which labels 5270 of them right.

    Args:
        targets: of one solution's steps; None for an unlabelled one.
        right_above: a target that does not exceed it is an error.
    """
    for position, target in enumerate(targets):
        if target is not None and target <= right_above:
            return [*targets[: position + 1], *[None] * (len(targets) - position - 1)]
    return list(targets)


def balanced_weights(
    targets: Iterable[Sequence[float | None]], right_above: float = RIGHT_ABOVE
) -> tuple[float, float]:
    """Weights (wrong, right) that make both classes count alike, with mean 1 over the steps.

    Raises:
        DataError: one class has no step.
    """
    known = [target for row in targets for target in row if target is not None]
    right = sum(target > right_above for target in known)
    wrong = len(known) - right
    if not right or not wrong:
        raise DataError(
            f"class weights cannot be balanced: of {len(known)} labelled steps {right} are right and {wrong} wrong; "
            "give weights, or data with both"
        )
    return len(known) / (2 * wrong), len(known) / (2 * right)
