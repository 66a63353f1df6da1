"""A decoder's shape: how many parameters it has, how large its KV cache is, what LoRA adds. No torch is needed.

Counted exactly for the families of `FAMILIES`; for others the parameters are read from the folder's safetensors files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markscheme.verifiers.errors import DataError

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""A decoder layer's linear maps, by the names that LoRA targets."""
ATTENTION = LINEAR[:4]

FAMILIES = ("gemma", "llama", "mistral", "qwen2", "qwen3")
"""``model_type`` values whose parameters are counted from the configuration."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a decoder with grouped queries and a gated MLP.

    Attributes:
        name: what it is called.
        parameters: all of them; shared embeddings count once.
        layers: L.
        hidden: h.
        heads: query heads.
        kv_heads: key and value heads.
        head_dim: of each head.
        intermediate: f, the MLP's width.
        vocabulary: V.
        tied: the output embedding is the input embedding.
        windows: each layer's sliding window in tokens, None for full attention.
    """

    name: str
    parameters: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    windows: tuple[int | None, ...]

    @property
    def queries(self) -> int:
        """Features of all query heads together."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """Features of all key heads together; of the values' likewise."""
        return self.kv_heads * self.head_dim

    @property
    def linear(self) -> dict[str, tuple[int, int]]:
        """Each linear map of a layer: (features in, features out)."""
        h, q, k, f = self.hidden, self.queries, self.keys, self.intermediate
        return dict(zip(LINEAR, [(h, q), (h, k), (h, k), (q, h), (h, f), (h, f), (f, h)], strict=True))

    def kv_bytes(self, tokens: int, sequences: int, width: int) -> int:
        """Return the bytes of the keys and values of ``sequences`` of ``tokens`` each, ``width`` bytes a number.

        A layer with a window of w keeps w - 1 tokens, as transformers' DynamicCache does.
        """
        kept = sum(tokens if window is None else min(tokens, window - 1) for window in self.windows)
        return 2 * kept * self.keys * sequences * width

    def lora_parameters(self, rank: int, targets: tuple[str, ...]) -> int:
        """Return the parameters of a LoRA of ``rank`` on ``targets`` in every layer: rank·(in + out) for each.

        Raises:
            DataError: a target that is no linear map of the layer.
        """
        linear = self.linear
        if unknown := [name for name in targets if name not in linear]:
            raise DataError(
                f"no linear map {', '.join(map(repr, unknown))}; LoRA's targets are {', '.join(linear)}, or all-linear"
            )
        return self.layers * rank * sum(sum(linear[name]) for name in set(targets))


def count_parameters(config: Mapping[str, Any], shape: Architecture) -> int:
    """Count the parameters of a model of one of `FAMILIES` from its configuration."""
    kind = config["model_type"]
    h, layer = shape.hidden, sum(i * o for i, o in shape.linear.values())
    biased: tuple[str, ...] = ()
    if kind == "qwen2":
        biased = ATTENTION[:3]
    elif kind in ("llama", "qwen3", "gemma") and config.get("attention_bias"):
        biased = ATTENTION
    layer += sum(shape.linear[name][1] for name in biased)
    if kind == "llama" and config.get("mlp_bias"):
        layer += sum(shape.linear[name][1] for name in LINEAR[4:])
    layer += 2 * h  # the two norms
    if kind == "qwen3":
        layer += 2 * shape.head_dim  # norms of queries and keys
    return shape.layers * layer + h + shape.vocabulary * h * (1 if shape.tied else 2)


