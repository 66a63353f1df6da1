"""The solutions of a run: drawn once from the policy, and kept."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from markscheme.benchmarks.learning.judging.policy import DigitVerifier, Rollouts, injected, outcome, sample_of
from markscheme.benchmarks.learning.judging.settings import Settings
from markscheme.benchmarks.learning.task import Problem, make_problem
from markscheme.prm.labels import LabelTask
from markscheme.prm.metrics.bestofn import Candidate, Sampled
from markscheme.prm.schema import StepSample
from markscheme.verifiers.outcomes import Outcome

SPLITS = ("train", "dev", "test")


def draw(generate: Rollouts, settings: Settings, seed: int) -> dict[str, Any]:
    """Draw every solution that a run needs, ready for JSON.

    Splits share no problem. A solution that did not come to an answer line, or has a blank line, is drawn again, on
    another problem; ``redrawn`` counts them.
    """
    rng = random.Random(f"judging {seed}")  # noqa: S311 - no secret
    met: set[str] = set()
    found: dict[str, Any] = {"redrawn": 0}
    for name in SPLITS:
        rows: list[dict[str, Any]] = []
        wanted = getattr(settings, name)
        while len(rows) < wanted:
            problems = new_problems(rng, wanted - len(rows), settings.length, met)
            texts = generate([problem.prompt for problem in problems], 1)
            for problem, (text,) in zip(problems, texts, strict=True):
                sample = sample_of(problem, text, name)
                if sample is None or outcome(problem, text) is Outcome.UNREADABLE:
                    found["redrawn"] += 1
                else:
                    rows.append(sample.model_dump(mode="json"))
        found[name] = rows
    made = [
        injected(problem, rng, wrong=place % 2 == 0)
        for place, problem in enumerate(new_problems(rng, settings.test, settings.length, met))
    ]
    found["injected"] = [sample.model_dump(mode="json") for sample in made]
    problems = new_problems(rng, settings.problems, settings.length, met)
    groups = generate([problem.prompt for problem in problems], settings.samples)
    found["best_of"] = [
        {"prompt": problem.prompt, "texts": texts} for problem, texts in zip(problems, groups, strict=True)
    ]
    return found


def new_problems(rng: random.Random, count: int, length: int, met: set[str]) -> list[Problem]:
    """Draw problems that were not met yet."""
    found: list[Problem] = []
    while len(found) < count:
        problem = make_problem(rng, length)
        if problem.prompt not in met:
            met.add(problem.prompt)
            found.append(problem)
    return found


def samples(rows: Sequence[dict[str, Any]]) -> list[StepSample]:
    """Read samples back."""
    return [StepSample.model_validate(row) for row in rows]


def tasks(found: Sequence[StepSample]) -> list[LabelTask]:
    """Solutions as labelers take them."""
    return [
        LabelTask(row, one.problem, one.completions, str(Problem.read(one.problem).answer))
        for row, one in enumerate(found)
    ]


def sampled(rows: Sequence[dict[str, Any]]) -> list[Sampled]:
    """The problems of best-of-N with their solutions; one that has no steps keeps its place, unscored."""
    verifier = DigitVerifier()
    found = []
    for row in rows:
        problem = Problem.read(row["prompt"])
        candidates = []
        for text in row["texts"]:
            sample = sample_of(problem, text, "best of")
            verdict = verifier.verify(text, str(problem.answer))
            steps = () if sample is None else sample.completions
            candidates.append(Candidate(steps, verdict.outcome is Outcome.CORRECT, verdict))
        found.append(Sampled(problem.prompt, tuple(candidates)))
    return found
