"""What the planner calls exact is what torch, transformers and peft allocate, to the byte."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.train,
    # peft asks for names that transformers 5.24 calls deprecated; older transformers know no other name of the cache.
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*past_key_values.* is deprecated:FutureWarning"),
]
NEEDED = "needs torch and TRL: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
transformers = pytest.importorskip("transformers", reason=NEEDED)
peft = pytest.importorskip("peft", reason=NEEDED)

from markscheme.trainer.memory import Run, nearest, plan, read_architecture  # noqa: E402
from markscheme.trainer.memory.activations import token_bytes  # noqa: E402
from markscheme.trainer.memory.architecture import LINEAR, TABLE  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402

SMALL = {
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 101,
    "max_position_embeddings": 4096,
}
KINDS: dict[str, dict[str, Any]] = {
    "qwen2": {"tie_word_embeddings": True},
    "qwen2, untied": {"tie_word_embeddings": False},
    "qwen3": {"head_dim": 32},
    "qwen3, biased": {"attention_bias": True},
    "llama": {},
    "llama, biased": {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
    "llama, one head each": {"num_key_value_heads": 4},
    "mistral": {"sliding_window": None, "head_dim": 32},
    "gemma": {"head_dim": 24},
}


def build(name: str, dtype: Any = None) -> Any:
    kind = name.split(",", maxsplit=1)[0]
    config = transformers.AutoConfig.for_model(kind, **{**SMALL, **KINDS.get(name, {})})
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    return model.to(dtype) if dtype else model


def shape_of(model: Any, folder: Path) -> Any:
    model.config.save_pretrained(folder)
    return read_architecture(folder)


def items(run: Run) -> dict[str, int]:
    return {item.name: item.gpu for item in plan(run).items}


def size(tensors: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.mark.parametrize("name", KINDS)
def test_parameters_are_counted_from_the_configuration(name: str, tmp_path: Path) -> None:
    model = build(name)
    assert shape_of(model, tmp_path).parameters == model.num_parameters()


@pytest.mark.parametrize("shape", TABLE, ids=lambda shape: shape.name)
def test_the_table_is_of_models_as_published(shape: Any) -> None:
    """494,032,768 … 72,706,203,648 parameters, as their safetensors files state."""
    config = transformers.Qwen2Config(
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tied,
    )
    with torch.device("meta"):
        assert transformers.Qwen2ForCausalLM(config).num_parameters() == shape.parameters
    assert nearest(shape.parameters) == shape


@pytest.mark.parametrize(("precision", "dtype"), [("pure", "float32"), ("pure", "bfloat16"), ("autocast", "bfloat16")])
def test_weights_gradients_and_adam(precision: Any, dtype: Any, tmp_path: Path) -> None:
    """One real step of torch's AdamW; its step counters, 4 bytes a tensor, are left out."""
    model = build("qwen2", getattr(torch, dtype) if precision == "pure" else None)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 101, (2, 8))
    autocast = torch.autocast("cpu", torch.bfloat16) if precision == "autocast" else contextlib.nullcontext()
    with autocast:
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    found = items(Run(shape_of(model, tmp_path), dtype=dtype, precision=precision))
    assert found["policy: weights"] == size(model.parameters())
    assert found["policy: gradients"] == size(p.grad for p in model.parameters())
    states = optimizer.state.values()
    assert found["policy: Adam's moments"] == size(s[key] for s in states for key in ("exp_avg", "exp_avg_sq"))
    assert {key for state in states for key in state} == {"step", "exp_avg", "exp_avg_sq"}


