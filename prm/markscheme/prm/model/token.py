"""A token-classification head on any causal backbone.

Where transformers has the architecture's own token classifier (Qwen2, Llama, Mistral, …) and the head is linear, that
class is used, so that ``AutoModelForTokenClassification`` loads what was trained. Every other backbone, and the head of
two layers that Qwen2.5-Math-PRM has, go into `StepClassifier`, whose folder holds the backbone's own configuration and
weights named ``model.*`` and ``score.*``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForTokenClassification, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.utils import logging

from markscheme.verifiers.errors import DataError

HeadKind = Literal["linear", "mlp"]


class StepClassifier(PreTrainedModel):
    """A backbone with a head over its last hidden states.

    Args:
        config: the backbone's. ``prm_head`` (linear or mlp), ``num_labels`` and ``prm_head_bias`` are read from it.
        backbone: the backbone itself; None: made from the configuration, with random weights.
    """

    config: PretrainedConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _keys_to_ignore_on_load_unexpected = [r"^lm_head\."]  # noqa: RUF012 - as transformers declares it

    def __init__(self, config: PretrainedConfig, backbone: PreTrainedModel | None = None) -> None:
        attend_as_backbone(self, config)
        super().__init__(config)
        self.num_labels = int(config.num_labels or 2)
        auto: Any = AutoModel
        self.model = auto.from_config(config) if backbone is None else backbone
        kind: HeadKind = getattr(config, "prm_head", "linear")
        self.score = make_head(kind, config.hidden_size, self.num_labels, head_bias(config))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The backbone's."""
        return cast("nn.Module", self.model.get_input_embeddings())

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Set the backbone's."""
        self.model.set_input_embeddings(value)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput:
        """Return logits. (B, T, classes)."""
        if position_ids is not None:  # not every backbone takes them
            kwargs["position_ids"] = position_ids
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask, **kwargs).last_hidden_state
        first = next(self.score.parameters())
        return TokenClassifierOutput(logits=self.score(hidden.to(first.dtype)))


def attend_as_backbone(model: PreTrainedModel, config: PretrainedConfig) -> None:
    """Give a wrapper its backbone's attention back ends, before transformers chooses one of them."""
    backbone: Any = AutoModel._model_mapping[type(config)]
    backbone = backbone[0] if isinstance(backbone, tuple | list) else backbone
    for name in ("sdpa", "flash_attn", "flex_attn", "attention_backend"):
        object.__setattr__(model, f"_supports_{name}", getattr(backbone, f"_supports_{name}", False))


def make_head(kind: HeadKind, hidden_size: int, num_labels: int, bias: bool) -> nn.Module:  # noqa: FBT001
    """A head: one linear layer, or two with a rectifier between them, as wide as the backbone."""
    if kind == "linear":
        return nn.Linear(hidden_size, num_labels, bias=bias)
    if kind == "mlp":
        return nn.Sequential(
            nn.Linear(hidden_size, hidden_size, bias=bias),
            nn.ReLU(),
            nn.Linear(hidden_size, num_labels, bias=bias),
        )
    raise DataError(f"head: expected linear or mlp, got {kind!r}")


def head_bias(config: PretrainedConfig) -> bool:
    """Whether the head has biases; it has where the configuration does not say."""
    return bool(getattr(config, "prm_head_bias", True))


def token_model(
    backbone: str | Path,
    *,
    head: HeadKind = "linear",
    dtype: torch.dtype | str = "auto",
    seed: int = 0,
    **kwargs: Any,
) -> PreTrainedModel:
    """Put a new head of two classes on a backbone, for training.

    Args:
        backbone: a folder or a name on the Hub, of a causal language model.
        head: ``linear``, or ``mlp`` as Qwen2.5-Math-PRM has it.
        dtype: of the backbone; the head is kept in the same.
        seed: of the head's first weights.
        kwargs: passed to ``from_pretrained``: ``attn_implementation``, ``quantization_config``, ….

    Raises:
        DataError: not a causal backbone.
    """
    config = AutoConfig.from_pretrained(backbone)
    refuse_encoders(config, backbone)
    config.num_labels = 2
    config.id2label, config.label2id = {0: "wrong", 1: "right"}, {"wrong": 0, "right": 1}
    with torch.random.fork_rng(devices=[]), quiet_loading():
        torch.manual_seed(seed)
        if head == "linear" and type(config) in AutoModelForTokenClassification._model_mapping:
            model = AutoModelForTokenClassification.from_pretrained(backbone, config=config, dtype=dtype, **kwargs)
            return cast("PreTrainedModel", model)
        config.prm_head = head
        inner = AutoModel.from_pretrained(backbone, config=config, dtype=dtype, **kwargs)
        made = StepClassifier(config, inner)
    return cast("PreTrainedModel", made.to(inner.dtype))


def load_token_model(
    folder: str | Path,
    *,
    dtype: torch.dtype | str = "auto",
    key_mapping: dict[str, str] | None = None,
    changes: dict[str, Any] | None = None,
    **kwargs: Any,
) -> PreTrainedModel:
    """Load a trained token classifier.

    Args:
        folder: a folder or a name on the Hub.
        dtype: of the weights.
        key_mapping: new names for weights, by pattern.
        changes: settings of the configuration that the file does not hold: ``prm_head``, ``num_labels``.
        kwargs: passed to ``from_pretrained``.

    Raises:
        DataError: a weight of the head or the backbone is missing; transformers would make it up.
    """
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    for name, value in (changes or {}).items():
        setattr(config, name, value)
    own = hasattr(config, "prm_head")
    if not own and type(config) not in AutoModelForTokenClassification._model_mapping:
        raise DataError(f"{folder}: transformers has no token classifier for {config.model_type}, and no head is named")
    loader: Any = StepClassifier if own else AutoModelForTokenClassification
    model, info = loader.from_pretrained(
        folder, config=config, dtype=dtype, key_mapping=key_mapping, output_loading_info=True, **kwargs
    )
    refuse_missing(folder, info)
    return cast("PreTrainedModel", model)


def refuse_missing(folder: str | Path, info: dict[str, Any]) -> None:
    """Refuse a checkpoint that lacks weights.

    Raises:
        DataError: with their names.
    """
    missing = sorted(info["missing_keys"])
    if missing or info["mismatched_keys"]:
        shown = ", ".join(missing[:5]) or ", ".join(str(key[0]) for key in sorted(info["mismatched_keys"])[:5])
        raise DataError(
            f"{folder}: {len(missing)} weights are missing and {len(info['mismatched_keys'])} have another shape "
            f"({shown}); expected a trained step classifier of this layout, so name the right `format`"
        )


@contextlib.contextmanager
def quiet_loading() -> Iterator[None]:
    """Hold back transformers' report that a new head is new, and that the old one is not used."""
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)


def refuse_encoders(config: PretrainedConfig, backbone: str | Path) -> None:
    """Refuse a backbone whose tokens see later ones.

    Raises:
        DataError: with the reason.
    """
    if getattr(config, "is_encoder_decoder", False) or config.model_type in ("bert", "roberta", "modernbert"):
        raise DataError(
            f"{backbone}: {config.model_type} reads both ways, so a step's score would depend on later steps; "
            "expected a causal language model"
        )
