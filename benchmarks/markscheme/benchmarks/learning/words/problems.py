"""A word problem, the ways to solve it, and what is true of a solution's lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from markscheme.benchmarks.learning.task import Judged, Step
from markscheme.verifiers.steps import EquationStepVerifier, StepOutcome

Value = int | Fraction
_NUMBER = r"\$?(\d[\d,]*(?:\.\d+)?|\.\d+)"
_EQUATION = re.compile(rf"{_NUMBER}\s*([-+*/x×÷−])\s*{_NUMBER}\s*=\s*\$?(-?\d[\d,]*(?:\.\d+)?)(?![\d.,]*\d)")
_ANSWER = re.compile(r"####\s*\$?(-?\d[\d,]*(?:\.\d+)?)")
_SIGNS = {"x": "*", "×": "*", "÷": "/", "−": "-"}


@dataclass(frozen=True)
class Operation:
    """One step of a plan: ``left sign right``; a letter names a given number, a digit the result of that step."""

    left: str
    sign: str
    right: str

    @classmethod
    def read(cls, text: str) -> Operation:
        """Return the operation that a text such as ``a*b`` or ``1-c`` writes."""
        return cls(text[0], text[1], text[2])


Plan = tuple[Operation, ...]


def read_plan(text: str) -> Plan:
    """Return the plan that a text such as ``a*b; 1-c`` writes."""
    return tuple(Operation.read(part.strip()) for part in text.split(";"))


@dataclass(frozen=True)
class Problem:
    """A question, its numbers, and every plan that solves it.

    Without plans a step is right when the equations it states are true (`EquationStepVerifier`), whether it belongs
    there or not, and the answer line when it is the answer.
    """

    text: str
    answer: Fraction
    givens: tuple[tuple[str, int], ...] = ()
    plans: tuple[Plan, ...] = ()
    source: str = ""


def compute(left: Value, sign: str, right: Value) -> Fraction | None:
    """Return the exact result; None for a division by zero."""
    if sign == "/":
        return Fraction(left) / Fraction(right) if right else None
    results = {"+": left + right, "-": left - right, "*": left * right}
    return Fraction(results[sign])


def number(text: str) -> Fraction:
    """Return the number that digits, with or without commas and a point, write."""
    return Fraction(text.replace(",", ""))


@dataclass(frozen=True)
class _Reading:
    """One way to take the lines so far: a plan, and the results that were stated for its first steps."""

    plan: Plan
    results: tuple[Fraction, ...] = ()

    def operands(self, givens: dict[str, int]) -> tuple[Fraction, str, Fraction] | None:
        """The next operation with its values; None at the plan's end."""
        if len(self.results) == len(self.plan):
            return None
        one = self.plan[len(self.results)]
        return self._value(one.left, givens), one.sign, self._value(one.right, givens)

    def _value(self, name: str, givens: dict[str, int]) -> Fraction:
        return self.results[int(name) - 1] if name.isdigit() else Fraction(givens[name])

    def stated(self, result: Fraction) -> _Reading:
        return _Reading(self.plan, (*self.results, result))

    @property
    def ended(self) -> bool:
        return len(self.results) == len(self.plan)


class Reader:
    """Judges the lines of one completion, in order.

    A line is right when its equation is the next operation of a plan that the lines before it follow, on the numbers
    as they are given and on results as they were stated (a step after a wrong one can be right), with the exact result.
    An operation that no plan has next is wrong; the lines after it may take its result for the step's that should have
    stood there, or pass over it. A line that states an earlier equation again is idle. The answer line is right when it
    comes after a whole plan and repeats its last result. A line without an equation claims nothing.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.givens = problem, dict(problem.givens)
        self.readings = [_Reading(plan) for plan in problem.plans]
        self.said: set[tuple[Fraction, str, Fraction, Fraction]] = set()
        self.rule = None if problem.plans else EquationStepVerifier()

    def line(self, text: str) -> tuple[bool | None, int | None]:
        """Return whether a line is right (None: it claims nothing), and how many operations it applies.

        The second is None for an answer line and for one that cannot be read.
        """
        answer = _ANSWER.fullmatch(text.strip())
        if answer is not None:
            return self._answers(number(answer[1])), None
        if self.rule is not None:
            outcome = self.rule.verify_step(text).outcome
            return None if outcome is StepOutcome.NO_CLAIM else outcome is StepOutcome.RIGHT, None
        found = list(_EQUATION.finditer(text))
        if len(found) != text.count("="):
            return False, None
        if not found:
            return None, None
        verdicts = [
            self._equation(number(one[1]), _SIGNS.get(one[2], one[2]), number(one[3]), number(one[4])) for one in found
        ]
        return all(right for right, _ in verdicts), sum(count for _, count in verdicts)

    def _answers(self, stated: Fraction) -> bool:
        if not self.problem.plans:
            return stated == self.problem.answer
        return any(one.ended and one.results[-1] == stated for one in self.readings)

    def _equation(self, left: Fraction, sign: str, right: Fraction, result: Fraction) -> tuple[bool, int]:
        exact = compute(left, sign, right) == result
        key = (*((min(left, right), sign, max(left, right)) if sign in "+*" else (left, sign, right)), result)
        if key in self.said:
            return exact, 0
        self.said.add(key)
        fitting = [one for one in self.readings if _same(one.operands(self.givens), (left, sign, right))]
        if fitting:
            self.readings = [one.stated(result) for one in fitting]
            return exact, 1
        taken = [one.stated(result) for one in self.readings if not one.ended]
        self.readings += [one for one in taken if one not in self.readings]
        return False, 1


def _same(wanted: tuple[Fraction, str, Fraction] | None, stated: tuple[Fraction, str, Fraction]) -> bool:
    if wanted is None or wanted[1] != stated[1]:
        return False
    return stated == wanted or (stated[1] in "+*" and stated == wanted[::-1])


def judge(problem: Problem, lines: Sequence[str], *, finished: bool = True) -> Judged:
    """Judge a completion, given as its lines; ``finished``: the last one was not cut off."""
    reader, steps, start = Reader(problem), [], 0
    for place, text in enumerate(lines):
        cut = not finished and place == len(lines) - 1
        right, count = (None, None) if cut else reader.line(text)
        if _ANSWER.fullmatch(text.strip()) and place < len(lines) - 1:
            right = False  # an answer that is not the last word is none
        steps.append(Step(text, start, start + len(text), right, count))
        start += len(text) + 1
    last = _ANSWER.fullmatch(lines[-1].strip()) if lines and finished else None
    return Judged(tuple(steps), last is not None and number(last[1]) == problem.answer)