@pytest.mark.parametrize("name", ["qwen2", "llama, one head each", "qwen3", "gemma", "mistral"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_cache(name: str, dtype: Any, tmp_path: Path) -> None:
    """transformers' DynamicCache after a prompt and some generated tokens."""
    model = build(name, getattr(torch, dtype))
    cache = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        model(input_ids=torch.randint(0, 101, (6, 5)), past_key_values=cache)
        for _ in range(7):
            model(input_ids=torch.randint(0, 101, (6, 1)), past_key_values=cache)
    held = size(tensor for layer in cache.layers for tensor in (layer.keys, layer.values))
    run = Run(shape_of(model, tmp_path), group=3, prompts=4, gpus=2, context=12, dtype=dtype, precision="pure")
    assert run.sequences == 6
    assert items(run)["KV cache"] == held


def test_the_cache_of_a_sliding_window(tmp_path: Path) -> None:
    config = transformers.Qwen2Config(**SMALL, use_sliding_window=True, sliding_window=8, max_window_layers=1)
    model = transformers.Qwen2ForCausalLM(config)
    cache = transformers.DynamicCache(config=config)
    with torch.no_grad():
        for _ in range(20):
            model(input_ids=torch.randint(0, 101, (2, 1)), past_key_values=cache)
    held = size(tensor for layer in cache.layers for tensor in (layer.keys, layer.values))
    shape = shape_of(model, tmp_path)
    assert shape.windows == (None, 8, 8)
    assert shape.kv_bytes(20, 2, 4) == held
    # Older files have no layer_types.
    text = json.loads((tmp_path / "config.json").read_text())
    del text["layer_types"]
    (tmp_path / "config.json").write_text(json.dumps(text))
    assert read_architecture(tmp_path / "config.json").windows == (None, 8, 8)


@pytest.mark.parametrize("targets", [("q_proj", "v_proj"), LINEAR], ids=["queries and values", "all linear"])
@pytest.mark.parametrize("name", ["qwen2", "qwen3", "gemma"])
def test_lora_by_peft(name: str, targets: tuple[str, ...], tmp_path: Path) -> None:
    model = build(name, torch.bfloat16)
    shape = shape_of(model, tmp_path)
    chosen = "all-linear" if targets is LINEAR else list(targets)
    wrapped = peft.get_peft_model(model, peft.LoraConfig(r=6, target_modules=chosen, task_type="CAUSAL_LM"))
    trained = [p for p in wrapped.parameters() if p.requires_grad]
    found = items(Run(shape, lora_rank=6, lora_targets=targets, precision="pure"))
    assert shape.lora_parameters(6, targets) == sum(p.numel() for p in trained)
    assert found["policy: adapters"] == size(trained)
    assert found["policy: frozen weights"] == size(p for p in wrapped.parameters() if not p.requires_grad)
    optimizer = torch.optim.AdamW(trained)
    wrapped(input_ids=torch.ones(1, 4, dtype=torch.long), labels=torch.ones(1, 4, dtype=torch.long)).loss.backward()
    optimizer.step()
    states = optimizer.state.values()
    assert found["policy: Adam's moments"] == size(s[key] for s in states for key in ("exp_avg", "exp_avg_sq"))
    assert found["policy: gradients"] == size(p.grad for p in trained)


def test_peft_targets_queries_and_values_by_default() -> None:
    """What the planner's default assumes, and what a recipe without ``lora_target_modules`` gets."""
    model = peft.get_peft_model(build("qwen2"), peft.LoraConfig(task_type="CAUSAL_LM"))
    assert set(model.peft_config["default"].target_modules) == set(Run(nearest(10**9)).lora_targets)


def kept_for_backward(model: Any, tokens: int, *, autocast: bool) -> int:
    """Bytes of the tensors that autograd keeps, the model's parameters and autocast's copies of them left out."""
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept: dict[int, int] = {}
    alive = []

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
            alive.append(tensor)
        return tensor

    inside = torch.autocast("cpu", torch.bfloat16) if autocast else contextlib.nullcontext()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), inside:
        output = model.model(input_ids=torch.randint(0, 101, (1, tokens)), use_cache=False).last_hidden_state
    assert output.requires_grad
    return sum(kept.values())


@pytest.mark.parametrize("name", ["qwen2", "llama", "llama, one head each"])
@pytest.mark.parametrize("mode", ["float32", "bfloat16", "autocast"])
def test_activations_are_what_autograd_keeps(name: str, mode: str, tmp_path: Path) -> None:
    """Per layer and token, from the differences between two depths and two lengths."""
    sizes: dict[tuple[int, int], int] = {}
    for depth in (1, 3):
        given = {**SMALL, **KINDS[name], "num_hidden_layers": depth}
        config = transformers.AutoConfig.for_model(name.split(",", maxsplit=1)[0], **given)
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
        if mode == "bfloat16":
            model = model.to(torch.bfloat16)
        for tokens in (64, 192):
            sizes[depth, tokens] = kept_for_backward(model, tokens, autocast=mode == "autocast")
    shape = shape_of(model, tmp_path)
    more = (sizes[3, 192] - sizes[3, 64]) - (sizes[1, 192] - sizes[1, 64])
    width = 4 if mode == "float32" else 2
    assert more == 2 * 128 * token_bytes(shape, width, autocast=mode == "autocast")


def test_other_models_are_counted_from_their_files(tmp_path: Path) -> None:
    config = transformers.AutoConfig.for_model("olmo2", **SMALL)
    model = transformers.AutoModelForCausalLM.from_config(config)
    config.save_pretrained(tmp_path)
    with pytest.raises(DataError, match=r"model_type 'olmo2' are not counted .* no safetensors files: pass --params"):
        read_architecture(tmp_path)
    assert read_architecture(tmp_path, 123).parameters == 123
    model.save_pretrained(tmp_path)
    assert read_architecture(tmp_path).parameters == model.num_parameters()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a model's configuration in JSON"),
        ("[]", "expected a model's configuration, an object"),
        ('{"model_type": "qwen2"}', "'num_hidden_layers' is missing or no number"),
        ('{"model_type": "mixtral", "num_local_experts": 8}', "a mixture of experts"),
        ('{"model_type": "deepseek_v3", "kv_lora_rank": 512}', "multi-head latent attention"),
    ],
)
def test_files_that_are_no_such_model(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(DataError, match=message):
        read_architecture(tmp_path)


def test_layers_of_another_kind(tmp_path: Path) -> None:
    model = build("qwen2")
    model.config.save_pretrained(tmp_path)
    text = json.loads((tmp_path / "config.json").read_text())
    text["layer_types"][0] = "linear_attention"
    (tmp_path / "config.json").write_text(json.dumps(text))
    with pytest.raises(DataError, match="layers of linear_attention: this model's memory is not planned here"):
        read_architecture(tmp_path)