def read_architecture(path: Path, parameters: int | None = None) -> Architecture:
    """Read a model's shape from its folder, or from its ``config.json``.

    Args:
        path: the folder or the file.
        parameters: their number, where it is known better; None: counted.

    Raises:
        DataError: the file is no such configuration, or of a model whose cache is built otherwise.
        OSError: the file cannot be read.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{file}: not a model's configuration in JSON: {error}") from None
    if not isinstance(config, dict):
        raise DataError(f"{file}: expected a model's configuration, an object with model_type, hidden_size …")
    config = config.get("text_config", config)
    _refuse_others(config, file)
    try:
        shape = _shape(config, file)
    except (KeyError, TypeError) as error:
        raise DataError(f"{file}: expected the configuration of a decoder; {error} is missing or no number") from None
    if parameters is None and config["model_type"] in FAMILIES:
        parameters = count_parameters(config, shape)
    elif parameters is None:
        parameters = _stored_parameters(file.parent, str(config["model_type"]))
    return replace(shape, parameters=parameters)


def _refuse_others(config: Mapping[str, Any], file: Path) -> None:
    kinds = {
        "num_local_experts": "a mixture of experts",
        "num_experts": "a mixture of experts",
        "n_routed_experts": "a mixture of experts",
        "kv_lora_rank": "multi-head latent attention",
        "linear_num_key_heads": "linear attention",
    }
    for key, what in kinds.items():
        if config.get(key):
            raise DataError(f"{file}: {what} ({key}): this model's memory is not planned here")


def _shape(config: Mapping[str, Any], file: Path) -> Architecture:
    layers, heads, hidden = config["num_hidden_layers"], config["num_attention_heads"], config["hidden_size"]
    head_dim = config.get("head_dim") or hidden // heads
    return Architecture(
        name=f"{config['model_type']} ({file.parent.name})",
        parameters=0,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=head_dim,
        intermediate=config["intermediate_size"],
        vocabulary=config["vocab_size"],
        tied=bool(config.get("tie_word_embeddings", config["model_type"] == "gemma")),
        windows=_windows(config, layers, file),
    )


def _windows(config: Mapping[str, Any], layers: int, file: Path) -> tuple[int | None, ...]:
    """Each layer's window. Without ``layer_types``, Mistral's holds in every layer, Qwen's where it says so."""
    window = config.get("sliding_window")
    kinds = config.get("layer_types")
    if kinds is None:
        first = 0 if config["model_type"] == "mistral" else config.get("max_window_layers", layers)
        used = config["model_type"] == "mistral" or config.get("use_sliding_window", False)
        kinds = ["sliding_attention" if used and window and i >= first else "full_attention" for i in range(layers)]
    if other := set(kinds) - {"full_attention", "sliding_attention"}:
        raise DataError(f"{file}: layers of {', '.join(sorted(other))}: this model's memory is not planned here")
    return tuple(window if kind == "sliding_attention" else None for kind in kinds)


def _stored_parameters(folder: Path, kind: str) -> int:
    """Count the numbers in a folder's safetensors files, from their headers (shared embeddings are stored once)."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise DataError(
            f"{folder}: the parameters of model_type {kind!r} are not counted from a configuration (those of "
            f"{', '.join(FAMILIES)} are), and there are no safetensors files: pass --params"
        )
    total = 0
    for file in files:
        with file.open("rb") as stream:
            header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        total += sum(math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__")
    return total


def _qwen(size: str, layers: int, hidden: int, heads: int, kv_heads: int, intermediate: int) -> Architecture:
    tied = size in ("0.5B", "1.5B", "3B")
    shape = Architecture(
        f"Qwen2.5-{size}", 0, layers, hidden, heads, kv_heads, hidden // heads, intermediate,
        151936 if tied else 152064, tied, (None,) * layers,
    )  # fmt: skip
    return replace(shape, parameters=count_parameters({"model_type": "qwen2"}, shape))


TABLE = (
    _qwen("0.5B", 24, 896, 14, 2, 4864),
    _qwen("1.5B", 28, 1536, 12, 2, 8960),
    _qwen("3B", 36, 2048, 16, 2, 11008),
    _qwen("7B", 28, 3584, 28, 4, 18944),
    _qwen("14B", 48, 5120, 40, 8, 13824),
    _qwen("32B", 64, 5120, 40, 8, 27648),
    _qwen("72B", 80, 8192, 64, 8, 29568),
)
"""The shapes taken where only a number of parameters is given: the nearest in size, of Qwen2.5's configurations."""


def nearest(parameters: int) -> Architecture:
    """Return the shape of `TABLE` that is nearest in size, with ``parameters`` as given."""
    shape = min(TABLE, key=lambda one: abs(math.log(one.parameters / parameters)))
    return replace(shape, parameters=parameters)
