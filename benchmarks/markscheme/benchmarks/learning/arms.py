"""The arms of the comparison: what each rewards, and how it places the credit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from transformers import PreTrainedTokenizerFast

from markscheme.benchmarks.learning.policy import judge_ids
from markscheme.benchmarks.learning.task import Judged, Problem

Kind = Literal["none", "rejection", "grpo"]
Control = Literal["shuffled", "constant"]


@dataclass(frozen=True)
class Arm:
    """One way to train.

    ``control`` spoils the step rewards: see `spoil`. A probe is paid for idle lines too and is no part of the
    comparison: ``probes`` names the arm that it is beside that, and whose learning rate it takes.
    """

    name: str
    kind: Kind
    meaning: str
    supervision: Literal["outcome", "process", "both"] = "outcome"
    credit: Literal["sum", "min", "delta", "first_error"] = "sum"
    control: Control | None = None
    probes: str | None = None

    @property
    def trained(self) -> bool:
        """Whether anything is trained, so that there is a learning rate to choose."""
        return self.kind != "none"


ARMS = (
    Arm("sft", "none", "the first training alone"),
    Arm("rejection", "rejection", "one more supervised training, on sampled completions whose answer is right"),
    Arm("outcome", "grpo", "GRPO, reward 1 for a right answer"),
    Arm("sum", "grpo", "GRPO, step rewards, DeepSeekMath's sum of the steps to come", "process", "sum"),
    Arm("min", "grpo", "GRPO, step rewards, PURE's soft minimum", "process", "min"),
    Arm("delta", "grpo", "GRPO, step rewards, each step its own", "process", "delta"),
    Arm("first_error", "grpo", "GRPO, outcome placed by the first wrong step", "process", "first_error"),
    Arm("both", "grpo", "GRPO, outcome + delta, weights 1 and 1", "both", "delta"),
    Arm(
        "delta_shuffled", "grpo", "control: delta, rewards shuffled within a completion", "process", "delta", "shuffled"
    ),
    Arm("delta_constant", "grpo", "control: delta, every step its completion's mean", "process", "delta", "constant"),
)
PROBES = (
    Arm("sum_idle", "grpo", "probe: sum, idle lines paid as right", "process", "sum", probes="sum"),
    Arm("min_idle", "grpo", "probe: min, idle lines paid as right", "process", "min", probes="min"),
    Arm("delta_idle", "grpo", "probe: delta, idle lines paid as right", "process", "delta", probes="delta"),
)
BY_NAME = {arm.name: arm for arm in (*ARMS, *PROBES)}

Steps = list[tuple[int, float | None]]


def token_ends(judged: Judged, length: int) -> list[int]:
    """Return the index of each step's last token.

    A character is a token; a step's line feed is its own, and so is the end of the sequence the last step's.
    """
    ends = [step.stop - 1 for step in judged.steps]
    return [*ends[:-1], length - 1] if ends else []


def spoil(rewards: Sequence[float | None], control: Control | None, rng: random.Random) -> list[float | None]:
    """Return the rewards as an arm sees them.

    ``shuffled`` deals a completion's rewards to its steps at random: as many right steps, in other places.
    ``constant`` gives every step the completion's mean: how good a completion is stays, which step was wrong goes. (The
    same number for every step of every completion would leave nothing: its advantages are exactly 0.) Steps without a
    reward keep none.
    """
    scored = [reward for reward in rewards if reward is not None]
    if control is None or not scored:
        return list(rewards)
    mean = sum(scored) / len(scored)
    cards = iter([mean] * len(scored) if control == "constant" else rng.sample(scored, len(scored)))
    return [None if reward is None else next(cards) for reward in rewards]


class Marker:
    """Judges each batch once, for the reward function, the step-reward function and the measurements."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, arm: Arm, seed: int) -> None:
        self.tokenizer, self.arm = tokenizer, arm
        self.rng = random.Random(f"shuffle {seed}")  # noqa: S311 - no secret
        self.judged: list[Judged] = []
        self.lengths: list[int] = []
        self.tokens = 0

    def outcome(self, prompts: Sequence[str], completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
        """1 for a right answer, 0 for a wrong one or none."""
        self.judged = [
            judge_ids(Problem.read(prompt), ids, self.tokenizer)
            for prompt, ids in zip(prompts, completion_ids, strict=True)
        ]
        self.lengths = [len(ids) for ids in completion_ids]
        self.tokens += sum(self.lengths)
        return [float(judged.correct) for judged in self.judged]

    def steps(self, prompts: Sequence[str], completion_ids: Sequence[Sequence[int]], **_: Any) -> list[Steps]:
        """Each step's last token and its reward."""
        out = []
        for prompt, ids in zip(prompts, completion_ids, strict=True):
            judged = judge_ids(Problem.read(prompt), ids, self.tokenizer)
            rewards = spoil(judged.rewards(pay_idle=self.arm.probes is not None), self.arm.control, self.rng)
            out.append(list(zip(token_ends(judged, len(ids)), rewards, strict=True)))
        return out
