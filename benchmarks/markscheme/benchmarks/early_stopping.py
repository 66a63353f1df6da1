"""How soon the rules of early stopping stop simulated runs: ``python -m markscheme.benchmarks.early_stopping``.

Rewards are drawn as a run draws them: each step takes 32 prompts, whose chances of success spread about the run's level
by a beta distribution, and 8 completions of each, right or wrong; the step's reward is their mean. Its standard
deviation is about 0.05 at a level of 0.75. ``--correlation`` adds a wandering of the level (an AR(1) process).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from markscheme.trainer.plateau import LiteralRule, Rule, SlopeRule

Floats = NDArray[np.float64]

SHAPES: dict[str, Callable[[Floats], Floats]] = {
    "rising": lambda t: 0.6 + 0.3 * t,
    "saturating": lambda t: 0.9 - 0.3 * np.exp(-5.0 * t),
    "plateau": lambda t: np.full(len(t), 0.75),
    "falling": lambda t: 0.8 - 0.3 * t,
}
"""The level of a run over its length, t from 0 to 1."""

_SPREAD = 2.0  # of the beta distribution of prompts: its two parameters sum to this


def rewards(
    shape: str, steps: int, seed: int, *, prompts: int = 32, group: int = 8, correlation: float = 0.0
) -> Floats:
    """Draw the rewards of a run, one a step.

    Args:
        shape: one of `SHAPES`.
        steps: the run's length.
        seed: of the draw.
        prompts: prompts a step.
        group: completions a prompt.
        correlation: of the level's wandering, from one step to the next; its standard deviation is that of a step's
            noise.
    """
    rng = np.random.default_rng(seed)
    level = SHAPES[shape](np.linspace(0.0, 1.0, steps))
    if correlation:
        level = np.clip(level + _wander(rng, steps, correlation, 0.25 / prompts**0.5), 0.02, 0.98)
    chance = rng.beta(_SPREAD * level[:, None], _SPREAD * (1 - level[:, None]), (steps, prompts))
    return rng.binomial(group, chance).mean(axis=1) / group


def _wander(rng: np.random.Generator, steps: int, correlation: float, deviation: float) -> Floats:
    noise = rng.normal(0.0, deviation, steps)
    for step in range(1, steps):
        noise[step] = correlation * noise[step - 1] + (1 - correlation**2) ** 0.5 * noise[step]
    return noise


def stopped_at(rule: Rule, run: Floats) -> int | None:
    """Return the step, counted from 1, at which ``rule`` stops ``run``, or None."""
    return next((step for step, reward in enumerate(run, 1) if rule.observe(float(reward)) is not None), None)


@dataclass(frozen=True, slots=True)
class Figures:
    """How one rule did on many runs of one kind: the share stopped, and at which step."""

    rule: str
    shape: str
    steps: int
    prompts: int
    correlation: float
    runs: int
    stopped: float
    median: float | None
    at_95_percent: float | None


RULES: dict[str, Callable[[], Rule]] = {
    "literal": LiteralRule,
    "literal, warm-up 50": lambda: LiteralRule(warmup=50),
    "slope": SlopeRule,
}
"""The rules that are compared, as they come."""


def measure(rule: str, shape: str, steps: int, runs: int, *, prompts: int = 32, correlation: float = 0.0) -> Figures:
    """Run one rule on ``runs`` runs, seeds from 0."""
    found = [
        stopped_at(RULES[rule](), rewards(shape, steps, seed, prompts=prompts, correlation=correlation))
        for seed in range(runs)
    ]
    at = sorted(step for step in found if step is not None)
    return Figures(
        rule,
        shape,
        steps,
        prompts,
        correlation,
        runs,
        len(at) / runs,
        float(np.median(at)) if at else None,
        float(np.percentile(at, 95)) if at else None,
    )


CASES = [
    ("rising", 150), ("rising", 300), ("rising", 600), ("rising", 1000),
    ("saturating", 1000), ("plateau", 1000), ("falling", 300), ("falling", 1000),
]  # fmt: skip
"""Shapes and lengths of the table."""


def main() -> None:
    """Print the table; write JSON with ``--out``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="runs of each kind")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), help="runs of these shapes alone")
    parser.add_argument("--prompts", type=int, nargs="+", default=[16, 32, 128], help="prompts a step: less is noisier")
    parser.add_argument("--correlation", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    given = parser.parse_args()
    print(f"{'rule':20} {'run':16} {'prompts':>7} {'correl.':>7} {'stopped':>8} {'median':>7} {'95 %':>6}")
    table: list[Figures] = []
    for shape, steps in [case for case in CASES if case[0] in given.shapes]:
        for prompts in given.prompts:
            for correlation in given.correlation:
                for rule in RULES:
                    row = measure(rule, shape, steps, given.runs, prompts=prompts, correlation=correlation)
                    table.append(row)
                    when = "      -      -" if row.median is None else f"{row.median:7.0f} {row.at_95_percent:6.0f}"
                    kind = f"{shape} {steps}"
                    print(f"{rule:20} {kind:16} {prompts:7} {correlation:7} {row.stopped:8.1%} {when}", flush=True)
    if given.out is not None:
        given.out.write_text(json.dumps([asdict(row) for row in table], indent=1) + "\n")


if __name__ == "__main__":
    main()
