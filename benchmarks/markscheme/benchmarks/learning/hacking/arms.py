"""The arms: whose word on a step is rewarded, and with which credit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markscheme.benchmarks.learning.arms import Arm
from markscheme.benchmarks.learning.task import Problem, judge

Source = Literal["rule", "truth", "gold", "montecarlo"]
JUDGES: tuple[Source, ...] = ("truth", "gold", "montecarlo")
"""Who scores the steps of every generation; each arm learns from one of them at most, the others only watch."""


@dataclass(frozen=True)
class JudgedArm(Arm):
    """One way to train.

    ``source``: ``rule`` is the task's own step rewards, where idle lines have none. The others score as judges do and
    go through the same guards: ``truth`` never errs, ``gold`` and ``montecarlo`` are trained on such labels.
    """

    source: Source = "rule"
    rate: float = 5e-4


def _arm(name: str, meaning: str, credit: str, source: Source, *, both: bool = False) -> JudgedArm:
    rate = 5e-4 if credit == "delta" else 2.5e-4
    return JudgedArm(
        name,
        "grpo",
        meaning,
        "both" if both else "process",
        credit,  # type: ignore[arg-type]
        source=source,
        rate=rate,
    )


ARMS = (
    JudgedArm("outcome", "grpo", "reward 1 for a right answer; no step rewards", rate=2.5e-4),
    _arm("rule", "exact step rewards, idle lines without one; delta", "delta", "rule"),
    _arm("truth", "a judge that never errs, idle lines are right steps to it; delta", "delta", "truth"),
    _arm("gold", "the judge that was trained on exact labels; delta", "delta", "gold"),
    _arm("montecarlo", "the judge that was trained on Monte-Carlo labels; delta", "delta", "montecarlo"),
    _arm("montecarlo_sum", "the same judge; sum of the steps to come", "sum", "montecarlo"),
    _arm("montecarlo_min", "the same judge; PURE's soft minimum of p - (1 - p)", "min", "montecarlo"),
    _arm("montecarlo_both", "the same judge; outcome + delta, weights 1 and 1", "delta", "montecarlo", both=True),
)
"""Each at the learning rate that the arithmetic run chose for its form of credit."""
BY_NAME = {arm.name: arm for arm in ARMS}


class Truth:
    """A judge of steps that never errs: the task's own rules."""

    def score(self, problem: str, steps: Sequence[str]) -> list[float]:
        """1 for a right step, 0 for a wrong one, each judged on what stands before it."""
        return [float(bool(step.right)) for step in judge(Problem.read(problem), "\n".join(steps)).steps]
