"""The planner's sums, by hand and against published figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from markscheme.trainer.memory import Item, Plan, Run, alternatives, nearest, plan
from markscheme.verifiers.errors import DataError, TrainerConfigError

SEVEN = nearest(7_000_000_000)


def items(**given: Any) -> dict[str, Item]:
    return {item.name: item for item in plan(Run(**{"shape": SEVEN, **given})).items}


def model_states(**given: Any) -> float:
    """GB of weights, gradients and Adam on each GPU."""
    found = plan(Run(**{"shape": nearest(7_500_000_000), "reference": False, **given}))
    return sum(item.gpu for item in found.items if item.name.startswith("policy")) / 1e9


def test_ppo_trains_two_models_and_grpo_one() -> None:
    """7B: 8 bytes a parameter of fp32 moments, 56 GB for the policy and as much for a critic."""
    assert plan(Run(SEVEN, "grpo")).adam == 56_000_000_000
    assert plan(Run(SEVEN, "ppo")).adam == 112_000_000_000
    assert plan(Run(SEVEN, "ppo", critic=1_000_000_000)).adam == 64_000_000_000
    assert not any(name.startswith("critic") for name in items(algorithm="grpo"))
    trained = {name.removeprefix("critic: ") for name in items(algorithm="ppo") if name.startswith("critic")}
    assert trained == {"weights", "fp32 weights", "Adam's moments", "gradients"}


@pytest.mark.parametrize(("zero", "gigabytes"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_the_stages_of_zero(zero: int, gigabytes: float) -> None:
    """ZeRO (arXiv 1910.02054), figure 1: 7.5B parameters on 64 GPUs, mixed precision."""
    assert round(model_states(zero=zero, gpus=64), 1) == gigabytes


def test_offloading_leaves_the_weights_on_the_gpu() -> None:
    """ZeRO-Offload (arXiv 2101.06840, §3.3): 2 bytes a parameter on the GPU and 14 on the host."""
    found = plan(Run(SEVEN, zero=2, offload=True, reference=False))
    assert sum(item.gpu for item in found.items if item.name.startswith("policy")) == 14_000_000_000
    assert found.host == 14 * 7_000_000_000
    everything = plan(Run(SEVEN, zero=3, gpus=8, offload=True, offload_weights=True, reference=False))
    assert everything.host == 16 * 7_000_000_000
    assert sum(item.gpu for item in everything.items if item.name.startswith("policy")) == 0


@pytest.mark.parametrize(
    ("precision", "dtype", "weights", "master", "moments", "gradients"),
    [
        ("mixed", "bfloat16", 2, 4, 8, 2),
        ("autocast", "bfloat16", 4, 0, 8, 4),
        ("pure", "bfloat16", 2, 0, 4, 2),
        ("mixed", "float32", 4, 0, 8, 4),
        ("pure", "float32", 4, 0, 8, 4),
    ],
)
def test_bytes_a_parameter(precision: Any, dtype: Any, weights: int, master: int, moments: int, gradients: int) -> None:
    found = items(precision=precision, dtype=dtype)
    held = [found.get(f"policy: {name}") for name in ("weights", "fp32 weights", "Adam's moments", "gradients")]
    per = [item.gpu // SEVEN.parameters if item else 0 for item in held]
    assert per == [weights, master, moments, gradients]
    assert all(item.exact for item in held if item)


def test_the_reference() -> None:
    assert items()["reference: weights"].gpu == 14_000_000_000
    assert items(zero=2, gpus=4)["reference: weights"].gpu == 14_000_000_000, "only stage 3 shards what is not trained"
    assert items(zero=3, gpus=4)["reference: weights"].gpu == 3_500_000_000
    assert "reference: weights" not in items(reference=False)
    assert "reference: weights" not in items(lora_rank=8), "the base is the reference"


def test_the_cache_is_that_of_this_gpus_completions() -> None:
    """Qwen2.5-7B: 28 layers, 4 key heads of 128: 57,344 bytes a token in 16 bits."""
    run = {"group": 64, "context": 16384, "gpus": 8}
    assert items(**run)["KV cache"].gpu == 57_344 * 16384 * 8
    assert items(**run, prompts=8)["KV cache"].gpu == 57_344 * 16384 * 64
    assert items(group=3, context=100, gpus=2)["KV cache"].gpu == 57_344 * 100 * 2, "the fuller of the two"
    assert items(**run, dtype="float32")["KV cache"].gpu == 2 * 57_344 * 16384 * 8


def test_what_generates() -> None:
    assert not {"KV cache", "rollout: weights"} & set(items(rollout="server"))
    assert items(rollout="vllm")["rollout: weights"].gpu == 14_000_000_000
    gathered = items(zero=3, gpus=8)["rollout: gathered weights"]
    assert (gathered.gpu, gathered.exact, gathered.phase) == (14_000_000_000, False, "generate")
    assert "rollout: gathered weights" not in items(zero=3, gpus=1)


def test_lora_trains_the_adapters_alone() -> None:
    """Rank 16 on the queries and values of 28 layers: 28·16·(3584 + 3584 + 3584 + 512)."""
    adapters = 28 * 16 * (3584 + 3584 + 3584 + 512)
    found = items(lora_rank=16)
    assert found["policy: frozen weights"].gpu == 14_000_000_000
    assert found["policy: Adam's moments"].gpu == 8 * adapters
    assert found["policy: gradients"].gpu == 2 * adapters
    assert items(lora_rank=16, precision="pure")["policy: adapters"].gpu == 4 * adapters, "peft keeps them in fp32"
    with pytest.raises(DataError, match="no linear map 'query'; LoRA's targets are q_proj, k_proj"):
        items(lora_rank=16, lora_targets=("query",))


def test_phases() -> None:
    found = plan(Run(SEVEN))
    generate = {item.name for item in found.items if item.phase == "generate"}
    update = {item.name for item in found.items if item.phase == "update"}
    assert generate == {"KV cache"}
    assert update == {"policy: gradients", "activations", "output head"}
    always = sum(item.gpu for item in found.items) - sum(i.gpu for i in found.items if i.name in generate | update)
    assert found.needed("generate") == always + items()["KV cache"].gpu
    assert found.peak == max(found.needed("generate"), found.needed("update"))


def test_estimates_are_marked() -> None:
    run = Run(SEVEN, gpus=8, precision="autocast", algorithm="ppo")
    names = {item.name for item in plan(run).items if not item.exact}
    assert names == {"activations", "output head", "autocast's weights", "communication"}


def test_checkpointing_keeps_one_layer() -> None:
    """28 layers' inputs of 2h bytes and one layer of 225,400 bytes a token."""
    assert items(context=1000)["activations"].gpu == 28 * 7168 * 1000 + 225_400 * 1000
    assert items(context=1000, checkpointing=False)["activations"].gpu == 28 * 225_400 * 1000


