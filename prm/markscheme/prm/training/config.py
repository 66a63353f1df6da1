"""Settings of training a judge of steps."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import TrainingArguments

from markscheme.prm.encode import EncoderConfig
from markscheme.prm.loss import StepLoss
from markscheme.prm.schema import RIGHT_ABOVE
from markscheme.verifiers.errors import DataError

HEADS = ("linear", "mlp", "lm", "pair")
LAYOUTS = ("steps", "numbered", "turns")


@dataclass
class PRMConfig(TrainingArguments):
    """All of ``transformers.TrainingArguments``, and what is particular to judges of steps."""

    learning_rate: float = field(default=1e-5, metadata={"help": "The first learning rate of AdamW."})
    logging_steps: float = field(default=10, metadata={"help": "Log every so many steps."})
    remove_unused_columns: bool = field(default=False, metadata={"help": "Not used: data are encoded here."})

    head: str = field(
        default="linear",
        metadata={
            "help": "linear or mlp: a head of two classes on the backbone; lm: two tokens of the language model; pair: "
            "a head on pairs of state and token over a frozen backbone. Used when the model is given by name."
        },
    )
    layout: str = field(
        default="steps",
        metadata={
            "help": "steps: problem, steps and separators as StepEncoder lays them out; numbered: Math-Shepherd's "
            "'Step k: … tag'; turns: RLHFlow's, each step a user's turn. The last two go with the head lm."
        },
    )
    template: str = field(default="auto", metadata={"help": "chat, plain or auto; see EncoderConfig."})
    separator: str = field(default="\n\n", metadata={"help": "What follows each step, or Math-Shepherd's tag."})
    prompt_separator: str = field(default="\n\n", metadata={"help": "Between problem and steps; plain only."})
    separator_in_step: str = field(
        default="error", metadata={"help": "A step that holds the separator: error, or allow and count."}
    )
    system: str | None = field(default=None, metadata={"help": "A system message; chat only."})
    max_length: int | None = field(default=2048, metadata={"help": "In tokens. Steps beyond it are lost, and counted."})
    good_token: str = field(default="+", metadata={"help": "The token that says right; head lm."})
    bad_token: str = field(default="-", metadata={"help": "The token that says wrong; head lm."})
    pair_width: int = field(default=256, metadata={"help": "Units of the pair head's hidden layer."})
    pair_dropout: float = field(default=0.0, metadata={"help": "Dropout before the pair head's last layer."})
    pair_product: bool = field(
        default=True, metadata={"help": "The pair head also sees the product of state and embedding."}
    )
    pair_temperature: float = field(default=1.0, metadata={"help": "Of the soft minimum over a step's tokens."})
    state_cache: str | None = field(
        default=None, metadata={"help": "A folder for the frozen backbone's states; head pair. Resumable."}
    )

    disable_dropout: bool = field(
        default=True,
        metadata={"help": "No dropout in backbone and head of classes: transformers' token classifiers have 0.1."},
    )
    loss: str = field(default="bce", metadata={"help": "bce, soft_ce, mse or focal; see StepLoss."})
    class_weights: list[float] | None = field(default=None, metadata={"help": "What a wrong and a right step weigh."})
    balance_classes: bool = field(default=False, metadata={"help": "Weigh classes by the training data's counts."})
    focal_gamma: float = field(default=2.0, metadata={"help": "γ of the focal loss."})
    right_above: float = field(
        default=RIGHT_ABOVE,
        metadata={"help": "A soft label above this is right, where labels are made hard. 0 for Monte-Carlo shares."},
    )
    mask_after_error: bool = field(
        default=False, metadata={"help": "Leave out steps after a solution's first wrong one. Not for PRMBench."}
    )

    packing: bool = field(
        default=False,
        metadata={"help": "Put several solutions into a row of max_length tokens; none sees another. Training only."},
    )
    on_bad: str = field(default="error", metadata={"help": "Rows that cannot be encoded: error, or skip and count."})
    strict: bool = field(
        default=False, metadata={"help": "A row that loses steps is a bad one: an error, or with on_bad=skip left out."}
    )
    threshold: float = field(default=0.5, metadata={"help": "The score below which a step counts as wrong."})
    threshold_set: str | None = field(
        default=None, metadata={"help": "The evaluation set that chooses the threshold, at each evaluation."}
    )
    processes: int | None = field(
        default=None, metadata={"help": "How many processes must train together. Anything else is an error."}
    )

    def __post_init__(self) -> None:
        """Check, and leave out pinned memory where nothing could use it.

        Raises:
            DataError: a setting that is not one of its choices, or settings that do not go together.
        """
        _choose("head", self.head, HEADS)
        _choose("layout", self.layout, LAYOUTS)
        _choose("on_bad", self.on_bad, ("error", "skip"))
        _choose("separator_in_step", self.separator_in_step, ("error", "allow"))
        if self.layout != "steps" and self.head != "lm":
            raise DataError(f'layout="{self.layout}" is read from the language model: pass head="lm"')
        if self.packing and self.max_length is None:
            raise DataError("packing needs max_length: it is how long a row is")
        if self.packing and self.state_cache:
            raise DataError("packing and state_cache do not go together: cached states are of single solutions")
        if self.state_cache and self.head != "pair":
            raise DataError('state_cache is for a frozen backbone: pass head="pair"')
        if self.class_weights and self.balance_classes:
            raise DataError("class_weights and balance_classes: pass one of the two")
        if not torch.accelerator.is_available():
            self.dataloader_pin_memory = False
        if self.ddp_find_unused_parameters is None:  # type: ignore[has-type]
            self.ddp_find_unused_parameters = False  # every weight that is trained is used in every batch
        self.step_loss()
        super().__post_init__()
        self._check_processes()

    def _check_processes(self) -> None:
        """``accelerate launch --num_processes 2`` on a CPU starts one process and says nothing."""
        launched = int(os.environ.get("WORLD_SIZE", "1"))
        wanted = self.processes or launched
        if self.world_size != wanted:
            raise DataError(
                f"expected {wanted} processes to train together, found {self.world_size}; on CPUs launch with "
                "`ACCELERATE_USE_CPU=1 torchrun --nproc_per_node N`, and pass use_cpu=True"
            )

    def step_loss(self, weights: tuple[float, float] | None = None) -> StepLoss:
        """The loss, with the given class weights or its own."""
        own = tuple(self.class_weights) if self.class_weights else (1.0, 1.0)
        return StepLoss(self.loss, weights or own, self.focal_gamma, self.right_above)  # type: ignore[arg-type]

    def encoder(self) -> EncoderConfig:
        """How a problem and its steps are laid out."""
        fields: dict[str, Any] = {
            "template": self.template,
            "separator": self.separator,
            "prompt_separator": self.prompt_separator,
            "separator_in_step": self.separator_in_step,
            "system": self.system,
            "max_length": self.max_length,
        }
        return EncoderConfig.model_validate(fields)


def _choose(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise DataError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
