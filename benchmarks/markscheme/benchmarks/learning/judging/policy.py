"""What the policy writes: rollouts from any text, and solutions as labelled samples."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from markscheme.benchmarks.learning.policy import trim
from markscheme.benchmarks.learning.task import Problem, judge
from markscheme.prm.labels import LabelTask, PrefixPrompt
from markscheme.prm.schema import StepSample
from markscheme.verifiers.outcomes import Outcome, Reason
from markscheme.verifiers.verdict import SCORES, Verdict

BATCH = 512
"""Completions generated at once."""
PREFIX = PrefixPrompt(ask=str, separator="\n")
"""A problem with the first lines of a solution, as the policy reads them."""


class Rollouts:
    """Generates at temperature 1: ``generate(prompts, n)``. Completions that did not end are returned as they are.

    Args:
        model: the policy.
        tokenizer: its own, which pads on the left.
        limit: tokens of a whole solution; a prefix leaves the rest.
        seed: of the draws. Each call is seeded by it and by its prompts, so that a resumed run draws the same.

    Attributes:
        count: completions generated.
    """

    def __init__(self, model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, limit: int, seed: int) -> None:
        self.model, self.tokenizer, self.limit, self.seed = model, tokenizer, limit, seed
        self.count = 0

    def __call__(self, prompts: Sequence[Any], n: int) -> list[list[str]]:
        """Return ``n`` completions of each prompt, in order; those of like length are generated together."""
        texts = [str(prompt) for prompt in prompts]
        rng = random.Random(repr((self.seed, n, texts)))  # noqa: S311 - no secret
        torch.manual_seed(rng.getrandbits(31))
        order = sorted((place for place in range(len(texts)) for _ in range(n)), key=lambda place: len(texts[place]))
        found: list[list[str]] = [[] for _ in texts]
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            for place, text in zip(part, self._batch([texts[place] for place in part]), strict=True):
                found[place].append(text)
        self.count += len(order)
        return found

    @torch.no_grad()
    def _batch(self, texts: Sequence[str]) -> list[str]:
        encoded = self.tokenizer(list(texts), return_tensors="pt", padding=True)
        written = min(len(text.partition(":")[2]) for text in texts)
        config = GenerationConfig(
            max_new_tokens=max(1, self.limit - written),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            pad_token_id=self.tokenizer.pad_token_id,
            eos_token_id=self.tokenizer.eos_token_id,
        )
        generate: Any = self.model.generate
        rows = generate(**encoded, generation_config=config)[:, encoded["input_ids"].shape[1] :]  # (N, T)
        ids = [trim(row, self.tokenizer) for row in rows.tolist()]
        return [str(self.tokenizer.decode(row, skip_special_tokens=True)) for row in ids]


def check(task: LabelTask, text: str) -> Outcome:
    """Whether a solution ends in the problem's answer; UNREADABLE where it has no answer line."""
    return outcome(Problem.read(task.problem), text)


def outcome(problem: Problem, text: str) -> Outcome:
    """The outcome of a solution's text."""
    last = text.rstrip("\n").rpartition("\n")[2]
    if not last.startswith("#"):
        return Outcome.UNREADABLE
    return Outcome.CORRECT if last == f"#{problem.answer}" else Outcome.INCORRECT


class DigitVerifier:
    """Answers are digits: what majority voting asks."""

    def verify(self, completion: str, gold: str) -> Verdict:
        """Judge a completion by its answer line."""
        last = completion.rstrip("\n").rpartition("\n")[2]
        return self.verify_answer(last.removeprefix("#"), gold) if last.startswith("#") else _verdict(None, gold)

    def verify_answer(self, answer: str, gold: str) -> Verdict:
        """Judge an answer."""
        return _verdict(answer, gold)


def _verdict(answer: str | None, gold: str) -> Verdict:
    if answer is None:
        found, reason = Outcome.UNREADABLE, Reason.NO_ANSWER
    else:
        found, reason = (Outcome.CORRECT, Reason.EQUAL) if answer == gold else (Outcome.INCORRECT, Reason.DIFFERENT)
    return Verdict(
        outcome=found, score=SCORES[found], answer=answer, expected=gold, reason=reason, detail=f"{answer} / {gold}"
    )


def sample_of(problem: Problem, text: str, source: str) -> StepSample | None:
    """A solution with gold labels, by the task's own rules; None where it has no steps, or blank ones."""
    judged = judge(problem, text)
    steps = [step.text for step in judged.steps]
    if not steps or not all(step.strip() for step in steps):
        return None
    return StepSample(
        prompt=problem.prompt,
        completions=tuple(steps),
        labels=tuple(step.right for step in judged.steps),
        source=source,
        final_answer_correct=judged.correct,
    )


def injected(problem: Problem, rng: random.Random, *, wrong: bool) -> StepSample:
    """A right solution, or one with a wrong digit at one random step that the rest follows through."""
    at = rng.randrange(len(problem.operations)) if wrong else -1
    value, lines = problem.start, []
    for place, one in enumerate(problem.operations):
        result = one.apply(value)
        if place == at:
            result = rng.choice([digit for digit in range(10) if digit != result])
        lines.append(f"{value}{problem.written(place, place + 1)}={result}")
        value = result
    found = sample_of(problem, "\n".join([*lines, f"#{value}"]), "injected")
    assert found is not None and found.first_error == at  # noqa: S101 - by construction
    return found
