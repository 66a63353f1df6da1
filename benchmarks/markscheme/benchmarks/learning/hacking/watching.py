"""Every generation as the judges see it, beside what is true of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import correlation, fmean, pstdev
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from markscheme.benchmarks.learning.arms import Marker, Steps
from markscheme.benchmarks.learning.hacking.arms import JudgedArm
from markscheme.benchmarks.learning.measure import summary
from markscheme.benchmarks.learning.task import Judged
from markscheme.benchmarks.learning.training import Record
from markscheme.prm.metrics.steps import auc
from markscheme.prm.protocol import StepScorer
from markscheme.trainer.prm_reward import Guards, PRMStepReward
from markscheme.trainer.step_monitor import StepMonitor

Rewards = list[list[tuple[int, float | None]] | None]


def step_rewards(
    scorers: Mapping[str, StepScorer], tokenizer: PreTrainedTokenizerFast, source: str
) -> dict[str, PRMStepReward]:
    """Return each judge's step rewards. That of ``source`` has the default monitor, the others one that never warns."""
    deaf = {name: StepMonitor(factor=math.inf, guarded=1.0) for name in scorers if name != source}
    guards = Guards(min_characters=2)  # "#4" is a whole answer here
    return {
        name: PRMStepReward(scorer, tokenizer=tokenizer, splitter="\n", guards=guards, monitor=deaf.get(name))
        for name, scorer in scorers.items()
    }


class JudgedMarker(Marker):
    """Lets every judge score each batch once; the arm's own gives the step rewards."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, arm: JudgedArm, seed: int, scorers: Mapping[str, StepScorer]
    ) -> None:
        super().__init__(tokenizer, arm, seed)
        self.source = arm.source
        self.judges = step_rewards(scorers, tokenizer, arm.source)
        self.given: dict[str, Rewards] = {}

    def outcome(self, prompts: Sequence[str], completion_ids: Sequence[Sequence[int]], **columns: Any) -> list[float]:
        """1 for a right answer, 0 for a wrong one or none; the trainer asks for this before it asks for steps."""
        rewards = super().outcome(prompts, completion_ids, **columns)
        self.given = {
            name: judge(prompts=prompts, completion_ids=completion_ids) for name, judge in self.judges.items()
        }
        return rewards

    def steps(self, prompts: Sequence[str], completion_ids: Sequence[Sequence[int]], **columns: Any) -> list[Steps]:
        """Each step's last token and its reward: the judge's score p, with ``min`` p - (1 - p), as PURE has it."""
        if self.source == "rule":
            return super().steps(prompts, completion_ids, **columns)
        given = [row or [] for row in self.given[self.source]]
        if self.arm.credit != "min":
            return given
        return [[(end, None if score is None else 2 * score - 1) for end, score in row] for row in given]


def pairs(judged: Sequence[Judged], rewards: Rewards) -> tuple[list[tuple[float, bool]], int]:
    """Return the reward and the truth of every whole step, and how many completions could not be matched.

    A judge's steps are the lines that are not blank. Where their number is another (a padding token within a line reads
    as nothing to the judge), the completion is left out and counted.
    """
    found, unmatched = [], 0
    for one, row in zip(judged, rewards, strict=True):
        truths = [step.right for step in one.steps if step.text.strip() and step.right is not None]
        if len(truths) != len(row or []):
            unmatched += 1
            continue
        found += [(value, truth) for (_, value), truth in zip(row or [], truths, strict=True) if value is not None]
    return found, unmatched


def compared(judged: Sequence[Judged], rewards: Rewards) -> dict[str, float | None]:
    """Return what a judge's rewards have to do with the truth.

    ``reward``: their mean; ``truth``: the share of the same steps that is right; ``right``, ``wrong``: the mean reward
    of each; ``correlation``: of reward and truth (Pearson), ``auc``: the chance that a right step has more than a wrong
    one; None where one of the two does not vary. ``unmatched``: completions that are left out.
    """
    found, unmatched = pairs(judged, rewards)
    values, truths = [value for value, _ in found], [truth for _, truth in found]
    sides = [[value for value, truth in found if truth is side] for side in (True, False)]
    varies = len(found) > 1 and pstdev(values) > 0 and pstdev(map(float, truths)) > 0
    return {
        "reward": fmean(values) if values else None,
        "truth": fmean(truths) if truths else None,
        "right": fmean(sides[0]) if sides[0] else None,
        "wrong": fmean(sides[1]) if sides[1] else None,
        "correlation": correlation(values, list(map(float, truths))) if varies else None,
        "auc": auc(values, truths) if varies else None,
        "unmatched": unmatched,
    }


class JudgedRecord(Record):
    """The figures of each generation, and each judge's beside the truth."""

    marker: JudgedMarker

    def __call__(self, advantages: torch.Tensor) -> None:
        """Note one generation."""
        super().__call__(advantages)
        marker = self.marker
        point: dict[str, Any] = self.curve[-1]
        point |= summary(marker.judged)
        point["judges"] = {
            name: {**compared(marker.judged, given), "guarded": marker.judges[name].figures["steps/guarded"]}
            for name, given in marker.given.items()
        }
