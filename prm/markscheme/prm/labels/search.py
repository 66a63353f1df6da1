"""Binary search for the first error (OmegaPRM, 2406.06592, section 3.2): log S prefixes instead of S.

The search rests on an assumption: *once a prefix cannot come right, no longer one can*. It holds as far as recovering
from an error is rarer than the rollouts can see; where a policy does recover, or fails from a right prefix, the search
ends at a step that is wrong by the rollouts and whose predecessor is not, but that need not be the first such step. And
of a solution whose answer is right it looks at nothing: every prefix has come right once. A right answer that rests on
a wrong step is therefore labelled right throughout; Monte-Carlo labels and a judge can see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markscheme.prm.labels.montecarlo import check_rollouts, written
from markscheme.prm.labels.result import After, Estimate, StepLabels, up_to
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
from markscheme.verifiers.verdict import Outcome

TOO_HARD = "no rollout from the problem alone comes right: the policy cannot tell"
UNDECIDED = "the verifier decides none of the rollouts of a prefix"
ANSWER_UNDECIDED = "the verifier does not decide the solution's own answer"


@dataclass(slots=True)
class _Search:
    """One solution's search: the prefix of ``low`` steps can come right, that of ``high`` cannot."""

    task: LabelTask
    own: Outcome
    low: int = 0
    high: int = 0
    note: str = ""
    known: dict[int, Estimate] = field(default_factory=dict)
    rollouts: int = 0
    ended: bool = False

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2


class SearchLabeler:
    """Finds the first wrong step of solutions with a wrong answer by rollouts from few prefixes.

    All solutions of a chunk are searched side by side, a call of ``generate`` a round.

    Args:
        generate: completes prompts.
        prompt: writes a prefix as a prompt.
        check: judges whole solutions; against the gold answer by default.
        n: rollouts a prefix.
        threshold: the share of right rollouts from which on a prefix can come right; 0: any.
        root: first roll out the problem alone, once a problem and chunk. Where nothing comes right from there the
            policy cannot tell a wrong step from a right one, and the solution is left without labels.
        after: what becomes of steps after the first error. "wrong" is what the assumption says, and what Monte-Carlo
            labels would be.
        name: what tells this policy and its sampling from others: a resumed run compares it.

    Raises:
        DataError: ``n`` below 1, or a threshold outside [0, 1].
    """

    source = "search"

    def __init__(
        self,
        generate: Generate,
        prompt: PrefixPrompt | None = None,
        *,
        check: Check | None = None,
        n: int = 8,
        threshold: float = 0.0,
        root: bool = True,
        after: After = "unlabelled",
        name: str = "",
    ) -> None:
        check_rollouts(n, threshold)
        self.generate = generate
        self.prompt = prompt or PrefixPrompt()
        self.check = check or AnswerCheck()
        self.n, self.threshold, self.root, self.after = n, threshold, root, after
        self.identity = (
            f"{self.source} {name} n={n} threshold={threshold} root={root} after={after}{written(self.prompt)}"
        )

    def label(self, tasks: Sequence[LabelTask]) -> list[StepLabels]:
        """Label solutions. Raises as `Generate` and the check do."""
        searches = [self._start(task) for task in tasks]
        self._ends([one for one in searches if not one.ended])
        while active := [one for one in searches if not one.ended]:
            for one, estimate in zip(active, self._roll([(one, one.middle) for one in active]), strict=True):
                passed = estimate.passes(self.threshold)
                if passed is None:
                    one.note, one.ended = UNDECIDED, True
                elif passed:
                    one.low = one.middle
                else:
                    one.high = one.middle
                one.ended = one.ended or one.high - one.low == 1
        return [self._labels(one) for one in searches]

    def _start(self, task: LabelTask) -> _Search:
        one = _Search(task, own_answer(self.check, self.prompt, task), high=len(task.steps))
        if one.own is not Outcome.UNREADABLE:
            one.known[one.high] = count_outcomes([one.own], stated=True)
            right = answer_right(one.own)
            one.note = ANSWER_UNDECIDED if right is None else ""
            one.ended = right is not False
            one.low = one.high if right else 0
        return one

    def _ends(self, searches: Sequence[_Search]) -> None:
        """Look at the two ends: whole solutions that state no answer, and the problem alone."""
        unfinished = [one for one in searches if one.own is Outcome.UNREADABLE]
        for one, estimate in zip(unfinished, self._roll([(one, one.high) for one in unfinished]), strict=True):
            passed = estimate.passes(self.threshold)
            one.note, one.ended = (UNDECIDED if passed is None else ""), passed is not False
            one.low = one.high if passed else 0
        if self.root:
            self._roots([one for one in searches if not one.ended])
        for one in searches:
            one.ended = one.ended or one.high - one.low == 1

    def _roots(self, searches: Sequence[_Search]) -> None:
        firsts: dict[tuple[str, str], _Search] = {}
        for one in searches:
            firsts.setdefault((one.task.problem, one.task.gold), one)
        found = dict(zip(firsts, self._roll([(one, 0) for one in firsts.values()]), strict=True))
        for one in searches:
            passed = found[one.task.problem, one.task.gold].passes(self.threshold)
            if not passed:
                one.note, one.ended = (UNDECIDED if passed is None else TOO_HARD), True

    def _roll(self, asked: Sequence[tuple[_Search, int]]) -> list[Estimate]:
        found = estimates(self.generate, self.prompt, self.check, self.n, [(one.task, count) for one, count in asked])
        for (one, count), estimate in zip(asked, found, strict=True):
            one.known[count] = estimate
            one.rollouts += self.n
        return found

    def _labels(self, one: _Search) -> StepLabels:
        steps = len(one.task.steps)
        first = None if one.note else (-1 if one.low == steps else one.high - 1)
        return StepLabels(
            prompt=one.task.problem,
            completions=one.task.steps,
            labels=tuple(up_to(first, steps, self.after)),
            source=self.source,
            first_error=first,
            final_answer_correct=answer_right(one.own),
            estimates=tuple(one.known.get(count) for count in range(1, steps + 1)),
            rollouts=one.rollouts,
            note=one.note,
        )
