"""Checks the arithmetic that a step states: right, wrong, or no claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from markscheme.verifiers.math.limits import budget
from markscheme.verifiers.outcomes import Reason
from markscheme.verifiers.steps.context import is_rounded, is_stated
from markscheme.verifiers.steps.equations import Equation, equations
from markscheme.verifiers.steps.links import judge
from markscheme.verifiers.steps.verdicts import ClaimOutcome, StepClaim, StepOutcome, StepVerdict

# No claim is looked for in a step without one of these.
_RELATION = re.compile(
    r"[=≈≃≅≒＝<>≤≥≠]|\\(?:approx|simeq|sim|cong|leq?|geq?|neq?|lt|gt)(?![a-zA-Z])|\bequals?\b"
    r"|\d[)}%\s$]{0,4}\b(?:is|are|gives|makes)\b\s{1,3}\\?[$(\d.]"
)
_SHOWN = 200  # characters of a claim that a verdict keeps
_WORK = 300_000  # units of work, about a microsecond each, that one step may take of the answer grammar


class EquationStepVerifier:
    """Checks every arithmetic claim that a step states: ``16 - 3 - 4 = 9``, ``<<16-3-4=9>>``, ``20% of 50 = 10``.

    Claims are found in prose, LaTeX and calculator annotations; chains ``a = b = c`` are claims link by link. Numbers
    are exact. A claim holds when the two sides are equal, or equal to the digits that are written (``100/3 = 33.33``);
    where units, percentages or words allow more than one reading, it holds when it does in one of them, and it is wrong
    only when it is in none. Equations with variables, definitions ("1 box = 12 eggs") and what the step supposes or
    denies claim nothing. Deterministic, linear in the text, thread-safe; needs no gold answer.

    Args:
        max_claims: relations of a step that are looked at; a step with more is judged by these, and says so.

    Raises:
        ValueError: ``max_claims`` below 1.
    """

    any_thread = True

    def __init__(self, *, max_claims: int = 1000) -> None:
        if max_claims < 1:
            raise ValueError(f"max_claims must be at least 1, not {max_claims}")
        self.max_claims = max_claims

    def verify_step(self, text: str) -> StepVerdict:
        """Judge one step.

        Raises:
            TypeError: a step that is no string.
        """
        if not isinstance(text, str):
            raise TypeError(f"a step must be a string, not {type(text).__name__}")
        if _RELATION.search(text) is None:
            return _NOTHING
        claims: list[StepClaim] = []
        complete = True
        with budget(_WORK):
            try:
                for looked_at, found in enumerate(equations(text)):
                    if looked_at == self.max_claims:
                        complete = False
                        break
                    claim = _claim(text, found)
                    if claim is not None:
                        claims.append(claim)
            except RecursionError:  # the caps on nesting fit a stack of which the caller has left half
                complete = False
        claims.sort(key=lambda claim: claim.span)
        return StepVerdict(outcome=_outcome(claims), claims=tuple(claims), complete=complete)

    def verify_steps(self, steps: Iterable[str]) -> list[StepVerdict]:
        """Judge steps, in order."""
        return [self.verify_step(step) for step in steps]


_NOTHING = StepVerdict(outcome=StepOutcome.NO_CLAIM)


def _outcome(claims: Sequence[StepClaim]) -> StepOutcome:
    outcomes = {claim.outcome for claim in claims}
    if ClaimOutcome.WRONG in outcomes:
        return StepOutcome.WRONG
    return StepOutcome.RIGHT if ClaimOutcome.RIGHT in outcomes else StepOutcome.NO_CLAIM


def _claim(text: str, equation: Equation) -> StepClaim | None:
    """The claim that an equation of a step makes, or None."""
    link, start, end, value_end = equation
    found = judge(link)
    if found is None:
        return None
    wrong = found.outcome is ClaimOutcome.WRONG
    if not link.strict:
        if not is_stated(text, start, value_end, wrong=wrong):
            return None
        off = wrong or found.reason is Reason.PRECISION_AMBIGUOUS
        if off and not link.about and is_rounded(text, start, end):
            again = judge(link._replace(about="rounded"))
            found = again if again is not None and again.outcome is ClaimOutcome.RIGHT else found
    return StepClaim(
        text=text[start:end][:_SHOWN],
        span=(start, end),
        relation=link.relation,
        left=found.left[:_SHOWN],
        right=found.right[:_SHOWN],
        outcome=found.outcome,
        reason=found.reason,
        detail=found.detail[:_SHOWN],
        source="annotation" if link.strict else "prose",
    )
