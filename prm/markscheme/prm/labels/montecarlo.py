"""Monte-Carlo labels (Math-Shepherd, 2312.08935): a step is as good as what can still come of it.

From each prefix of a solution the policy writes ``n`` rollouts; the share that reaches the right answer estimates the
chance that the policy recovers from here. This measures the policy as much as the step: a weak policy fails from right
prefixes, a lucky one succeeds from wrong ones (2501.07301). `audit` says by how much, where gold labels are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from markscheme.prm.labels.result import Estimate, StepLabels
from markscheme.prm.labels.rollouts import (
    AnswerCheck,
    Check,
    Generate,
    PrefixPrompt,
    answer_right,
    count_outcomes,
    estimates,
    own_answer,
)
from markscheme.prm.labels.tasks import LabelTask
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.verdict import Outcome


class MonteCarloLabeler:
    """Labels every step by rollouts from the prefix that ends with it.

    The last step of a solution that states an answer is labelled by that answer, for nothing is left to roll out.

    Args:
        generate: completes prompts; all prefixes of a chunk of solutions go to it in one call.
        prompt: writes a prefix as a prompt.
        check: judges whole solutions; against the gold answer by default.
        n: rollouts a prefix.
        threshold: the share of right rollouts from which on a step is right. 0, which 2501.07301 found best for hard
            labels: any right rollout will do.
        soft: label steps by the share itself, as Math-Shepherd's soft estimation; train with ``right_above`` 0 or
            ``soft_ce``.
        name: what tells this policy and its sampling from others: a resumed run compares it.

    Raises:
        DataError: ``n`` below 1, or a threshold outside [0, 1].
    """

    source = "montecarlo"

    def __init__(
        self,
        generate: Generate,
        prompt: PrefixPrompt | None = None,
        *,
        check: Check | None = None,
        n: int = 8,
        threshold: float = 0.0,
        soft: bool = False,
        name: str = "",
    ) -> None:
        check_rollouts(n, threshold)
        self.generate = generate
        self.prompt = prompt or PrefixPrompt()
        self.check = check or AnswerCheck()
        self.n, self.threshold, self.soft = n, threshold, soft
        self.identity = f"{self.source} {name} n={n} threshold={threshold} soft={soft}{written(self.prompt)}"

    def label(self, tasks: Sequence[LabelTask]) -> list[StepLabels]:
        """Label solutions. Raises as `Generate` and the check do."""
        own = [own_answer(self.check, self.prompt, task) for task in tasks]
        asked = [
            (place, count)
            for place, (task, outcome) in enumerate(zip(tasks, own, strict=True))
            for count in range(1, len(task.steps) + (outcome is Outcome.UNREADABLE))
        ]
        pairs = [(tasks[place], count) for place, count in asked]
        found: list[list[Estimate]] = [[] for _ in tasks]
        for (place, _), estimate in zip(
            asked, estimates(self.generate, self.prompt, self.check, self.n, pairs), strict=True
        ):
            found[place].append(estimate)
        return [self._labels(task, outcome, row) for task, outcome, row in zip(tasks, own, found, strict=True)]

    def _labels(self, task: LabelTask, own: Outcome, found: list[Estimate]) -> StepLabels:
        rolled_out = len(found)
        if own is not Outcome.UNREADABLE:
            found = [*found, count_outcomes([own], stated=True)]
        hard = [estimate.passes(self.threshold) for estimate in found]
        shares = [estimate.share for estimate in found]
        return StepLabels(
            prompt=task.problem,
            completions=task.steps,
            labels=tuple(shares if self.soft else [None if one is None else float(one) for one in hard]),
            source=self.source,
            first_error=first_failing(hard),
            final_answer_correct=answer_right(own),
            estimates=tuple(found),
            rollouts=rolled_out * self.n,
        )


def first_failing(passed: Sequence[bool | None]) -> int | None:
    """The first step that fails, -1 for none, None where an undecided one comes before that is known."""
    for place, one in enumerate(passed):
        if one is None:
            return None
        if not one:
            return place
    return -1


def check_rollouts(n: int, threshold: float) -> None:
    """Raise DataError for settings that make no sense."""
    if n < 1:
        raise DataError(f"n: expected at least one rollout a prefix, got {n}")
    if not 0 <= threshold <= 1:
        raise DataError(f"threshold: expected a share in [0, 1], got {threshold}")


def written(prompt: PrefixPrompt) -> str:
    """How a prompt is written, for identities."""
    return f" {prompt.ask('?')!r} {prompt.lead!r} {prompt.separator!r}"
