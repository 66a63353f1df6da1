"""What generates a run's completions, and how: one mapping in a recipe, of which TRL's and vLLM's settings follow.

Names are vLLM's own (``vllm.EngineArgs``). Nothing here imports torch, TRL or vLLM.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from markscheme.verifiers.errors import TrainerConfigError

Mode = Literal["colocate", "server"]

SAMPLING: dict[str, dict[str, float | int]] = {
    "default": {"temperature": 1.0},
    "focused": {"temperature": 0.7, "top_k": 4},
}
"""Named ways to draw. ``focused`` draws from the four likeliest tokens at a temperature of 0.7."""

_DRAWN_BY = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")

_TRLS = {
    "model": "model_name_or_path",
    "seed": "seed",
    "revision": "model_revision",
    "trust_remote_code": "trust_remote_code",
    "model_impl": "vllm_model_impl",
    "enable_sleep_mode": "vllm_enable_sleep_mode",
    "host": "vllm_server_host",
    "port": "vllm_server_port",
}
"""Arguments of vLLM's that a field of TRL's sets, with that field."""

_IMPOSED = {
    "logprobs_mode": "the importance ratio needs the log-probabilities that tokens were drawn with",
    "max_logprobs": "the trainer asks for as many log-probabilities as it needs",
    "weight_transfer_config": "new weights reach the server by it",
}
"""Arguments that TRL sets because the trainer relies on them, with why."""


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What vLLM is to do in a training run.

    Raises:
        TrainerConfigError: an unknown name or value, or settings that contradict each other.
    """

    mode: Mode = "colocate"
    """``colocate``: each group of ``tensor_parallel_size`` training processes holds an engine, on the same GPUs.
    ``server``: one `vllm serve` on other GPUs generates for all."""
    sampling: str | Mapping[str, float | int] = "default"
    """A name of `SAMPLING`, or ``temperature``, ``top_k``, ``top_p``, ``min_p``, ``repetition_penalty``."""
    tensor_parallel_size: int = 1
    """GPUs over which an engine's weights are split."""
    data_parallel_size: int = 1
    """Engines behind the server's one address; needs this times ``tensor_parallel_size`` GPUs. With ``colocate`` the
    training processes say how many there are."""
    dtype: str = "auto"
    """Of the engine's weights: ``auto`` as the checkpoint says, ``bfloat16``, ``float16``, ``float32``."""
    quantization: str | None = None
    """``fp8``: weights are rounded as they arrive, and activations as they come. Needs a GPU with 8-bit floats, and
    ``server``: TRL's colocate writes new weights past what rounds them."""
    kv_cache_dtype: str = "auto"
    """Of keys and values: ``fp8`` halves what a token takes up."""
    speculative_config: Mapping[str, Any] | None = None
    """Drafted tokens that the policy accepts or not, as vLLM takes it, such as ``{"method": "ngram",
    "num_speculative_tokens": 4, "prompt_lookup_max": 4}`` or ``{"method": "mtp", "num_speculative_tokens": 1}``."""
    enforce_eager: bool = False
    """Neither compile nor capture CUDA graphs: a quicker start, slower tokens."""
    gpu_memory_utilization: float | None = None
    """The share of a GPU's memory that vLLM takes, weights included. Default: TRL's."""
    max_model_len: int | None = None
    """Prompt and completion at most, in tokens. Default: the model's."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    """Any other argument of ``vllm.EngineArgs``."""

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise TrainerConfigError(f"rollouts: mode: expected colocate or server, found {self.mode!r}")
        for name in ("tensor_parallel_size", "data_parallel_size"):
            size = getattr(self, name)
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise TrainerConfigError(
                    f"rollouts: {name}: expected a whole number of GPUs or engines, found {size!r}"
                )
        for name in self.engine:
            self._check_engine(name)
        self.drawing()
        if self.mode == "colocate":
            self._check_colocate()

    @classmethod
    def read(cls, value: Any, where: str = "rollouts") -> Rollouts:
        """Read what a recipe holds: a mode's name, a mapping, or a mapping as JSON.

        Raises:
            TrainerConfigError: it is none of these, or names something that there is not.
        """
        if isinstance(value, str):
            try:
                value = json.loads(value) if value.lstrip().startswith("{") else {"mode": value}
            except json.JSONDecodeError as error:
                raise TrainerConfigError(f"{where}: no JSON: {error}") from error
        if not isinstance(value, Mapping):
            raise TrainerConfigError(f"{where}: expected colocate, server or a mapping, found {value!r:.80}")
        known = [one.name for one in fields(cls)]
        for name in value:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
                raise TrainerConfigError(
                    f"{where}: no setting {name!r}: {hint} Other arguments of vLLM's engine go under `engine`"
                )
        return cls(**value)

    def drawing(self) -> dict[str, float | int]:
        """How tokens are drawn, by TRL's names."""
        if isinstance(self.sampling, str):
            if self.sampling not in SAMPLING:
                raise TrainerConfigError(
                    f"rollouts: sampling: expected {', '.join(SAMPLING)} or a mapping, found {self.sampling!r}"
                )
            return dict(SAMPLING[self.sampling])
        for name, value in self.sampling.items():
            if name not in _DRAWN_BY or isinstance(value, bool) or not isinstance(value, int | float):
                raise TrainerConfigError(
                    f"rollouts: sampling: expected numbers under {', '.join(_DRAWN_BY)}, found {name}: {value!r}"
                )
        return dict(self.sampling)

    def training_fields(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """TRL's fields that follow.

        Where tokens are left out (top-k, top-p, min-p) the importance-sampling correction is off: its ratio would hold
        the probability of what was left out, once a token, and vanish over a long completion.

        Args:
            given: fields that were set by themselves; of those of ``sampling`` and of the correction, these win.

        Raises:
            TrainerConfigError: a field was set to something else.
        """
        follows: dict[str, Any] = {"use_vllm": True, "vllm_mode": self.mode}
        if self.mode == "colocate":
            follows["vllm_tensor_parallel_size"] = self.tensor_parallel_size
            follows["vllm_gpu_memory_utilization"] = self.gpu_memory_utilization
            follows["vllm_max_model_length"] = self.max_model_len
        follows = {name: value for name, value in follows.items() if value is not None}
        for name, value in follows.items():
            if given.get(name, value) != value:
                raise TrainerConfigError(
                    f"{name} is {given[name]!r}, but rollouts says {value!r}: leave {name} to rollouts"
                )
        drawn = {**self.drawing(), **{name: given[name] for name in _DRAWN_BY if name in given}}
        if _leaves_out(drawn):
            follows["vllm_importance_sampling_correction"] = False
        return {**follows, **drawn}

    def engine_arguments(self) -> dict[str, Any]:
        """What colocate mode adds to the arguments that TRL gives ``vllm.LLM``; empty where nothing is set."""
        found: dict[str, Any] = {}
        for name in ("dtype", "kv_cache_dtype", "speculative_config", "enforce_eager"):
            value = getattr(self, name)
            if value not in ("auto", None, False):
                found[name] = dict(value) if isinstance(value, Mapping) else value
        return {**found, **self.engine}

    def _check_engine(self, name: str) -> None:
        own = {one.name for one in fields(self)}
        if name in own:
            raise TrainerConfigError(f"rollouts: engine: {name} is a setting of rollouts itself: write it there")
        if name == "seed" and self.mode == "colocate":
            raise TrainerConfigError(
                "rollouts: engine: seed is set by TRL: each engine has its place among the engines, 0, 1, …, so that "
                "they draw apart; the field seed does not reach them"
            )
        if name in _TRLS:
            raise TrainerConfigError(f"rollouts: engine: {name} follows from the field {_TRLS[name]}: set that")
        if name in _IMPOSED:
            raise TrainerConfigError(f"rollouts: engine: {name} is set by TRL: {_IMPOSED[name]}")
        if name == "distributed_executor_backend" and self.mode == "colocate":
            raise TrainerConfigError(
                f"rollouts: engine: in colocate mode the training processes are vLLM's: leave {name}"
            )

    def _check_colocate(self) -> None:
        if self.data_parallel_size != 1:
            raise TrainerConfigError(
                f"rollouts: data_parallel_size={self.data_parallel_size} needs mode: server. In colocate mode there "
                "are as many engines as training processes, divided by tensor_parallel_size"
            )
        if self.quantization is not None:
            raise TrainerConfigError(
                f"rollouts: quantization={self.quantization!r} needs mode: server. In colocate mode TRL writes new "
                "weights into the engine's layers, past what rounds them; kv_cache_dtype: fp8 works in both"
            )


def _leaves_out(drawn: Mapping[str, Any]) -> bool:
    return bool((drawn.get("top_k") or 0) > 0 or (drawn.get("top_p") or 1.0) < 1 or (drawn.get("min_p") or 0.0) > 0)
