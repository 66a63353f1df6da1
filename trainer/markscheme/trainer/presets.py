"""The settings of papers, as far as a trainer can set them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from markscheme.verifiers.errors import TrainerConfigError

Preset = Literal["dapo", "deepseekmath", "dr_grpo"]


def settings(name: str, overrides: dict[str, Any]) -> dict[str, Any]:
    """The fields of a preset; ``overrides`` win, and steps that follow from them are counted anew.

    Raises:
        TrainerConfigError: there is no preset of that name.
    """
    if name not in _PRESETS:
        raise TrainerConfigError(f"no preset {name!r}; there are {', '.join(map(repr, sorted(_PRESETS)))}")
    return _PRESETS[name](overrides)


def _dr_grpo(overrides: dict[str, Any]) -> dict[str, Any]:
    """Dr. GRPO, arXiv 2503.20783: no division by the length or by the standard deviation."""
    return {"loss_type": "dr_grpo", "scale_rewards": "none", "beta": 0.0, **overrides}


def _deepseekmath(overrides: dict[str, Any]) -> dict[str, Any]:
    """DeepSeekMath, arXiv 2402.03300, §4.2: 1024 completions an update, and one update a generation."""
    paper: dict[str, Any] = {
        "loss_type": "grpo",
        "scale_rewards": "group",
        "beta": 0.04,
        "num_iterations": 1,
        "num_generations": 64,
        "max_completion_length": 1024,
        "learning_rate": 1e-6,
        "per_device_train_batch_size": 16,
    }
    chosen = {**paper, **overrides}
    chosen.setdefault("gradient_accumulation_steps", max(1, 1024 // _rows(chosen)))
    return chosen


def _dapo(overrides: dict[str, Any]) -> dict[str, Any]:
    """DAPO, arXiv 2503.14476; the numbers are those of §4.1 where no other place is named."""
    paper: dict[str, Any] = {
        "loss_type": "dapo",  # eq. 12: a mean over the tokens of the batch
        "epsilon": 0.2,
        "epsilon_high": 0.28,  # clip-higher, §3.1
        "beta": 0.0,  # §2.3
        "scale_rewards": "group",  # eq. 9
        "refill_rounds": 9,  # §3.2 sets no bound; the authors' recipe in verl gives up after ten batches
        "mask_truncated_completions": True,  # overlong filtering, §3.4 and table 1
        "num_iterations": 1,
        "num_generations": 16,
        "max_completion_length": 20480,  # 16384 expected, and 4096 in which the punishment of eq. 13 grows
        "temperature": 1.0,
        "learning_rate": 1e-6,
        "lr_scheduler_type": "constant_with_warmup",
        "per_device_train_batch_size": 16,
    }
    chosen = {**paper, **overrides}
    rows = _rows(chosen)
    chosen.setdefault("gradient_accumulation_steps", max(1, 512 // rows))
    size = chosen.get("generation_batch_size") or 512 * 16  # completions: 16 for each of 512 prompts
    steps = chosen.get("steps_per_generation") or max(1, size // rows)
    if not chosen.get("generation_batch_size"):  # TRL takes one of the two
        chosen["steps_per_generation"] = steps
    updates = steps // chosen["gradient_accumulation_steps"]
    chosen.setdefault("warmup_steps", 20 * max(1, updates))  # 20 generations
    return chosen


def _rows(chosen: dict[str, Any]) -> int:
    """Completions that all ranks train on at a time."""
    return int(chosen["per_device_train_batch_size"]) * int(os.environ.get("WORLD_SIZE", "1"))


_PRESETS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "dapo": _dapo,
    "deepseekmath": _deepseekmath,
    "dr_grpo": _dr_grpo,
}
