"""The reference loss against a plain loop, and its laws."""

from __future__ import annotations

import random
from typing import Any

import pytest

import credit_by_hand as by_hand

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from markscheme.trainer.kernel import grpo_loss, k3  # noqa: E402
from markscheme.verifiers.errors import CreditError  # noqa: E402

LOSSES = ["grpo", "dr_grpo", "dapo", "bnpo"]
LENGTHS = [7, 1, 4, 0]
TOKENS = 7


def batch(seed: int = 0) -> dict[str, Any]:
    """Log-probabilities near each other, ratios on both sides of the clip, a completion without a token that counts."""
    rng = random.Random(seed)
    logp = [[rng.uniform(-3, -0.1) for _ in range(TOKENS)] for _ in LENGTHS]
    near = [[[value + rng.gauss(0, 0.4) for value in row] for row in logp] for _ in range(2)]
    return {
        "logp": logp,
        "old": near[0],
        "ref": near[1],
        "advantages": [[rng.gauss(0, 1) for _ in range(TOKENS)] for _ in LENGTHS],
        "mask": [[int(t < length) for t in range(TOKENS)] for length in LENGTHS],
    }


def double(rows: Any) -> Any:
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("corrected", [False, True], ids=["paper", "corrected"])
@pytest.mark.parametrize("beta", [0.0, 0.04])
@pytest.mark.parametrize("loss_type", LOSSES)
def test_equals_the_loop(loss_type: str, beta: float, *, corrected: bool) -> None:
    rows = batch()
    actual = grpo_loss(
        double(rows["logp"]),
        double(rows["old"]),
        double(rows["advantages"]),
        double(rows["mask"]),
        loss_type=loss_type,
        epsilon_low=0.2,
        epsilon_high=0.28,
        beta=beta,
        ref_logp=double(rows["ref"]),
        bias_corrected_kl=corrected,
        max_completion_length=10,
    )
    expected = by_hand.loss(**rows, loss_type=loss_type, low=0.2, high=0.28, beta=beta, corrected=corrected, cap=10)
    assert actual.item() == pytest.approx(expected, rel=1e-12)


def test_k3_is_the_paper_s_estimate() -> None:
    logp, ref = double([-1.0, -2.0, -1.0]), double([-1.0, -1.0, -3.0])
    assert k3(logp, ref).tolist() == pytest.approx([0.0, 2.718281828459045 - 2, 0.1353352832366127 + 1], rel=1e-12)


@pytest.mark.parametrize("loss_type", LOSSES)
def test_constant_token_advantages_are_completion_advantages(loss_type: str) -> None:
    rows = batch()
    one_each = double([0.5, -1.0, 2.0, 1.0])
    logp = double(rows["logp"]).requires_grad_()
    gradients, losses = [], []
    for advantages in (one_each, one_each.unsqueeze(1).expand(-1, TOKENS)):
        loss = grpo_loss(
            logp, double(rows["old"]), advantages, double(rows["mask"]), loss_type=loss_type, max_completion_length=10
        )
        losses.append(loss)
        gradients.append(torch.autograd.grad(loss, logp)[0])
    assert torch.equal(*losses)
    assert torch.equal(*gradients)


def test_on_the_sampling_policy_the_gradient_is_the_advantage() -> None:
    """With ρ = 1, ∂ℓ_t/∂ log π_t = -Â_t: REINFORCE, weighted by the reduction."""
    rows = batch()
    logp, mask, advantages = double(rows["logp"]).requires_grad_(), double(rows["mask"]), double(rows["advantages"])
    loss = grpo_loss(logp, None, advantages, mask, loss_type="bnpo")
    gradient = torch.autograd.grad(loss, logp)[0]
    torch.testing.assert_close(gradient, -advantages * mask / mask.sum())


def test_past_the_clip_there_is_no_gradient() -> None:
    old = double([[-1.0, -1.0, -1.0, -1.0]])
    logp = (old + double([[0.3, -0.3, 0.3, -0.3]])).requires_grad_()
    loss = grpo_loss(logp, old, double([[1.0, -1.0, -1.0, 1.0]]), torch.ones(1, 4), loss_type="bnpo")
    gradient = torch.autograd.grad(loss, logp)[0][0]
    assert gradient[:2].tolist() == [0.0, 0.0], "a good token made likelier, a bad one made unlikelier: enough"
    assert gradient[2] > 0 > gradient[3]


def test_dapo_divides_by_the_tokens_of_the_whole_batch() -> None:
    """Two halves, each with the tokens of both, add up to the whole."""
    rows = {name: double(value) for name, value in batch().items()}
    whole = grpo_loss(rows["logp"], rows["old"], rows["advantages"], rows["mask"], loss_type="dapo")
    halves = [
        grpo_loss(
            *(rows[name][part] for name in ("logp", "old", "advantages", "mask")),
            loss_type="dapo",
            batch_tokens=rows["mask"].sum(),
        )
        for part in (slice(2), slice(2, 4))
    ]
    torch.testing.assert_close(sum(halves), whole, rtol=1e-12, atol=0)


def test_nothing_that_counts_is_a_loss_of_zero() -> None:
    zeros = torch.zeros(2, 3)
    for loss_type in LOSSES:
        loss = grpo_loss(zeros, None, torch.ones(2), zeros.bool(), loss_type=loss_type, max_completion_length=3)
        assert loss.item() == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beta": 0.04}, "beta=0.04: the KL term needs ref_logp"),
        ({"loss_type": "dr_grpo"}, 'loss_type="dr_grpo" divides by max_completion_length'),
        ({"loss_type": "ppo"}, 'loss_type=\'ppo\': expected "grpo", "dr_grpo", "dapo" or "bnpo"'),
        ({"mask": torch.ones(2, 4)}, r"mask of shape \(2, 4\): expected \(2, 3\), as logp"),
        ({"advantages": torch.ones(3)}, r"advantages of shape \(3,\): expected \(2,\) or \(2, 3\)"),
        ({"old_logp": torch.zeros(2, 1)}, r"old_logp of shape \(2, 1\): expected \(2, 3\)"),
        ({"logp": torch.zeros(3)}, r"logp of shape \(3,\): expected \(B, T\)"),
    ],
)
def test_what_cannot_be(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"logp": torch.zeros(2, 3), "old_logp": None, "advantages": torch.ones(2)}
    with pytest.raises(CreditError, match=message):
        grpo_loss(**{**given, "mask": torch.ones(2, 3), **change})
