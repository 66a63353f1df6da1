"""Hypothesis strategies: labelled solutions with a judge's scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import profiles  # noqa: F401 - sets how many examples are drawn
from markscheme.prm.schema import StepSample

Draw = Callable[..., Any]
Judged = tuple[StepSample, list[float]]

COARSE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
"""Few values, so that ties and scores on a threshold come up."""


def sample(first_error: int, steps: int, **fields: object) -> StepSample:
    """A solution whose first wrong step is known, as ProcessBench has it."""
    n = steps - first_error - 1
    labels = [1] * steps if first_error == -1 else [1] * first_error + [0] + [None] * n
    texts = [f"step {i}" for i in range(steps)]
    return StepSample.model_validate(
        {"prompt": "p", "completions": texts, "labels": labels, "first_error_index": first_error, **fields}
    )


@st.composite
def judged(draw: Draw, scores: st.SearchStrategy[float] = COARSE) -> Judged:
    """A solution in one of two subsets, with scores; some are cut off."""
    steps = draw(st.integers(1, 5))
    first = draw(st.one_of(st.just(-1), st.integers(0, steps - 1)))  # as many without an error as with one
    found = draw(st.lists(scores, min_size=steps, max_size=steps))
    if draw(st.sampled_from([True, False, False])):
        kept = draw(st.integers(0, steps - 1))
        found = [*found[:kept], *[math.nan] * (steps - kept)] if draw(st.booleans()) else found[:kept]
    answer = draw(st.sampled_from([True, False]))
    subset = draw(st.sampled_from(["gsm8k", "math"]))
    return sample(first, steps, subset=subset, final_answer_correct=answer), found


@st.composite
def labelled(draw: Draw, scores: st.SearchStrategy[float] = COARSE) -> Judged:
    """A solution with a label on any step, as PRMBench has it, with scores."""
    steps = draw(st.integers(1, 5))
    labels = draw(st.lists(st.sampled_from([0, 1, 1, None]), min_size=steps, max_size=steps))
    found = draw(st.lists(st.one_of(scores, scores, st.just(math.nan)), min_size=steps, max_size=steps))
    kind = draw(st.sampled_from(["circular", "multi_solutions", "correct"]))
    labels = [None if label is None else 1 for label in labels] if kind == "multi_solutions" else labels
    texts = [f"step {i}" for i in range(steps)]
    row = {"prompt": "p", "completions": texts, "labels": labels, "kind": kind}
    return StepSample.model_validate(row), found
