"""Rejection-sampling fine-tuning: train on the sampled completions whose answer is right."""

from __future__ import annotations

import random
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from markscheme.benchmarks.learning.policy import judge_ids, sample
from markscheme.benchmarks.learning.settings import Settings
from markscheme.benchmarks.learning.sft import Example, fit
from markscheme.benchmarks.learning.training import problems_of

EPOCHS, BATCH = 2, 32


def reject(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, seed: int, rate: float, settings: Settings
) -> dict[str, Any]:
    """Spend the budget on samples, keep the right ones, each text once, and train on them for two epochs.

    One round, as in Yuan et al. (arXiv 2308.01825): the samples come from the policy that it starts with.
    """
    examples, tokens, sampled = right_samples(model, tokenizer, seed, settings)
    rng = random.Random(f"rejection {seed}")  # noqa: S311 - no secret
    order = [at for _ in range(EPOCHS) for at in rng.sample(range(len(examples)), len(examples))]
    steps = -(-len(order) // BATCH)

    def batch(step: int) -> list[Example]:
        return [examples[at] for at in order[step * BATCH : (step + 1) * BATCH]]

    fit(model, batch, steps, rate, warmup=min(10, max(1, steps // 5)))
    return {"tokens": tokens, "updates": steps, "kept": len(examples), "sampled": sampled}


def right_samples(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, seed: int, settings: Settings
) -> tuple[list[Example], int, int]:
    """Return the samples whose answer is right, each once, the tokens generated, and the completions sampled."""
    torch.manual_seed(seed)
    kept: dict[tuple[str, tuple[int, ...]], Example] = {}
    tokens = sampled = 0
    while tokens < settings.tokens:
        at = sampled // settings.group
        problems = problems_of(seed, at + settings.prompts, settings.length)[at:]
        asked = [problem for problem in problems for _ in range(settings.group)]
        for problem, ids in zip(asked, sample(model, tokenizer, asked, limit=settings.limit), strict=True):
            tokens, sampled = tokens + len(ids), sampled + 1
            if judge_ids(problem, ids, tokenizer).correct:
                kept[problem.prompt, tuple(ids)] = (tokenizer.encode(problem.prompt), ids)
    return list(kept.values()), tokens, sampled
