"""What is to be planned: the model, the algorithm, and how it is spread over GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from markscheme.trainer.memory.architecture import Architecture
from markscheme.verifiers.errors import TrainerConfigError

Algorithm = Literal["grpo", "ppo"]
Precision = Literal["mixed", "autocast", "pure"]
Rollout = Literal["transformers", "vllm", "server"]
DType = Literal["float32", "bfloat16", "float16"]

WIDTHS: dict[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes a number."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be run.

    Attributes:
        shape: the policy's architecture.
        algorithm: "grpo" trains the policy; "ppo" a critic of the same size too.
        group: completions a prompt.
        prompts: prompts whose completions are generated at once, on all GPUs together.
        context: tokens of a prompt and its completion.
        prompt_tokens: of these, the prompt's; the loss is over the rest.
        gpus: how many.
        zero: ZeRO's stage, 0 to 3; FSDP's full sharding is 3.
        offload: Adam's state, the fp32 weights and the gradients live in the host's memory (ZeRO-Offload).
        offload_weights: so do the weights; stage 3 alone.
        lora_rank: train a LoRA of this rank; None: all weights.
        lora_targets: the linear maps that it is put on.
        dtype: what the model is computed in.
        precision: "mixed": weights and gradients in ``dtype``, Adam and a copy of the weights in fp32 (DeepSpeed).
            "autocast": weights, gradients and Adam in fp32, the arithmetic in ``dtype`` (Accelerate, FSDP). "pure": all
            in ``dtype``.
        micro_batch: sequences in one forward and backward pass on one GPU.
        checkpointing: activations are computed again in the backward pass.
        reference: a frozen copy of the policy for the KL term (none with LoRA: its base is the reference).
        critic: the critic's parameters under "ppo"; None: as many as the policy's.
        rollout: "transformers" generates with the trained weights; "vllm" with a copy on the same GPUs; "server"
            elsewhere.
        gpu_memory: bytes of one GPU.
    """

    shape: Architecture
    algorithm: Algorithm = "grpo"
    group: int = 8
    prompts: int = 1
    context: int = 4096
    prompt_tokens: int = 0
    gpus: int = 1
    zero: int = 0
    offload: bool = False
    offload_weights: bool = False
    lora_rank: int | None = None
    lora_targets: tuple[str, ...] = ("q_proj", "v_proj")
    dtype: DType = "bfloat16"
    precision: Precision = "mixed"
    micro_batch: int = 1
    checkpointing: bool = True
    reference: bool = True
    critic: int | None = None
    rollout: Rollout = "transformers"
    gpu_memory: int = 80_000_000_000

    def check(self) -> None:
        """See that the settings agree.

        Raises:
            TrainerConfigError: they do not.
        """
        for name in ("group", "prompts", "context", "gpus", "micro_batch", "gpu_memory"):
            if getattr(self, name) < 1:
                raise TrainerConfigError(f"{name}={getattr(self, name)}: expected at least 1")
        if self.critic is not None and self.critic < 1:
            raise TrainerConfigError(f"critic={self.critic}: expected at least 1, or None for the policy's parameters")
        if not 0 <= self.zero <= 3:
            raise TrainerConfigError(f"zero={self.zero}: ZeRO has the stages 0 to 3")
        if not 0 <= self.prompt_tokens < self.context:
            raise TrainerConfigError(
                f"prompt_tokens={self.prompt_tokens}: expected fewer than the context's {self.context}"
            )
        if self.offload and self.zero == 0:
            raise TrainerConfigError("offload needs a ZeRO stage from 1 on: it is ZeRO's shard that goes to the host")
        if self.offload_weights and not (self.offload and self.zero == 3):
            raise TrainerConfigError("offload_weights needs zero=3 and offload")
        if self.lora_rank is not None and self.lora_rank < 1:
            raise TrainerConfigError(f"lora_rank={self.lora_rank}: expected at least 1")

    @property
    def sequences(self) -> int:
        """Completions that one GPU generates at once."""
        return -(-self.prompts * self.group // self.gpus)

    @property
    def width(self) -> int:
        """Bytes of a number in the arithmetic."""
        return WIDTHS[self.dtype]

    @property
    def stored(self) -> int:
        """Bytes of a weight, and of a gradient."""
        return 4 if self.precision == "autocast" else self.width
