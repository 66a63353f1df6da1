"""The size of a learning run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What a run consists of. Equal settings, equal units: a resumed run keeps what it has of the same settings.

    Attributes:
        length: operations of a problem.
        policies: seeds of the first trainings; the runs' seeds take their policies in turn.
        sft_steps: updates of the first training, of 32 demonstrations each.
        sft_rate: its peak learning rate.
        tokens: what an arm may generate, in completion tokens; it ends with the update that reaches them.
        prompts: problems an update.
        group: completions a problem.
        rates: the learning rates that every trained arm is tuned over.
        tune_seeds: the seeds they are chosen on.
        seeds: the seeds that are reported.
        probe_seeds: how many of them, from the first, the probes have.
        evaluated: held-out problems of an evaluation.
        samples: completions drawn for each at temperature 1 (one more is greedy).
        early: the generations, from the first, over which advantages are compared while the policies are still alike.
    """

    length: int = 6
    policies: tuple[int, ...] = (1, 2)
    sft_steps: int = 1200
    sft_rate: float = 5e-3
    tokens: int = 70_000
    prompts: int = 8
    group: int = 8
    rates: tuple[float, ...] = (2.5e-4, 5e-4, 1e-3)
    tune_seeds: tuple[int, ...] = (101,)
    seeds: tuple[int, ...] = tuple(range(1, 9))
    probe_seeds: int = 4
    evaluated: int = 256
    samples: int = 2
    early: int = 5

    @property
    def limit(self) -> int:
        """Tokens that a completion may have: a plain solution has 7 an operation and 3, so two thirds more fit."""
        return 12 * self.length + 8

    def policy(self, seed: int) -> int:
        """The first training that a seed starts from."""
        return self.policies[seed % len(self.policies)]

    def digest(self, arm: str) -> str:
        """A short name of what an arm's units depend on: which seeds and rates there are besides is left out."""
        left_out = {"rates", "seeds", "tune_seeds", "probe_seeds", "policies"}
        if arm == "sft":
            left_out |= {"tokens", "prompts", "group", "early"}
        what = {name: value for name, value in dataclasses.asdict(self).items() if name not in left_out}
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


FULL = Settings()
QUICK = Settings(
    length=2,
    policies=(1,),
    sft_steps=10,
    tokens=300,
    prompts=2,
    group=4,
    rates=(1e-3, 2e-3),
    seeds=(1, 2),
    probe_seeds=1,
    evaluated=8,
    samples=1,
    early=2,
)
"""For tests: every part runs, nothing is learnt."""
