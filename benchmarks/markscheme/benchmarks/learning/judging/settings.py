"""The size of a run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field

from markscheme.benchmarks.learning.task import Habits


@dataclass(frozen=True)
class Settings:
    """What a run consists of. Equal settings, equal stages: a resumed run keeps what it has of the same settings.

    Attributes:
        length: operations of a problem.
        habits: of the writer of the demonstrations: misconceptions and slips; no shortcuts and no idle lines.
        sft_steps: updates of the policy's training, of 32 demonstrations each.
        sft_rate: its peak learning rate.
        train: on-policy solutions that judges are trained on, one a problem.
        dev: on-policy solutions that thresholds are chosen on.
        test: on-policy solutions that are measured on, and as many with injected errors.
        problems: problems of best-of-N.
        samples: solutions of each.
        rollouts: a prefix.
        share: of right rollouts that makes a step right.
        width: units of the judges' hidden layer.
        temperature: of the soft minimum over a step's tokens.
        epochs: over the labelled solutions, 16 of them an update.
        rate: the judges' peak learning rate.
    """

    length: int = 6
    habits: Habits = field(
        default_factory=lambda: Habits(
            misconceived=0.12, wrong=0.45, other=0.1, slip=0.02, shortcut=0.0, shortcut_slip=0.0, idle=0.0
        )
    )
    sft_steps: int = 2500
    sft_rate: float = 5e-3
    train: int = 1000
    dev: int = 150
    test: int = 400
    problems: int = 150
    samples: int = 8
    rollouts: int = 8
    share: float = 0.25
    width: int = 256
    temperature: float = 0.3
    epochs: int = 16
    rate: float = 2e-3

    @property
    def limit(self) -> int:
        """Tokens that a completion may have: a plain solution has 7 an operation and 3."""
        return 9 * self.length + 8

    def digest(self) -> str:
        """A short name of all of it."""
        return hashlib.sha256(json.dumps(dataclasses.asdict(self), sort_keys=True).encode()).hexdigest()[:12]


FULL = Settings()
QUICK = Settings(
    length=2, sft_steps=60, train=48, dev=24, test=24, problems=6, samples=4, rollouts=2, width=16, epochs=2
)
"""For tests: every part runs, nothing is learnt."""
