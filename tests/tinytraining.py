"""Trainers on policies of a few thousand parameters, with completions that are chosen rather than sampled."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

NEEDED = "needs torch and TRL: pip install markscheme[train]"
trl = pytest.importorskip("trl", reason=NEEDED)
Dataset = pytest.importorskip("datasets", reason=NEEDED).Dataset
trainers = pytest.importorskip("markscheme.trainer")

MARKS = [
    pytest.mark.train,
    # TRL 1.16 uses names that transformers 5.24 calls deprecated (gradient_checkpointing and its kin).
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),
]
BEFORE_TEXT = 3  # <pad>, <eos> and <unk> are the tokenizer's first


def questions(count: int) -> Any:
    return Dataset.from_dict({"prompt": [f"{i}+{i}=" for i in range(count)], "number": list(range(count))})


def chats(count: int) -> Any:
    return Dataset.from_dict({"prompt": [[{"role": "user", "content": f"{i}+{i}="}] for i in range(count)]})


def settings(output_dir: Path, **given: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "output_dir": str(output_dir),
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 12,
        "max_steps": 2,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        "bf16": False,
    }
    return {**base, **given}


def build(policy: Path, output_dir: Path, **given: Any) -> Any:
    """A trainer of ours. Names of its own arguments go to it, all others to its config."""
    ours = {"reward_funcs", "train_dataset", "eval_dataset", "step_reward_func", "peft_config", "rollout_func"}
    arguments = {key: given.pop(key) for key in ours & given.keys()}
    arguments = {"reward_funcs": varied, "train_dataset": questions(16), **arguments}
    config = trainers.ProcessGRPOConfig(**settings(output_dir, **given))
    return trainers.ProcessGRPOTrainer(str(policy), args=config, **arguments)


def losses(trainer: Any) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


# -- what functions return for a completion depends on its tokens alone ------------------------------------------------


def varied(completion_ids: list[list[int]], **_: Any) -> list[float]:
    """A reward that differs within almost every group."""
    return [sum(ids) % 7 / 6 for ids in completion_ids]


def every_third(completion_ids: list[list[int]], **_: Any) -> list[list[tuple[int, float | None]]]:
    """A step ends at every third token and at the last."""
    return [
        [(end, ids[end] % 5 / 4) for end in sorted({*range(2, len(ids), 3), len(ids) - 1})] for ids in completion_ids
    ]


def scripted(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    """A rollout function: completions by global row, 2 to 12 tokens long, the same on any number of ranks."""
    first = trainer.accelerator.process_index * len(prompts)
    encoded = [trainer.processing_class(text=str(prompt)).input_ids for prompt in prompts]
    completions = []
    for row in range(first, first + len(prompts)):
        draw = random.Random(row + 1000 * trainer.state.global_step)
        length = draw.randint(2, 12)
        tokens = [draw.randrange(BEFORE_TEXT, 40) for _ in range(length)]
        completions.append([*tokens[:-1], trainer.processing_class.eos_token_id] if length < 12 else tokens)
    logprobs = [[-1.0] * len(ids) for ids in completions]
    return {"prompt_ids": encoded, "completion_ids": completions, "logprobs": logprobs}
