"""Culling leaves the gradient as it is: TRL's, with the advantages of constant groups at exact 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, every_third, questions, scripted, trl

torch = pytest.importorskip("torch")
from markscheme.trainer import culling  # noqa: E402

pytestmark = MARKS

EXACT = ["grpo", "dr_grpo", "bnpo", "dapo", "sapo", "cispo"]
ROWS = 16


def half_constant(completion_ids: list[list[int]], number: list[int], **_: Any) -> list[float]:
    """Groups of odd questions are constant at 0.7, where TRL's own advantage is not quite 0."""
    return [0.7 if n % 2 else sum(ids) % 7 / 6 for ids, n in zip(completion_ids, number, strict=True)]


def culler(policy: Path, tmp_path: Path, **given: Any) -> Any:
    size = {"per_device_train_batch_size": ROWS, "rollout_func": scripted, "reward_funcs": half_constant}
    # One order of the questions, so that half of the groups are constant in every batch.
    order = {"shuffle_dataset": False, "train_dataset": questions(16)}
    return build(policy, tmp_path, cull_zero_variance=True, **{**size, **order, **given})


def micro_batch(trainer: Any) -> dict[str, Any]:
    inputs = trainer._prepare_inputs(next(iter(trainer.get_train_dataloader())))
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    return dict(inputs)


def gradient(trainer: Any, inputs: dict[str, Any], compute: Any) -> tuple[float, Any]:
    trainer.model.zero_grad()
    loss = compute(trainer, trainer.model, inputs)
    loss.backward()
    return loss.item(), torch.cat([p.grad.flatten() for p in trainer.model.parameters()])


def both_gradients(trainer: Any, inputs: dict[str, Any]) -> tuple[float, float]:
    """The largest difference of the gradients, and the largest entry of TRL's."""
    loss, full = gradient(trainer, inputs, trl.GRPOTrainer._compute_loss)
    our_loss, culled = gradient(trainer, inputs, type(trainer)._compute_loss)
    assert our_loss == pytest.approx(loss, abs=1e-6)
    return float((culled - full).abs().max()), float(full.abs().max())


@pytest.mark.parametrize("loss_type", EXACT)
def test_same_gradient_as_trl_with_exact_zeros(policy: Path, tmp_path: Path, loss_type: str) -> None:
    trainer = culler(policy, tmp_path, loss_type=loss_type)
    inputs = micro_batch(trainer)
    live = (inputs["advantages"] != 0).sum()
    assert ROWS // 4 <= live <= ROWS // 2
    difference, size = both_gradients(trainer, inputs)
    assert difference <= 1e-6 and size > 1e-3
    assert trainer._metrics["train"]["groups/culled_frac"][-1] == 1 - live / ROWS


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_every_tensor_of_tokens_is_trimmed(policy: Path, tmp_path: Path, level: str) -> None:
    trainer = culler(policy, tmp_path, importance_sampling_level=level, off_policy_mask_threshold=0.5)
    inputs = micro_batch(trainer)
    shape = inputs["completion_ids"].shape
    generator = torch.Generator().manual_seed(0)
    trainer.use_vllm = True  # the loss then multiplies by the ratio of the two samplers
    inputs["old_per_token_logps"] = -torch.rand(shape, generator=generator) * 4
    inputs["sampling_per_token_logps"] = -torch.rand(shape, generator=generator) * 4
    inputs["tool_mask"] = (torch.rand(shape, generator=generator) < 0.8).long()
    for ratio in (torch.rand(shape, generator=generator), torch.rand((shape[0], 1), generator=generator)):
        inputs["importance_sampling_ratio"] = ratio
        difference, size = both_gradients(trainer, inputs)
        assert difference <= 1e-6 and size > 1e-4


def test_process_supervision_culls_completions_without_credit(policy: Path, tmp_path: Path) -> None:
    def steps(completion_ids: list[list[int]], number: list[int], **_: Any) -> Any:
        marked = every_third(completion_ids)
        return [None if n % 2 else row for n, row in zip(number, marked, strict=True)]

    trainer = culler(policy, tmp_path, supervision="process", step_reward_func=steps, loss_type="dapo")
    inputs = micro_batch(trainer)
    assert inputs["advantages"].dim() == 2
    difference, size = both_gradients(trainer, inputs)
    assert difference <= 1e-6 and size > 1e-3
    assert trainer._metrics["train"]["groups/culled_frac"][-1] == 0.5


@pytest.mark.parametrize("loss_type", ["grpo", "bnpo", "dapo"])
def test_a_batch_without_any_live_row_keeps_its_shortest(policy: Path, tmp_path: Path, loss_type: str) -> None:
    trainer = culler(policy, tmp_path, loss_type=loss_type)
    inputs = micro_batch(trainer)
    inputs["advantages"] = torch.zeros_like(inputs["advantages"])
    rows = culling.rows_to_keep(inputs, trainer)
    lengths = inputs["completion_mask"].sum(1)
    assert rows is not None and lengths[rows].tolist() == [int(lengths.min())]
    loss, grad = gradient(trainer, inputs, type(trainer)._compute_loss)
    assert loss == 0 and not grad.any()
    inputs["completion_mask"] = torch.zeros_like(inputs["completion_mask"])  # every completion was cut off and masked
    loss, grad = gradient(trainer, inputs, type(trainer)._compute_loss)
    assert loss == 0 and not grad.any()


def test_a_batch_of_live_rows_goes_to_trl_as_it_is(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = culler(policy, tmp_path)
    inputs = micro_batch(trainer)
    inputs["advantages"] = torch.ones_like(inputs["advantages"])
    seen: list[Any] = []
    monkeypatch.setattr(trl.GRPOTrainer, "_compute_loss", lambda self, model, batch: seen.append(batch))
    trainer._compute_loss(trainer.model, inputs)
    assert seen[0] is inputs


def test_in_evaluation_nothing_is_culled(policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = culler(policy, tmp_path)
    inputs = micro_batch(trainer)
    seen: list[Any] = []
    monkeypatch.setattr(trl.GRPOTrainer, "_compute_loss", lambda self, model, batch: seen.append(batch))
    trainer.model.eval()
    trainer._compute_loss(trainer.model, inputs)
    assert seen[0] is inputs


def test_prompts_keep_their_width() -> None:
    """With absolute positions, a narrower left padding would move every token."""
    inputs = {
        "prompt_ids": torch.zeros(3, 4),
        "prompt_mask": torch.ones(3, 4),
        "completion_ids": torch.arange(12).view(3, 4),
        "completion_mask": torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]),
        "advantages": torch.tensor([1.0, 0.0, 2.0]),
        "num_items_in_batch": torch.tensor(7),
        "ref_per_token_logps": None,
    }
    kept = culling.keep(inputs, torch.tensor([0, 2]), None)
    assert kept["prompt_ids"].shape == (2, 4) == kept["prompt_mask"].shape
    assert kept["completion_ids"].tolist() == [[0, 1], [8, 9]] and kept["advantages"].tolist() == [1, 2]
    assert kept["num_items_in_batch"] == 7 and kept["ref_per_token_logps"] is None
    assert culling.keep(inputs, torch.tensor([0, 2]), 3)["completion_ids"].shape == (2, 3)
    assert culling.keep(inputs, torch.tensor([0, 2]), 8)["completion_ids"].shape == (2, 4)
    assert len(inputs["prompt_ids"]) == 3
