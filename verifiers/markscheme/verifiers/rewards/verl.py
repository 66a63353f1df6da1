"""A reward function for verl.

In verl's configuration name this file and ``compute_score``::

    custom_reward_function.path=…/markscheme/verifiers/rewards/verl.py
    custom_reward_function.name=compute_score
    +custom_reward_function.reward_kwargs.reading=auto        # any keyword argument of compute_score

(``python -c "import markscheme.verifiers.rewards.verl as m; print(m.__file__)"`` prints the path.) verl knows no
missing reward: UNDECIDED and BROKEN score 0.0 here, and the extras say so (``undecided``, ``broken``). Leave such rows
out of a group yourself where that matters.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from markscheme.verifiers.errors import GoldError
from markscheme.verifiers.golds import GoldReading
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.reading import Reading
from markscheme.verifiers.rewards.alarm import BrokenVerifierAlarm
from markscheme.verifiers.rewards.scoring import Scorer
from markscheme.verifiers.verdict import Outcome


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reading: Reading = "boxed",
    gold_reading: GoldReading = "auto",
    deadline: float = 5.0,
    thinking: bool = False,
    policy: Policy | None = None,
    **_unused: object,
) -> dict[str, float | str]:
    """Judge one completion for verl.

    Args:
        data_source: verl's name of the data set; not used.
        solution_str: the completion, without its prompt.
        ground_truth: the gold answer's text.
        extra_info: verl's; its ``index``, when there is one, names the row in an error.
        reading: the contract by which a completion states its answer.
        gold_reading: how ``ground_truth`` holds the gold answer.
        deadline: seconds of CPU that computer algebra may take.
        thinking: the prompt's template opened a ``<think>`` block.
        policy: the conventions of equality.
        _unused: what verl adds for reward models.

    Returns:
        ``score`` and ``acc`` (verl's headline metric of validation), both 1.0 or 0.0; ``unreadable``, ``undecided`` and
        ``broken``, 1.0 or 0.0; ``pred``, the answer as read ("" when none), by which verl takes its majority vote;
        ``outcome`` and ``reason``, text. Every result has every key, as verl wants.

    Raises:
        GoldError: the gold answer cannot be read.
    """
    del data_source, _unused
    scorer = _scorer(reading, gold_reading, deadline, thinking, policy)
    try:
        (verdict,) = scorer.judge([solution_str], [ground_truth])
    except GoldError as error:
        row = (extra_info or {}).get("index")
        if not isinstance(row, int):
            raise
        raise GoldError([(row, text, why) for _, text, why in error.rows], error.fix) from None
    score = verdict.score or 0.0
    return {
        "score": score,
        "acc": score,
        "unreadable": float(verdict.outcome is Outcome.UNREADABLE),
        "undecided": float(verdict.outcome is Outcome.UNDECIDED),
        "broken": float(verdict.outcome is Outcome.BROKEN),
        "pred": verdict.answer or "",
        "outcome": str(verdict.outcome),
        "reason": str(verdict.reason),
    }


@functools.lru_cache(maxsize=16)
def _scorer(
    reading: Reading,
    gold_reading: GoldReading,
    deadline: float,
    thinking: bool,  # noqa: FBT001 - a cached function's key
    policy: Policy | None,
) -> Scorer:
    """Return this process's scorer for these settings: verl calls once a completion, the verifier and alarm stay."""
    return Scorer(
        gold_reading=gold_reading,
        reading=reading,
        deadline=deadline,
        thinking=thinking,
        policy=policy,
        alarm=BrokenVerifierAlarm(reading=reading, thinking=thinking, name="compute_score"),
    )
