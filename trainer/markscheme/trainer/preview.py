"""What a recipe comes to, without its model: settings, sizes, memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from markscheme.trainer import parts as named_parts
from markscheme.trainer import rows
from markscheme.trainer.config import ProcessGRPOConfig
from markscheme.trainer.launch import check_model, find_checkpoint, load_tokenizer, server_of
from markscheme.trainer.memory import Plan, Run, plan, read_architecture
from markscheme.trainer.memory.architecture import LINEAR
from markscheme.trainer.memory.run import WIDTHS
from markscheme.trainer.memory.show import describe
from markscheme.trainer.recipe import Recipe
from markscheme.verifiers.errors import DataError


def dry_run(recipe: Recipe) -> str:
    """Make everything but the model; return the resolved settings, the sizes that follow, and the memory plan."""
    check_model(recipe)
    checkpoint = find_checkpoint(recipe.training)
    parts = named_parts.make(recipe, load_tokenizer(recipe) if named_parts.needs_tokenizer(recipe) else None)
    train, evaluation = rows.load(recipe)
    lines = [recipe.as_yaml(), f"goes on from: {checkpoint}" if checkpoint else "begins anew"]
    sized = hasattr(train, "__len__")
    for name, data in (("training rows", train), ("evaluation rows", evaluation)):
        if data is not None and hasattr(data, "__len__"):
            named_parts.check_rows(parts, data)
            lines.append(f"{name}: {len(data)}, columns {', '.join(data.column_names)}; every gold can be read")
    if recipe.rollouts is not None and recipe.rollouts.mode == "server":
        lines.append(f"start the server first: {server_of(recipe).line()}")
    lines += _sizes(recipe.training, len(train) if sized else None)
    try:
        lines.append(describe(memory_of(recipe)))
    except (DataError, OSError) as error:
        lines.append(f"memory: not planned: {error}")
    return "\n".join(lines)


def _sizes(training: ProcessGRPOConfig, count: int | None) -> list[str]:
    update = training.per_device_train_batch_size * training.gradient_accumulation_steps * training.world_size
    group, together = int(training.num_generations or 1), int(training.generation_batch_size or 1)
    lines = [
        f"completions an update: {update} on {training.world_size} process(es); generated at once: "
        f"{together}, {together // group} prompt(s) x {group}"
    ]
    if training.max_steps > 0:
        lines.append(f"updates: {training.max_steps}")
    elif count is not None:
        epochs = training.num_train_epochs * count * group * training.num_iterations
        lines.append(f"updates: about {int(epochs // update)} in {training.num_train_epochs:g} epoch(s)")
    return lines


def memory_of(recipe: Recipe) -> Plan:
    """Plan a recipe's memory for the processes, ZeRO or FSDP that the environment names.

    A prompt counts as long as the completion may be at most; ``markscheme plan`` takes exact lengths.

    Raises:
        DataError: the model is not a folder here, or not one that is planned.
        OSError: its configuration cannot be read.
    """
    training, model = recipe.training, recipe.model
    folder = Path(str(model.model_name_or_path))
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder here; run markscheme plan --params …")
    half = training.bf16 or training.fp16
    computed = ("bfloat16" if training.bf16 else "float16") if half else "float32"
    held = model.dtype if model.dtype in WIDTHS else "float32"
    stage = _zero_stage()
    deepspeed = os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true"
    completion, group = training.max_completion_length or 0, int(training.num_generations or 1)
    targets = model.lora_target_modules or ("q_proj", "v_proj")
    targets = LINEAR if targets == "all-linear" else (targets,) if isinstance(targets, str) else tuple(targets)
    offload, offload_weights = _offload(stage)
    return plan(
        Run(
            read_architecture(folder),
            group=group,
            prompts=int(training.generation_batch_size or group) // group,
            context=2 * completion,
            prompt_tokens=completion,
            gpus=training.world_size,
            zero=stage,
            offload=offload,
            offload_weights=offload_weights,
            lora_rank=model.lora_r if model.use_peft else None,
            lora_targets=targets,
            dtype=computed if held == "float32" else held,  # type: ignore[arg-type]
            precision="mixed" if deepspeed else "autocast" if held == "float32" and half else "pure",
            micro_batch=training.per_device_train_batch_size,
            checkpointing=training.gradient_checkpointing,
            reference=training.beta != 0,
            rollout="transformers" if not training.use_vllm else _vllm(training),
            gpu_memory=_gpu_memory(),
        )
    )


def _vllm(training: ProcessGRPOConfig) -> Any:
    return "server" if training.vllm_mode == "server" else "vllm"


def _zero_stage() -> int:
    if os.environ.get("ACCELERATE_USE_FSDP") == "true":
        return 3
    if os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true":
        return int(os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2"))
    return 0


def _offload(stage: int) -> tuple[bool, bool]:
    """Whether Adam, and whether the weights too, live in the host's memory."""
    if os.environ.get("ACCELERATE_USE_FSDP") == "true":
        whole = os.environ.get("FSDP_OFFLOAD_PARAMS") == "true"
        return whole, whole
    if os.environ.get("ACCELERATE_USE_DEEPSPEED") != "true" or stage == 0:
        return False, False
    adam, weights = (
        os.environ.get(f"ACCELERATE_DEEPSPEED_OFFLOAD_{what}_DEVICE", "none") in ("cpu", "nvme")
        for what in ("OPTIMIZER", "PARAM")
    )
    return adam, adam and weights and stage == 3


def _gpu_memory() -> int:
    import torch  # noqa: PLC0415

    return int(torch.cuda.get_device_properties(0).total_memory) if torch.cuda.is_available() else 80_000_000_000
