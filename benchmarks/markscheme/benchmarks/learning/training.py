"""One arm's GRPO run, with the trainer itself, until its budget of generated tokens is spent."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerFast, PrinterCallback, TrainerCallback

from markscheme.benchmarks.learning.arms import Arm, Marker
from markscheme.benchmarks.learning.measure import Signs, summary
from markscheme.benchmarks.learning.settings import Settings
from markscheme.benchmarks.learning.task import Problem, make_problem
from markscheme.trainer import ProcessGRPOConfig, ProcessGRPOTrainer


class Measured(ProcessGRPOTrainer):
    """The trainer, with a look at the advantages of every generation before they are shuffled and split."""

    watch: Callable[[torch.Tensor], None]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        self.watch(output["advantages"])
        return output


class Budget(TrainerCallback):
    """Ends training with the update that reaches the budget."""

    def __init__(self, marker: Marker, tokens: int) -> None:
        self.marker, self.tokens = marker, tokens

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002 - as called
        """Stop where the budget is spent."""
        if self.marker.tokens >= self.tokens:
            control.should_training_stop = True


class Record:
    """The figures of each generation, and the signs of its advantages."""

    def __init__(self, marker: Marker, early: int) -> None:
        self.marker, self.early = marker, early
        self.curve: list[dict[str, float | None]] = []
        self.signs, self.early_signs = Signs(), Signs()

    def __call__(self, advantages: torch.Tensor) -> None:
        """Note one generation."""
        batch = (self.marker.judged, self.marker.lengths, advantages)
        self.signs.add(*batch)
        if len(self.curve) < self.early:
            self.early_signs.add(*batch)
        self.curve.append({"tokens": self.marker.tokens, **summary(self.marker.judged)})


def problems_of(seed: int, count: int, length: int) -> list[Problem]:
    """Return the problems that every arm of a seed meets, in this order."""
    rng = random.Random(f"training {seed}")  # noqa: S311 - no secret
    return [make_problem(rng, length) for _ in range(count)]


def reinforce(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    arm: Arm,
    seed: int,
    rate: float,
    settings: Settings,
    *,
    record: Record | None = None,
) -> dict[str, Any]:
    """Train with GRPO until the budget is spent. Return the curve, the signs and the tokens.

    ``record`` brings the marker whose rewards are learnt from; by default that of the arm.
    """
    record = record or Record(Marker(tokenizer, arm, seed), settings.early)
    marker = record.marker
    batch = settings.prompts * settings.group
    # Enough problems for completions of a third of a plain solution's length.
    updates = -(-settings.tokens // (batch * 2 * settings.length))
    prompts = [{"prompt": one.prompt} for one in problems_of(seed, updates * settings.prompts, settings.length)]
    with tempfile.TemporaryDirectory() as folder:
        config = ProcessGRPOConfig(
            output_dir=folder,
            supervision=arm.supervision,
            credit=arm.credit,
            learning_rate=rate,
            lr_scheduler_type="constant",
            max_steps=updates,
            per_device_train_batch_size=batch,
            num_generations=settings.group,
            max_completion_length=settings.limit,
            loss_type="dapo",
            beta=0.0,
            shuffle_dataset=False,
            bf16=False,
            use_cpu=True,
            gradient_checkpointing=False,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            seed=seed,
        )
        trainer = Measured(
            model,
            marker.outcome,
            config,
            step_reward_func=marker.steps,
            train_dataset=Dataset.from_list(prompts),
            processing_class=tokenizer,
            callbacks=[Budget(marker, settings.tokens)],
        )
        trainer.watch = record
        trainer.remove_callback(PrinterCallback)  # it prints a summary a unit, through the progress bar
        trainer.train()
    return {
        "tokens": marker.tokens,
        "updates": len(record.curve),
        "curve": record.curve,
        "signs": record.signs.counts,
        "early_signs": record.early_signs.counts,
    }
