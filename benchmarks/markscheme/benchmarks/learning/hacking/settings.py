"""The size of a run against judges."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from markscheme.benchmarks.learning import settings as learning
from markscheme.benchmarks.learning.judging import settings as judging
from markscheme.benchmarks.learning.task import Habits


@dataclass(frozen=True)
class Settings(learning.Settings):
    """A learning run's settings, and those of the judges. Every seed has a policy of its own, and judges of its own.

    ``tune_seeds`` and ``rates`` are not used: rates stand with the arms. Seeds are others than those of the runs that
    rates and the judges' settings were chosen in.

    Attributes:
        judge: of the judges; the policy's length and training are the run's own, and so are its writer's habits,
            shortcuts and idle lines included: what a judge can be fooled by must be there to be found.
    """

    tokens: int = 100_000
    seeds: tuple[int, ...] = (11, 12, 13)
    judge: judging.Settings = field(
        default_factory=lambda: judging.Settings(train=600, dev=100, test=300, problems=80, rollouts=8)
    )

    def policy(self, seed: int) -> int:
        """The first training that a seed starts from: its own."""
        return seed

    def digest(self, arm: str) -> str:
        """A short name of what an arm's units depend on."""
        return super().digest("sft" if arm == "judges" else arm)

    @property
    def judging(self) -> judging.Settings:
        """What makes the policy and its judges."""
        return dataclasses.replace(
            self.judge, length=self.length, habits=Habits(), sft_steps=self.sft_steps, sft_rate=self.sft_rate
        )


FULL = Settings()
QUICK = Settings(
    length=2,
    sft_steps=120,
    tokens=300,
    prompts=2,
    group=4,
    seeds=(1,),
    evaluated=8,
    samples=1,
    early=2,
    judge=judging.QUICK,
)
"""For tests: every part runs, nothing is learnt."""
