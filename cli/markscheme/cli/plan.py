"""``markscheme plan``: what a training run needs of each GPU's memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from markscheme.trainer.memory.run import DType

_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "gb": 1e9, "t": 1e12, "mib": 2.0**20, "gib": 2.0**30}


def _number(text: str | float) -> float:
    """Read 7e9, 7B or 80GiB."""
    import re

    found = re.fullmatch(r"([-+]?(?:[\d.]+(?:e[-+]?\d+)?|inf|nan))\s*([a-z]*)", str(text).strip().lower())
    if found is None or found[2] not in _UNITS:
        raise typer.BadParameter(f"expected a number such as 7e9, 7B or 80GiB, found {text!r}")
    try:
        return float(found[1]) * _UNITS[found[2]]
    except ValueError:
        raise typer.BadParameter(f"expected a number such as 7e9, 7B or 80GiB, found {text!r}") from None


DTypeName = Literal["bf16", "fp16", "fp32", "bfloat16", "float16", "float32"]
_LONG: dict[DTypeName, DType] = {
    "bf16": "bfloat16", "fp16": "float16", "fp32": "float32",
    "bfloat16": "bfloat16", "float16": "float16", "float32": "float32",
}  # fmt: skip


def plan(
    *,
    params: Annotated[
        float | None, typer.Option(parser=_number, metavar="NUMBER", help="The policy's parameters, such as 7e9 or 7B.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="A model's folder or config.json. Default: the shape nearest to --params.")
    ] = None,
    algorithm: Annotated[Literal["grpo", "ppo"], typer.Option(help="ppo trains a critic too.")] = "grpo",
    group: Annotated[int, typer.Option(min=1, help="Completions a prompt.")] = 8,
    prompts: Annotated[int, typer.Option(min=1, help="Prompts generated at once, on all GPUs together.")] = 1,
    context: Annotated[int, typer.Option(min=2, help="Tokens of a prompt and its completion.")] = 4096,
    prompt_tokens: Annotated[int, typer.Option(min=0, help="Of these, the prompt's.")] = 0,
    gpus: Annotated[int, typer.Option(min=1, help="How many.")] = 1,
    gpu_memory: Annotated[
        float, typer.Option(parser=_number, metavar="NUMBER", help="Bytes of one GPU, such as 80e9 or 80GiB.")
    ] = 80e9,
    zero: Annotated[int, typer.Option(min=0, max=3, help="ZeRO's stage; FSDP is 3.")] = 0,
    offload: Annotated[bool, typer.Option("--offload", help="Adam, fp32 weights and gradients on the host.")] = False,
    offload_weights: Annotated[bool, typer.Option("--offload-weights", help="The weights too; with --zero 3.")] = False,
    lora: Annotated[bool, typer.Option("--lora", help="Train a LoRA.")] = False,
    lora_rank: Annotated[int, typer.Option(min=1, help="Its rank.")] = 16,
    lora_targets: Annotated[
        str, typer.Option(help="The linear maps it is put on, with commas between; or all-linear.")
    ] = "q_proj,v_proj",
    dtype: Annotated[DTypeName, typer.Option(help="What the model is computed in.")] = "bf16",
    precision: Annotated[
        Literal["mixed", "autocast", "pure"],
        typer.Option(
            help="mixed: DeepSpeed's; autocast: fp32 weights, as in Accelerate and FSDP; pure: all in --dtype."
        ),
    ] = "mixed",
    micro_batch: Annotated[int, typer.Option(min=1, help="Sequences in one pass on one GPU.")] = 1,
    checkpointing: Annotated[bool, typer.Option(help="Activations are computed again in the backward pass.")] = True,
    reference: Annotated[bool, typer.Option(help="A frozen copy for the KL term (beta > 0).")] = True,
    critic_params: Annotated[
        float | None,
        typer.Option(parser=_number, metavar="NUMBER", help="The critic's parameters. Default: the policy's."),
    ] = None,
    rollout: Annotated[
        Literal["transformers", "vllm", "server"],
        typer.Option(help="What generates: the trained weights, vLLM on the same GPUs, or a server elsewhere."),
    ] = "transformers",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Plan a training run's memory: weights, gradients, Adam and KV cache exactly, activations by estimate.

    Exits with 0 when it fits and with 1 when it does not.
    """
    import json

    from markscheme.cli.terminal import errors_shown, fail, safe
    from markscheme.trainer import memory
    from markscheme.trainer.memory.architecture import LINEAR
    from markscheme.trainer.memory.show import as_json as json_of
    from markscheme.trainer.memory.show import describe

    if params is None and model is None:
        fail("expected --params, such as --params 7e9, or --model FOLDER")
    for option, value in (("params", params), ("critic-params", critic_params), ("gpu-memory", gpu_memory)):
        if value is not None and not 1 <= value < 1e18:
            what = "bytes, such as 80e9" if option == "gpu-memory" else "parameters, such as 7e9"
            fail(f"--{option} {value:g}: expected a number of {what}")
    targets = LINEAR if lora_targets == "all-linear" else tuple(name.strip() for name in lora_targets.split(","))
    with errors_shown():
        count = None if params is None else int(params)
        shape = memory.nearest(count or 0) if model is None else memory.read_architecture(model, count)
        found = memory.plan(
            memory.Run(
                shape=shape,
                algorithm=algorithm,
                group=group,
                prompts=prompts,
                context=context,
                prompt_tokens=prompt_tokens,
                gpus=gpus,
                zero=zero,
                offload=offload,
                offload_weights=offload_weights,
                lora_rank=lora_rank if lora else None,
                lora_targets=targets,
                dtype=_LONG[dtype],
                precision=precision,
                micro_batch=micro_batch,
                checkpointing=checkpointing,
                reference=reference,
                critic=None if critic_params is None else int(critic_params),
                rollout=rollout,
                gpu_memory=int(gpu_memory),
            )
        )
        typer.echo(json.dumps(json_of(found)) if as_json else safe(describe(found), keep_newlines=True))
    raise typer.Exit(0 if found.fits else 1)
