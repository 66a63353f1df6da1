"""Exact labels, where a program can check a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from markscheme.prm.labels.result import StepLabels
from markscheme.prm.labels.rollouts import Check
from markscheme.prm.labels.tasks import LabelTask
from markscheme.prm.schema import first_wrong
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.verdict import Outcome

if TYPE_CHECKING:
    from markscheme.verifiers.steps import EquationStepVerifier

CheckSteps = Callable[[LabelTask], Sequence[bool | float | None]]
"""One answer a step: whether it is right, or how sure that is; None where it cannot be told."""
NoClaim = Literal["unlabelled", "right"]


class CheckerLabeler:
    """Labels steps by a program.

    Args:
        check_steps: checks the steps of a solution.
        check: judges the solution's final answer, if that is wanted.
        name: what tells this checker from others: a resumed run compares it.
    """

    source = "checker"

    def __init__(self, check_steps: CheckSteps, *, check: Check | None = None, name: str = "") -> None:
        self.check_steps, self.check = check_steps, check
        self.identity = f"{self.source} {name}"

    def label(self, tasks: Sequence[LabelTask]) -> list[StepLabels]:
        """Label solutions.

        Raises:
            DataError: the checker does not give one answer a step.
        """
        return [self._label(task) for task in tasks]

    def _label(self, task: LabelTask) -> StepLabels:
        found = list(self.check_steps(task))
        if len(found) != len(task.steps):
            raise DataError(
                f"row {task.row}: the checker gave {len(found)} answers for {len(task.steps)} steps: expected one a "
                "step, None where it cannot tell"
            )
        labels = tuple(None if one is None else float(one) for one in found)
        outcome = self.check(task, "\n\n".join(task.steps)) if self.check is not None and task.gold else None
        return StepLabels(
            prompt=task.problem,
            completions=task.steps,
            labels=labels,
            source=self.source,
            first_error=first_wrong(labels),
            final_answer_correct=outcome is Outcome.CORRECT
            if outcome in (Outcome.CORRECT, Outcome.INCORRECT)
            else None,
        )


class EquationLabeler(CheckerLabeler):
    """Labels steps by the arithmetic that they state (`EquationStepVerifier`).

    A step is wrong where one of its equations is: exact, as far as it goes. It does not go far: a step whose equations
    hold may use the wrong numbers, and a step without an equation claims nothing. ``first_error`` is therefore known
    only where every step before it claims something, or ``no_claim`` is "right".

    Args:
        verifier: reads and checks equations.
        no_claim: what a step that states no equation is.
        check: judges the solution's final answer, if that is wanted.
    """

    source = "equations"

    def __init__(
        self,
        verifier: EquationStepVerifier | None = None,
        *,
        no_claim: NoClaim = "unlabelled",
        check: Check | None = None,
    ) -> None:
        from markscheme.verifiers.steps import EquationStepVerifier  # noqa: PLC0415 - brings the answer grammar

        own = verifier or EquationStepVerifier()
        without = 1.0 if no_claim == "right" else None

        def check_steps(task: LabelTask) -> list[float | None]:
            scores = [verdict.score for verdict in own.verify_steps(task.steps)]
            return [without if score is None else score for score in scores]

        super().__init__(check_steps, check=check, name=f"no_claim={no_claim} max_claims={own.max_claims}")
