"""Readers of public checkpoints.

Each follows the code of the checkpoint's model card or its authors' repository; none runs code of a checkpoint
(``trust_remote_code`` stays off).

| format | checkpoints | what is read |
|---|---|---|
| qwen2.5-math-prm | Qwen2.5-Math-PRM-7B, -72B, Qwen2.5-Math-7B-PRM800K | p of class 1 at ``<extra_0>`` |
| math-shepherd | math-shepherd-mistral-7b-prm | p of ``+`` against ``-`` at the tag ``ки`` |
| rlhflow | Llama3.1-8B-PRM-Deepseek-Data, -Mistral-Data | p of ``+`` against ``-`` as the answer to a step |
| skywork-o1 | Skywork-o1-Open-PRM-Qwen-2.5-1.5B and -7B | sigmoid of the value head at the line's end |
| eurus | EurusPRM-Stage1 and -Stage2 | β Σ log π/π_ref |
| pure | PURE-PRM-7B | p₊ - p₋ at ⏎ |
| trl | token classifiers of TRL's former PRMTrainer | p of class 1 at the separator |
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from transformers import AutoTokenizer

from markscheme.prm.checkpoints.base import Checkpoint, ImplicitCheckpoint
from markscheme.prm.checkpoints.layouts import DialogueLayout, LinesLayout, NumberedLayout, TurnsLayout
from markscheme.prm.encode import StepEncoder
from markscheme.prm.model.causal import last_token, lm_model
from markscheme.prm.model.readout import LMReadout, TokenReadout
from markscheme.prm.model.token import load_token_model
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

QWEN_SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."
QWEN_SEPARATOR = "<extra_0>"
SHEPHERD_TAG = "ки"


def load_qwen(folder: str | Path, *, max_length: int | None = None, **kwargs: Any) -> Checkpoint:
    """Qwen2.5-Math-PRM: a head of two layers, named ``score.0`` and ``score.2`` (2501.07301)."""
    tokenizer, model = (
        _tokenizer(folder),
        load_token_model(folder, changes={"prm_head": "mlp", "num_labels": 2}, **kwargs),
    )
    layout = StepEncoder(
        tokenizer,
        template="chat",
        separator=QWEN_SEPARATOR,
        system=QWEN_SYSTEM,
        max_length=_limit(model, max_length),
        warn=False,
    )
    if len(layout.separator_ids) != 1:
        raise DataError(f"{folder}: {QWEN_SEPARATOR} is no token of this tokenizer; is this Qwen2.5-Math-PRM?")
    return Checkpoint("qwen2.5-math-prm", model, tokenizer, layout, TokenReadout())


def load_shepherd(folder: str | Path, *, max_length: int | None = None, **kwargs: Any) -> Checkpoint:
    """Math-Shepherd's Mistral: the language model's own head, at each step's tag (2312.08935)."""
    tokenizer, model = _tokenizer(folder), lm_model(folder, **kwargs)
    # With its own tokenizer: 648, 387 and 12902.
    good, bad, tag = (last_token(tokenizer, text) for text in ("+", "-", SHEPHERD_TAG))
    layout = NumberedLayout(tokenizer, tag, _limit(model, max_length))
    return Checkpoint("math-shepherd", model, tokenizer, layout, LMReadout(good, bad))


def load_rlhflow(folder: str | Path, *, max_length: int | None = None, joint: str = " ", **kwargs: Any) -> Checkpoint:
    """RLHFlow's: each step a turn, judged by the token that answers it (2405.07863's repository, math-rm).

    Args:
        folder: a folder or a name on the Hub.
        max_length: in tokens; None: the model's own limit.
        joint: between the problem and the first step.
        kwargs: of the model.
    """
    tokenizer, model = _tokenizer(folder), lm_model(folder, **kwargs)
    good, bad = last_token(tokenizer, "+"), last_token(tokenizer, "-")
    layout = TurnsLayout(tokenizer, good, _limit(model, max_length), joint)
    return Checkpoint("rlhflow", model, tokenizer, layout, LMReadout(good, bad, shift=-1))


def load_skywork(folder: str | Path, *, max_length: int | None = None, **kwargs: Any) -> Checkpoint:
    """Skywork-o1-Open-PRM: a value head named ``v_head.summary``, read at each line's end."""
    tokenizer = _tokenizer(folder)
    model = load_token_model(
        folder,
        changes={"prm_head": "linear", "num_labels": 1},
        key_mapping={r"^v_head\.summary\.": "score."},
        **kwargs,
    )
    layout = LinesLayout(tokenizer, _limit(model, max_length))
    return Checkpoint("skywork-o1", model, tokenizer, layout, TokenReadout())


def load_eurus(
    folder: str | Path,
    *,
    reference: str | Path | None = None,
    beta: float = 0.001,
    accumulate: bool = True,
    ends: Literal["card", "step"] = "card",
    max_length: int | None = None,
    **kwargs: Any,
) -> ImplicitCheckpoint:
    """EurusPRM: two language models (2502.01456).

    Args:
        folder: a folder or a name on the Hub.
        reference: π_ref: Qwen/Qwen2.5-Math-7B-Instruct for both stages.
        beta: β; 0.001 on the model card.
        accumulate: q itself; False: what each step adds.
        ends: where a step ends; see `DialogueLayout`.
        max_length: in tokens; None: the model's own limit.
        kwargs: of both models.

    Raises:
        DataError: no reference.
    """
    if reference is None:
        raise DataError(
            f"{folder}: an implicit judge needs its reference model; pass reference=, for EurusPRM "
            "Qwen/Qwen2.5-Math-7B-Instruct"
        )
    tokenizer, model, other = _tokenizer(folder), lm_model(folder, **kwargs), lm_model(reference, **kwargs)
    layout = DialogueLayout(tokenizer, _limit(model, max_length), ends)
    return ImplicitCheckpoint("eurus", model, other, tokenizer, layout, beta, accumulate)


def load_pure(folder: str | Path, *, max_length: int | None = None, **kwargs: Any) -> Checkpoint:
    """PURE-PRM: TRL's layout with ``⏎``, and p₊ - p₋ as the reward (2504.15275)."""
    found = load_trl(folder, separator="\n", max_length=max_length, **kwargs)
    found.name, found.reward = "pure", "difference"
    return found


def load_trl(folder: str | Path, *, separator: str = "\n", max_length: int | None = None, **kwargs: Any) -> Checkpoint:
    """A token classifier of TRL's former PRMTrainer: prompt, steps and separators encoded apart and put together.

    Args:
        folder: a folder or a name on the Hub.
        separator: what TRL's ``step_separator`` was.
        max_length: in tokens; None: the model's own limit.
        kwargs: of the model.
    """
    tokenizer, model = _tokenizer(folder), load_token_model(folder, **kwargs)
    layout = StepEncoder(
        tokenizer,
        template="plain",
        separator=separator,
        prompt_separator="",
        separator_in_step="allow",
        max_length=_limit(model, max_length),
        warn=False,
    )
    return Checkpoint("trl", model, tokenizer, layout, TokenReadout(), separator_length=len(layout.separator_ids))


def _tokenizer(folder: str | Path) -> PreTrainedTokenizerBase:
    return cast("PreTrainedTokenizerBase", AutoTokenizer.from_pretrained(folder, trust_remote_code=False))


def _limit(model: PreTrainedModel, asked: int | None) -> int | None:
    """How many tokens the model can place."""
    own = getattr(model.config, "max_position_embeddings", None)
    if asked is not None and own is not None and asked > own:
        raise DataError(f"max_length is {asked}, but this model has {own} positions")
    return asked if asked is not None else own
