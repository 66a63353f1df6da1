"""What a recipe's rollouts come to in vLLM's own classes of arguments. No engine is made."""

from __future__ import annotations

import json
from typing import Any

import pytest

DRAFT = {"method": "mtp", "num_speculative_tokens": 1}


def served(settings: dict[str, Any]) -> Any:
    """The ``AsyncEngineArgs`` that `vllm serve` makes of the command."""
    from vllm.engine.arg_utils import AsyncEngineArgs  # noqa: PLC0415
    from vllm.entrypoints.launchers.cli_args import make_arg_parser  # noqa: PLC0415
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415

    from markscheme.trainer.rollouts import Rollouts, server_command  # noqa: PLC0415

    command = server_command(Rollouts.read({"mode": "server", **settings}), "policy").command
    arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(command[2:])
    arguments.model = arguments.model_tag or arguments.model
    return AsyncEngineArgs.from_cli_args(arguments)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"tensor_parallel_size": 4}, {"tensor_parallel_size": 4, "data_parallel_size": 1}),
        ({"data_parallel_size": 8}, {"tensor_parallel_size": 1, "data_parallel_size": 8}),
        ({"quantization": "fp8", "kv_cache_dtype": "fp8"}, {"quantization": "fp8", "kv_cache_dtype": "fp8"}),
        ({"speculative_config": DRAFT}, {"speculative_config": DRAFT}),
        (
            {"dtype": "bfloat16", "enforce_eager": True, "max_model_len": 4096, "gpu_memory_utilization": 0.85},
            {"dtype": "bfloat16", "enforce_eager": True, "max_model_len": 4096, "gpu_memory_utilization": 0.85},
        ),
        (
            {"engine": {"max_num_seqs": 512, "enable_prefix_caching": False, "enable_expert_parallel": True}},
            {"max_num_seqs": 512, "enable_prefix_caching": False, "enable_expert_parallel": True},
        ),
        (
            {"engine": {"distributed_executor_backend": "ray", "compilation_config": {"mode": 0}}},
            {"distributed_executor_backend": "ray"},
        ),
        ({}, {"model": "policy", "logprobs_mode": "processed_logprobs", "max_logprobs": -1, "port": None}),
    ],
)
def test_a_servers_flags(settings: dict[str, Any], expected: dict[str, Any]) -> None:
    found = served(settings)
    assert {name: getattr(found, name, None) for name in expected} == expected


def test_how_weights_reach_the_server() -> None:
    assert served({}).weight_transfer_config.backend == "nccl"


def test_the_colocate_engines_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through TRL's own class and vLLM's own ``EngineArgs``."""
    from types import SimpleNamespace  # noqa: PLC0415

    import trl.generation.vllm_generation as module  # noqa: PLC0415
    from vllm import EngineArgs  # noqa: PLC0415

    from markscheme.trainer.rollouts import Rollouts, colocate_engine  # noqa: PLC0415

    monkeypatch.setattr(module, "LLM", EngineArgs)
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "0")
    draft = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}
    rollouts = Rollouts.read(
        {
            "dtype": "float32",
            "kv_cache_dtype": "fp8",
            "enforce_eager": True,
            "speculative_config": draft,
            "max_model_len": 2048,
            "gpu_memory_utilization": 0.4,
            "engine": {"max_num_batched_tokens": 16384},
        }
    )
    fields = rollouts.training_fields({})
    ranks = {"num_processes": 1, "process_index": 0, "local_process_index": 0}
    with colocate_engine(rollouts.engine_arguments()):
        made = module.VLLMGeneration(
            SimpleNamespace(name_or_path="policy", named_modules=list),
            SimpleNamespace(
                **ranks,
                wait_for_everyone=lambda: None,
                is_main_process=True,
                state=SimpleNamespace(deepspeed_plugin=None),
            ),
            None,
            mode=fields["vllm_mode"],
            tensor_parallel_size=fields["vllm_tensor_parallel_size"],
            gpu_memory_utilization=fields["vllm_gpu_memory_utilization"],
            max_model_length=fields["vllm_max_model_length"],
        ).llm
    expected = {
        "model": "policy",
        "dtype": "float32",
        "kv_cache_dtype": "fp8",
        "enforce_eager": True,
        "speculative_config": draft,
        "max_model_len": 2048,
        "gpu_memory_utilization": 0.4,
        "max_num_batched_tokens": 16384,
        "tensor_parallel_size": 1,
        "distributed_executor_backend": "external_launcher",
        "logprobs_mode": "processed_logprobs",
    }
    assert {name: getattr(made, name) for name in expected} == expected, json.dumps(repr(made))
