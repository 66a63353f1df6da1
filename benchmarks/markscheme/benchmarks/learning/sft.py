"""Supervised training: the policy that every arm starts from, and rejection sampling on top of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from markscheme.benchmarks.learning.task import Demonstrator, Habits, make_problem

Example = tuple[list[int], list[int]]
"""The ids of a prompt and of its completion, the end-of-sequence token included."""


def batch_loss(model: PreTrainedModel, examples: Sequence[Example]) -> torch.Tensor:
    """Return the mean cross-entropy of the completions' tokens, a 0-dimensional tensor."""
    width = max(len(prompt) + len(completion) for prompt, completion in examples)
    ids = torch.zeros(len(examples), width, dtype=torch.long)  # (B, T); right padding needs no mask under a causal one
    targets = torch.full((len(examples), width), -100)
    for row, (prompt, completion) in enumerate(examples):
        both = torch.tensor(prompt + completion)
        ids[row, : len(both)] = both
        targets[row, len(prompt) : len(both)] = both[len(prompt) :]
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]  # (B, T - 1, V)
    return cross_entropy(logits.reshape(-1, logits.shape[-1]), targets[:, 1:].reshape(-1), ignore_index=-100)


def fit(
    model: PreTrainedModel,
    batches: Callable[[int], Sequence[Example]],
    steps: int,
    learning_rate: float,
    *,
    warmup: int = 50,
    weight_decay: float = 0.01,
) -> None:
    """Train with AdamW, a linear warm-up and a linear decay to 2 %; ``batches`` gives the examples of a step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=weight_decay)
    model.train()
    for step in range(steps):
        rate = learning_rate * min(1.0, (step + 1) / warmup) * (1.02 - step / steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = batch_loss(model, batches(step))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def demonstrations(
    tokenizer: PreTrainedTokenizerFast,
    seed: int,
    *,
    steps: int,
    length: int,
    batch: int = 32,
    habits: Habits | None = None,
) -> Callable[[int], list[Example]]:
    """Return the batches of the first training: problems of 2 operations at first, of up to ``length`` from 30 % on.

    Short problems first because a small model finds out there, in a tenth of the steps, how to look up the next
    operation.
    """
    writer = Demonstrator(seed, habits)
    rng = random.Random(f"demonstrations {seed}")  # noqa: S311 - no secret

    def examples(step: int) -> list[Example]:
        longest = 2 + round((length - 2) * min(1.0, step / (0.3 * steps)))
        shortest = 2 if longest < length else max(2, length - 3)
        made = [make_problem(rng, rng.randint(shortest, longest)) for _ in range(batch)]
        return [
            (tokenizer.encode(one.prompt), [*tokenizer.encode(writer.write(one, rng)), tokenizer.eos_token_id])
            for one in made
        ]

    return examples
