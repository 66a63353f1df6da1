"""The model that is trained, and what is read from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn
from transformers import PreTrainedModel

from markscheme.prm.model.causal import last_token, lm_model
from markscheme.prm.model.pair import PairClassifier, pair_model
from markscheme.prm.model.readout import LMReadout, Readout, SpanReadout, TokenReadout
from markscheme.prm.model.token import token_model
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from peft import PeftConfig
    from transformers import PreTrainedTokenizerBase

    from markscheme.prm.training.config import PRMConfig


def build_model(model: str | Path | PreTrainedModel, args: PRMConfig, options: dict[str, Any]) -> PreTrainedModel:
    """Put the head on a backbone, or check that a given model ends in it.

    Raises:
        DataError: the given model ends in another head.
    """
    if isinstance(model, PreTrainedModel):
        pair = isinstance(model, PairClassifier)
        language = cast("Any", model).get_output_embeddings() is not None
        found = "pair" if pair else "lm" if language else "linear"
        if found != args.head and not (found == "linear" and args.head == "mlp"):
            raise DataError(f"the model given ends in a head of kind {found!r}, but args.head is {args.head!r}")
        return model
    if args.head == "pair":
        return pair_model(
            model,
            width=args.pair_width,
            dropout=args.pair_dropout,
            product=args.pair_product,
            seed=args.seed,
            **options,
        )
    if args.head == "lm":
        return lm_model(model, **options)
    return token_model(model, head=cast("Any", args.head), seed=args.seed, **options)


def without_dropout(model: PreTrainedModel) -> None:
    """Switch dropout off for good; a pair head keeps its own, since that is a setting."""
    kept = set(model.pair.modules()) if isinstance(model, PairClassifier) else set()
    for part in model.modules():
        if isinstance(part, nn.Dropout) and part not in kept:
            part.p = 0.0


def readout_for(args: PRMConfig, tokenizer: PreTrainedTokenizerBase) -> Readout:
    """How a step's logit is read from the model."""
    if args.head == "pair":
        return SpanReadout(args.pair_temperature)
    if args.head == "lm":
        good, bad = last_token(tokenizer, args.good_token), last_token(tokenizer, args.bad_token)
        return LMReadout(good, bad, shift=-1 if args.layout == "turns" else 0)
    return TokenReadout()


def adapt(model: PreTrainedModel, config: PeftConfig, args: PRMConfig) -> PreTrainedModel:
    """Put an adapter on a model. A head of classes is trained whole beside it.

    Raises:
        DataError: a frozen backbone takes no adapter.
    """
    from peft import get_peft_model  # noqa: PLC0415 - only where an adapter is asked for

    if args.head == "pair":
        raise DataError("the pair head's backbone is frozen: an adapter would change the states that it is trained on")
    if args.head in ("linear", "mlp"):
        heads = [name for name, part in model.named_children() if name != model.base_model_prefix]
        heads = [name for name in heads if any(True for _ in getattr(model, name).parameters())]
        settings: Any = config
        settings.modules_to_save = sorted({*(settings.modules_to_save or []), *heads})
    if args.gradient_checkpointing or getattr(args, "activation_checkpointing", False):
        cast("Any", model).enable_input_require_grads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(args.seed)
        return cast("PreTrainedModel", get_peft_model(model, config))
