"""One optimiser step of each arm, for several ranks under torchrun: `tinyranks.py POLICY OUTPUT RANKS`.

The completions depend on the global row alone, so that any number of ranks sees the same. Plain gradient descent with
rate 1 makes the change of the weights the gradient.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch
import trl
from accelerate.utils import gather_object

from markscheme.trainer import ProcessGRPOTrainer
from tinytraining import build, every_third, losses, questions, scripted

ROWS = 24  # six groups of four; on two ranks of twelve, with G = 8, the second group spans both


def unequal(completion_ids: list[list[int]], number: list[int], **_: Any) -> list[float]:
    """Only the first two questions have groups that differ: all on the first rank, none on the last."""
    return [sum(ids) % 7 / 6 if n < 2 else 0.7 for ids, n in zip(completion_ids, number, strict=True)]


def some_dead(completion_ids: list[list[int]], number: list[int], log_extra: Any, **_: Any) -> list[float]:
    """Of eight questions, those with 0, 1, 4 and 6 have groups that do not differ."""
    log_extra("number", list(number))
    return [0.7 if n in (0, 1, 4, 6) else sum(ids) % 7 / 6 for ids, n in zip(completion_ids, number, strict=True)]


ARMS: dict[str, dict[str, Any]] = {
    "process": {"supervision": "process", "num_generations": 8},
    "both": {"supervision": "both", "num_generations": 8, "loss_type": "grpo"},
    "first_error": {"supervision": "process", "credit": "first_error", "num_generations": 8},
    "overlapped": {"supervision": "both", "num_generations": 8, "loss_type": "grpo", "overlap_rewards": "all"},
    "refilled": {
        "supervision": "both",
        "num_generations": 8,
        "reward_funcs": some_dead,
        "refill_rounds": 4,
        "overlap_rewards": "all",
        "seed": 3,
    },
    "culled grpo": {"cull_zero_variance": True, "loss_type": "grpo", "reward_funcs": unequal},
    "culled dapo": {"cull_zero_variance": True, "loss_type": "dapo", "reward_funcs": unequal},
    "culled dr_grpo": {"cull_zero_variance": True, "loss_type": "dr_grpo", "reward_funcs": unequal},
    "culled bnpo": {"cull_zero_variance": True, "loss_type": "bnpo", "reward_funcs": unequal},
}


def arm(policy: Path, folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The global advantages, the weights' change, what culling did, and TRL's change with exact zeros."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    trainer = build(
        policy,
        folder,
        step_reward_func=every_third,
        rollout_func=scripted,
        train_dataset=questions(8),
        shuffle_dataset=False,
        per_device_train_batch_size=ROWS // ranks,
        max_steps=1,
        optim="sgd",
        learning_rate=1.0,
        max_grad_norm=0.0,
        lr_scheduler_type="constant",
        **given,
    )
    seen: list[Any] = []
    score = trainer._generate_and_score_completions

    def recording(inputs: Any) -> Any:
        output = score(inputs)
        rows = zip(output["advantages"], output["completion_mask"], strict=True)
        seen.extend(gather_object([(row[mask.bool()] if row.dim() else row).tolist() for row, mask in rows]))
        return output

    trainer._generate_and_score_completions = recording
    before = torch.cat([p.detach().flatten().clone() for p in trainer.model.parameters()])
    trainer.train()
    assert trainer.accelerator.num_processes == ranks
    after = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
    return {
        "world": trainer.accelerator.num_processes,
        "advantages": seen,
        "logged": list(trainer._logs["advantages"]),
        "prompts": list(trainer._logs["prompt"]),
        "numbers": list(trainer._logs["extra"].get("number", [])),
        "refilled": {k: v for k, v in trainer.state.log_history[0].items() if k.startswith("refill/")},
        "generated": trainer.state.log_history[0]["num_tokens"],
        "change": after - before,
        "culled": trainer.state.log_history[0].get("groups/culled_frac"),
        "count": trainer.state.log_history[0]["steps/count"],
    }


def with_trls_loss(*arguments: Any) -> dict[str, Any]:
    """`arm` with TRL's loss in the place of ours."""
    ours = ProcessGRPOTrainer._compute_loss
    ProcessGRPOTrainer._compute_loss = trl.GRPOTrainer._compute_loss  # type: ignore[method-assign]
    try:
        return arm(*arguments)
    finally:
        ProcessGRPOTrainer._compute_loss = ours  # type: ignore[method-assign]


def taken_up(policy: Path, folder: Path) -> dict[str, Any]:
    """The losses of a run of four steps, and of the same taken up after the third, between two generations."""
    given = {
        "supervision": "both",
        "step_reward_func": every_third,
        "reward_funcs": some_dead,
        "refill_rounds": 1,
        "max_completion_length": 4,
        "per_device_train_batch_size": 4,
        "steps_per_generation": 2,
        "max_steps": 4,
        "save_strategy": "steps",
        "save_steps": 3,
    }
    whole, again = build(policy, folder, **given), build(policy, folder, **given)
    whole.train()
    again.train(resume_from_checkpoint=str(folder / "checkpoint-3"))
    return {"world": again.accelerator.num_processes, "whole": losses(whole), "again": losses(again)}


def alone(policy: Path, folder: Path) -> dict[str, Any]:
    """What the arms that are not culled give in this one process."""
    return {name: arm(policy, folder, given) for name, given in ARMS.items() if "culled" not in name}


def main(policy: str, output: str, ranks: str) -> None:
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    assert int(os.environ["WORLD_SIZE"]) == int(ranks)
    results = {}
    for name, given in ARMS.items():
        place = (Path(policy), Path(output).parent / "run", given)
        results[name] = arm(*place)
        if "culled" in name:
            results[f"{name}, not culled"] = with_trls_loss(*place)
    results["taken up"] = taken_up(Path(policy), Path(output).parent / "resumed")
    if int(os.environ["RANK"]) == 0:
        torch.save(results, output)


if __name__ == "__main__":
    main(*sys.argv[1:])