def test_whether_it_fits_and_what_would() -> None:
    run = Run(SEVEN, gpus=8, group=64, context=16384)
    tight = plan(run)
    assert not tight.fits
    found = dict(alternatives(run))
    assert "--zero 3" in found
    assert found["--zero 3"].fits
    assert all(other.fits for other in found.values())
    exact = Plan(replace(run, gpu_memory=round(tight.peak / 0.95) + 1), tight.items)
    assert exact.fits, "5 % of the GPU is kept back"
    assert not Plan(replace(run, gpu_memory=round(tight.peak / 0.95) - 2), tight.items).fits


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"zero": 4}, "ZeRO has the stages 0 to 3"),
        ({"group": 0}, "group=0: expected at least 1"),
        ({"algorithm": "ppo", "critic": 0}, "critic=0: expected at least 1, or None for the policy's parameters"),
        ({"offload": True}, "offload needs a ZeRO stage from 1 on"),
        ({"offload": True, "zero": 2, "offload_weights": True}, "offload_weights needs zero=3 and offload"),
        ({"prompt_tokens": 5000}, "prompt_tokens=5000: expected fewer than the context's 4096"),
        ({"lora_rank": 0}, "lora_rank=0: expected at least 1"),
    ],
)
def test_settings_that_do_not_agree(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainerConfigError, match=message):
        plan(Run(SEVEN, **settings))
