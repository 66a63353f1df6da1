"""What is measured of completions and of their advantages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from markscheme.benchmarks.learning.arms import token_ends
from markscheme.benchmarks.learning.policy import judge_ids, sample
from markscheme.benchmarks.learning.settings import Settings
from markscheme.benchmarks.learning.task import Judged, held_out

HELD_OUT = 0
"""The seed of the problems that all arms and seeds are evaluated on."""


def summary(judged: Sequence[Judged]) -> dict[str, float | None]:
    """Return the figures of completions.

    ``accuracy``: share with a right answer. ``sound``: share with a right answer and no wrong step. ``flawed``: share
    of the right answers that have a wrong step, None where no answer is right. ``step_accuracy``: share of the judged
    steps that are right. ``steps``, ``idle``: steps, and idle ones, a completion.
    """
    n, correct = len(judged), sum(one.correct for one in judged)
    flawed = sum(one.correct and one.flawed for one in judged)
    truths = [step.right for one in judged for step in one.steps if step.right is not None]
    return {
        "accuracy": correct / n,
        "sound": (correct - flawed) / n,
        "flawed": flawed / correct if correct else None,
        "step_accuracy": sum(truths) / len(truths) if truths else None,
        "steps": sum(len(one.steps) for one in judged) / n,
        "idle": sum(step.idle for one in judged for step in one.steps) / n,
    }


def evaluate(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, settings: Settings, seed: int
) -> dict[str, dict[str, float | None]]:
    """Return the figures on the held-out problems, sampled at temperature 1 and greedy."""
    problems = held_out(HELD_OUT, settings.evaluated, settings.length)
    many = [problem for problem in problems for _ in range(settings.samples)]
    torch.manual_seed(seed)
    out = {}
    for name, asked, greedy in (("sampled", many, False), ("greedy", problems, True)):
        written = sample(model, tokenizer, asked, limit=settings.limit, greedy=greedy)
        out[name] = summary([judge_ids(one, ids, tokenizer) for one, ids in zip(asked, written, strict=True)])
    return out


class Signs:
    """Counts how often the sign of a step's advantage agrees with the step's truth."""

    def __init__(self) -> None:
        self.counts = {truth: {"above": 0, "below": 0, "zero": 0} for truth in ("right", "wrong")}

    def add(self, judged: Sequence[Judged], lengths: Sequence[int], advantages: torch.Tensor) -> None:
        """Count a generation's steps. ``advantages`` is (B,) or (B, T); a step has that of its last token.

        Idle steps are left out: no credit form has a claim on them, since they have no reward.
        """
        rows = advantages.detach().cpu().reshape(len(judged), -1)
        for one, length, row in zip(judged, lengths, rows, strict=True):
            values = row.expand(length) if len(row) == 1 else row
            for step, end in zip(one.steps, token_ends(one, length), strict=True):
                if step.right is not None and not step.idle:
                    value = float(values[end])
                    side = "above" if value > 0 else "below" if value < 0 else "zero"
                    self.counts["right" if step.right else "wrong"][side] += 1


def sign_accuracy(counts: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Return how well signs tell right from wrong steps.

    ``right``: of the right steps, the share whose advantage is above 0; ``wrong``: of the wrong ones, below 0;
    ``balanced``: the mean of the two. An advantage of exactly 0 agrees with neither; ``zero`` is its share of all
    steps.
    """
    totals = {truth: sum(sides.values()) for truth, sides in counts.items()}
    right = counts["right"]["above"] / totals["right"] if totals["right"] else None
    wrong = counts["wrong"]["below"] / totals["wrong"] if totals["wrong"] else None
    steps = sum(totals.values())
    zero = sum(sides["zero"] for sides in counts.values())
    balanced = None if right is None or wrong is None else (right + wrong) / 2
    return {"right": right, "wrong": wrong, "balanced": balanced, "zero": zero / steps if steps else None}
