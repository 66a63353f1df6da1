"""A judge from labelled solutions: a pair head over the frozen policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transformers import PreTrainedTokenizerFast, PrinterCallback

from markscheme.benchmarks.learning.judging.settings import Settings
from markscheme.prm.encode import StepEncoder
from markscheme.prm.likelihood import LikelihoodScorer
from markscheme.prm.schema import StepSample
from markscheme.prm.scoring import PRMScorer
from markscheme.prm.training import PRMConfig, PRMTrainer


def train_judge(
    policy: Path,
    tokenizer: PreTrainedTokenizerFast,
    samples: Sequence[StepSample],
    settings: Settings,
    folder: Path,
    *,
    seed: int,
    masked: bool,
) -> None:
    """Train a judge and save it.

    Args:
        policy: the folder of the policy, whose states are frozen and kept beside the judges.
        tokenizer: its own.
        samples: labelled solutions.
        settings: of the run.
        folder: where the judge goes.
        seed: of the head's first weights and the order of the data.
        masked: leave out steps after a solution's first wrong one: Monte-Carlo labels call them wrong, the task's
            rules judge each on what stands before it.
    """
    config = PRMConfig(
        output_dir=str(folder),
        head="pair",
        template="plain",
        separator="\n",
        prompt_separator="",
        max_length=256,
        pair_width=settings.width,
        pair_temperature=settings.temperature,
        state_cache=str(folder.with_name("states")),
        mask_after_error=masked,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=64,
        learning_rate=settings.rate,
        lr_scheduler_type="cosine",
        warmup_steps=50,
        weight_decay=0.01,
        save_strategy="no",
        eval_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        seed=seed,
    )
    trainer = PRMTrainer(str(policy), config, train_dataset=list(samples), processing_class=tokenizer)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model()


def judge_scorer(folder: Path) -> PRMScorer:
    """The trained judge, as anyone would load it."""
    return PRMScorer.from_pretrained(folder, batch_size=64)


def likelihood_scorer(model: object, tokenizer: PreTrainedTokenizerFast, *, mean: bool = False) -> LikelihoodScorer:
    """The policy's own probabilities of a step's tokens, with no training."""
    encoder = StepEncoder(tokenizer, template="plain", separator="\n", prompt_separator="", separator_in_step="allow")
    return LikelihoodScorer(
        model,
        tokenizer,
        encoder=encoder,
        reduce="mean" if mean else "min",
        batch_size=64,
    )
