"""One mapping in a recipe, and the settings of TRL and vLLM that follow from it. No vLLM here: see tests/vllm_cpu."""

from __future__ import annotations

from typing import Any

import pytest

from markscheme.benchmarks.rollouts.sampling import PRESETS
from markscheme.trainer.rollouts.settings import SAMPLING, Rollouts
from markscheme.verifiers.errors import TrainerConfigError


def test_presets_are_those_of_evaluation() -> None:
    assert all(PRESETS[name] == settings for name, settings in SAMPLING.items())
    assert SAMPLING["focused"] == {"temperature": 0.7, "top_k": 4}


def test_colocate_is_the_default_and_sets_trls_fields() -> None:
    assert Rollouts.read("colocate") == Rollouts()
    assert Rollouts().training_fields({}) == {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_tensor_parallel_size": 1,
        "temperature": 1.0,
    }
    assert Rollouts().engine_arguments() == {}, "TRL's engine stays as it is"


def test_every_colocate_setting_goes_somewhere() -> None:
    draft = {"method": "mtp", "num_speculative_tokens": 1}
    found = Rollouts.read(
        {
            "tensor_parallel_size": 2,
            "dtype": "bfloat16",
            "kv_cache_dtype": "fp8",
            "speculative_config": draft,
            "enforce_eager": True,
            "gpu_memory_utilization": 0.4,
            "max_model_len": 2048,
            "engine": {"max_num_batched_tokens": 16384},
        }
    )
    fields = found.training_fields({})
    assert fields["vllm_tensor_parallel_size"] == 2
    assert fields["vllm_gpu_memory_utilization"] == 0.4
    assert fields["vllm_max_model_length"] == 2048
    assert found.engine_arguments() == {
        "dtype": "bfloat16",
        "kv_cache_dtype": "fp8",
        "speculative_config": draft,
        "enforce_eager": True,
        "max_num_batched_tokens": 16384,
    }


def test_a_servers_engine_is_the_servers() -> None:
    fields = Rollouts.read({"mode": "server", "tensor_parallel_size": 4, "max_model_len": 2048}).training_fields({})
    assert fields == {"use_vllm": True, "vllm_mode": "server", "temperature": 1.0}


@pytest.mark.parametrize("sampling", ["focused", {"top_p": 0.9}, {"min_p": 0.05}, {"top_k": 4}])
def test_no_importance_ratio_where_tokens_are_left_out(sampling: Any) -> None:
    assert Rollouts.read({"sampling": sampling}).training_fields({})["vllm_importance_sampling_correction"] is False


@pytest.mark.parametrize("sampling", ["default", {"temperature": 0.7}, {"top_k": 0, "top_p": 1.0}])
def test_an_importance_ratio_where_none_is(sampling: Any) -> None:
    assert "vllm_importance_sampling_correction" not in Rollouts.read({"sampling": sampling}).training_fields({})


def test_tokens_left_out_by_fields_of_ones_own_count_too() -> None:
    assert Rollouts().training_fields({"top_k": 4})["vllm_importance_sampling_correction"] is False
    assert "vllm_importance_sampling_correction" not in Rollouts(sampling="focused").training_fields({"top_k": 0})


REFUSED = [
    ("remote", "mode: expected colocate or server, found 'remote'"),
    (3, "rollouts: expected colocate, server or a mapping, found 3"),
    ("{mode", "rollouts: no JSON"),
    ({"tensor_parallel": 2}, "no setting 'tensor_parallel': did you mean tensor_parallel_size?"),
    ({"tensor_parallel_size": 0}, "tensor_parallel_size: expected a whole number of GPUs or engines, found 0"),
    ({"data_parallel_size": 8}, "data_parallel_size=8 needs mode: server"),
    ({"quantization": "fp8"}, "quantization='fp8' needs mode: server"),
    ({"sampling": "focussed"}, "sampling: expected default, focused or a mapping, found 'focussed'"),
    ({"sampling": {"top_k": "4"}}, "found top_k: '4'"),
    ({"sampling": {"temp": 1}}, "found temp: 1"),
    ({"engine": {"dtype": "float32"}}, "engine: dtype is a setting of rollouts itself"),
    ({"engine": {"seed": 1}}, "engine: seed is set by TRL: each engine has its place among the engines"),
    ({"engine": {"seed": 1}, "mode": "server"}, "engine: seed follows from the field seed"),
    ({"engine": {"model": "x"}}, "engine: model follows from the field model_name_or_path"),
    ({"engine": {"logprobs_mode": "raw_logprobs"}}, "logprobs_mode is set by TRL: the importance ratio needs"),
    ({"engine": {"distributed_executor_backend": "ray"}}, "in colocate mode the training processes are vLLM's"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED)
def test_what_cannot_be_is_said(value: Any, message: str) -> None:
    with pytest.raises(TrainerConfigError) as raised:
        Rollouts.read(value)
    assert message in str(raised.value)


def test_contradictions_are_named() -> None:
    with pytest.raises(TrainerConfigError, match="vllm_mode is 'server', but rollouts says 'colocate'"):
        Rollouts().training_fields({"vllm_mode": "server"})
    with pytest.raises(TrainerConfigError, match="use_vllm is False, but rollouts says True"):
        Rollouts().training_fields({"use_vllm": False})
