"""The size of a run on word problems."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Literal

ARMS = ("outcome", "process", "both")
MEANING = {
    "sft": "the short supervised training alone",
    "outcome": "GRPO, reward 1 for a right answer",
    "process": "GRPO, step rewards, 1 for a right step and 0 for a wrong one",
    "both": "GRPO, the two advantages added, weights 1 and 1",
}


@dataclass(frozen=True)
class Settings:
    """What a run consists of. Equal settings, equal units: a resumed run keeps what it has of the same settings.

    Attributes:
        model: a folder; None: SmolLM2-135M-Instruct; "random": a tiny model with random weights, for tests.
        gsm8k: rows of GSM8K's training split; half of all training problems are then drawn from it.
        credit: of step rewards.
        sft_updates: updates of the supervised training.
        sft_batch: demonstrations of each.
        sft_rate: its peak learning rate.
        tokens: what an arm may generate, in completion tokens; it ends with the update that reaches them.
        steps: cut an arm off after so many updates, whatever it has generated; None: do not.
        prompts: problems an update.
        group: completions a problem.
        micro: completions of a forward and backward pass.
        rate: learning rate of the arms, constant.
        limit: tokens of a completion.
        seeds: of the arms; the supervised training is one for all.
        evaluated: held-out problems of each kind.
        save_every: updates between checkpoints.
    """

    model: str | None = None
    gsm8k: str | None = None
    credit: Literal["sum", "min", "delta", "first_error"] = "delta"
    sft_updates: int = 16
    sft_batch: int = 16
    sft_rate: float = 5e-5
    tokens: int = 60_000
    steps: int | None = None
    prompts: int = 6
    group: int = 8
    micro: int = 16
    rate: float = 1e-5
    limit: int = 80
    seeds: tuple[int, ...] = (1,)
    evaluated: int = 120
    save_every: int = 5

    def digest(self, arm: str) -> str:
        """A short name of what an arm's units depend on. The supervised training is the arm ``sft``."""
        left_out = {"seeds", "save_every"} | ({"micro"} if arm != "sft" else set())
        if arm == "sft":
            left_out |= {"credit", "tokens", "steps", "prompts", "group", "micro", "rate"}
        elif arm == "outcome":
            left_out |= {"credit"}
        return self._hash(left_out)

    def path(self, arm: str) -> str:
        """A short name of what an arm's training depends on, but for where it ends: a longer run goes on from it."""
        left_out = {"seeds", "save_every", "micro", "tokens", "steps", "evaluated"}
        return self._hash(left_out | ({"credit"} if arm == "outcome" else set()))

    def _hash(self, left_out: set[str]) -> str:
        what = {name: value for name, value in dataclasses.asdict(self).items() if name not in left_out}
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


FULL = Settings()
QUICK = Settings(
    model="random",
    sft_updates=3,
    sft_batch=4,
    sft_rate=1e-3,
    tokens=300,
    prompts=2,
    group=4,
    micro=4,
    rate=1e-3,
    limit=24,
    evaluated=6,
    save_every=1,
)
"""For tests: every part runs, nothing is learnt."""
