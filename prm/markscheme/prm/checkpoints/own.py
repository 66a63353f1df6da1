"""What `PRMTrainer` writes beside the weights, and the reader of it.

``prm_config.json`` says how a problem and its steps are laid out, how a step's logit is read, which head it is, and
what was measured, with the threshold that goes with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from transformers import AutoTokenizer
from transformers.utils.hub import cached_file

from markscheme.prm.calibration import Isotonic, Temperature
from markscheme.prm.checkpoints.base import Checkpoint
from markscheme.prm.checkpoints.layouts import NumberedLayout, TurnsLayout
from markscheme.prm.encode import EncoderConfig, StepEncoder
from markscheme.prm.model.causal import last_token, lm_model
from markscheme.prm.model.pair import load_pair_model
from markscheme.prm.model.readout import readout_from
from markscheme.prm.model.token import load_token_model, token_model
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from markscheme.prm.checkpoints.layouts import Layout

FILE = "prm_config.json"
ADAPTER = "adapter_config.json"
Head = Literal["linear", "mlp", "lm", "pair"]
LayoutName = Literal["steps", "numbered", "turns"]


class PRMFile(BaseModel):
    """``prm_config.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    head: Head
    """linear or mlp: a token classifier; lm: two tokens of a language model; pair: pairs over a frozen backbone."""
    readout: dict[str, Any]
    """How a step's logit is read: ``kind`` and its settings."""
    encoder: EncoderConfig
    """How a problem and its steps are laid out."""
    layout: LayoutName = "steps"
    """steps: as StepEncoder lays them out; numbered: as Math-Shepherd; turns: as RLHFlow."""
    base_model: str = ""
    """What the training began with."""
    threshold: float = Field(default=0.5, ge=0, le=1)
    """The score below which a step counts as wrong."""
    threshold_source: str = ""
    """The data that chose the threshold; empty: nothing did."""
    calibration: Temperature | Isotonic | None = Field(default=None, discriminator="kind")
    """Applied to scores; the threshold is of calibrated scores."""
    training: dict[str, Any] = Field(default_factory=dict)
    """The loss, the data's counts, the seed."""
    metrics: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """What was measured last, by the evaluation set's name."""


def read_file(folder: str | Path) -> PRMFile:
    """Read a checkpoint's ``prm_config.json``.

    Raises:
        DataError: there is none, or it is not one.
    """
    path = cached_file(str(folder), FILE, _raise_exceptions_for_missing_entries=False)
    if path is None:
        raise DataError(f"{folder}: has no {FILE}; expected what PRMTrainer writes, or pass the right format=")
    try:
        return PRMFile.model_validate(json.loads(Path(path).read_text(encoding="utf-8")))
    except (ValidationError, json.JSONDecodeError) as error:
        raise DataError(f"{path}: {error}") from error


def load_own(folder: str | Path, *, max_length: int | None = None, **kwargs: Any) -> Checkpoint:
    """Load what `PRMTrainer` wrote: a whole model, or an adapter (LoRA) with its base model.

    Args:
        folder: a folder or a name on the Hub.
        max_length: in tokens, instead of what it was trained with.
        kwargs: of ``from_pretrained``.
    """
    file = read_file(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    adapter = cached_file(str(folder), ADAPTER, _raise_exceptions_for_missing_entries=False)
    model = _whole(folder, file, **kwargs) if adapter is None else _adapted(folder, file, **kwargs)
    config = file.encoder if max_length is None else file.encoder.model_copy(update={"max_length": max_length})
    layout, separator_length = make_layout(tokenizer, file.layout, config)
    return Checkpoint(
        "markscheme",
        model,
        tokenizer,
        layout,
        readout_from(file.readout),
        separator_length=separator_length,
        threshold=file.threshold,
        calibration=file.calibration,
        threshold_source=file.threshold_source,
    )


def make_layout(tokenizer: Any, name: LayoutName, config: EncoderConfig) -> tuple[Layout, int]:
    """Make a layout, for training and scoring alike.

    Returns:
        The layout, and how many tokens stand between a step's text and its position, the position included.
    """
    if name == "numbered":
        if not isinstance(config.separator, str):
            return NumberedLayout(tokenizer, config.separator[-1], config.max_length), 1
        return NumberedLayout(tokenizer, last_token(tokenizer, config.separator), config.max_length), 1
    if name == "turns":
        return TurnsLayout(tokenizer, last_token(tokenizer, "+"), config.max_length), 1
    encoder = StepEncoder(tokenizer, config, warn=False)
    return encoder, len(encoder.separator_ids)


def update_file(folder: str | Path, **changes: Any) -> PRMFile:
    """Change a local checkpoint's ``prm_config.json``: its threshold, its calibration.

    Raises:
        DataError: the folder has none, or a change does not fit.
    """
    held = read_file(folder).model_dump()
    try:
        file = PRMFile.model_validate({**held, **changes})
    except ValidationError as error:
        raise DataError(f"{folder}: {error}") from error
    write_file(folder, file)
    return file


def write_file(folder: str | Path, file: PRMFile) -> None:
    """Write a checkpoint's ``prm_config.json``."""
    (Path(folder) / FILE).write_text(file.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _whole(folder: str | Path, file: PRMFile, **kwargs: Any) -> PreTrainedModel:
    if file.head == "lm":
        return lm_model(folder, **kwargs)
    if file.head == "pair":
        return load_pair_model(folder, **kwargs)
    return load_token_model(folder, **kwargs)


def _adapted(folder: str | Path, file: PRMFile, **kwargs: Any) -> PreTrainedModel:
    from peft import PeftConfig, PeftModel  # noqa: PLC0415 - only for an adapter

    base = PeftConfig.from_pretrained(str(folder)).base_model_name_or_path
    # The head's first weights do not matter: the adapter brings its own.
    model = lm_model(base, **kwargs) if file.head == "lm" else token_model(base, head=_token_head(file.head), **kwargs)
    merged: PreTrainedModel = PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
    return merged


def _token_head(head: Head) -> Literal["linear", "mlp"]:
    if head not in ("linear", "mlp"):
        raise DataError(f"an adapter with the head {head!r}: expected linear, mlp or lm")
    return "linear" if head == "linear" else "mlp"
