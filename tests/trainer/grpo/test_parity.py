"""With ``supervision="outcome"`` the trainer is TRL's own, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, every_third, losses, questions, settings, trl, varied

torch = pytest.importorskip("torch")
from markscheme.trainer import ProcessGRPOConfig, ProcessGRPOTrainer  # noqa: E402

pytestmark = MARKS

ARMS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "kl": {"beta": 0.04, "loss_type": "grpo"},
    "dr_grpo": {"loss_type": "dr_grpo", "scale_rewards": "none"},
    "reused": {"num_iterations": 2, "gradient_accumulation_steps": 2, "steps_per_generation": 4, "loss_type": "bnpo"},
}


def run(trainer: Any) -> tuple[list[float], list[Any]]:
    trainer.train()
    return losses(trainer), [parameter.detach().clone() for parameter in trainer.model.parameters()]


@pytest.mark.parametrize(("arm", "kind"), [*((arm, ProcessGRPOConfig) for arm in ARMS), ("kl", trl.GRPOConfig)])
def test_outcome_supervision_is_trl_bit_for_bit(policy: Path, tmp_path: Path, arm: str, kind: type) -> None:
    steps = 10 if arm in ("defaults", "kl") else 4
    given = {
        **settings(tmp_path, max_steps=steps, max_completion_length=6),
        "use_bias_correction_kl": False,
        **ARMS[arm],
    }
    data = questions(32)
    theirs = run(trl.GRPOTrainer(str(policy), varied, trl.GRPOConfig(**given), train_dataset=data))
    watched = {"step_reward_func": every_third} if kind is ProcessGRPOConfig else {}  # looked at, not learnt from
    ours = run(ProcessGRPOTrainer(str(policy), varied, kind(**given), train_dataset=data, **watched))
    assert len(theirs[0]) == len(set(theirs[0])) == steps
    assert ours[0] == theirs[0]
    assert all(torch.equal(a, b) for a, b in zip(ours[1], theirs[1], strict=True))


def test_what_is_logged_is_trls_and_more(policy: Path, tmp_path: Path) -> None:
    logged = []
    for trainer, config in ((trl.GRPOTrainer, trl.GRPOConfig), (ProcessGRPOTrainer, ProcessGRPOConfig)):
        run_of = trainer(str(policy), varied, config(**settings(tmp_path)), train_dataset=questions(8))
        run_of.train()
        logged.append((run_of.state.log_history[:-1], list(run_of._logs["advantages"])))
    (theirs, their_advantages), (ours, our_advantages) = logged
    for mine, other in zip(ours, theirs, strict=True):
        shared = other.keys() - {"step_time"}
        assert {key: mine[key] for key in shared} == {key: other[key] for key in shared}
        assert mine.keys() - other.keys() == {
            "groups/zero_variance_frac",
            "rewards/outcome/mean",
            "verification/early_frac",
            "verification/hidden_frac",
            "verification/seconds",
        }
    assert our_advantages == their_advantages
