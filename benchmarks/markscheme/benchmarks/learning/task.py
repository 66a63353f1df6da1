r"""Chains of digit operations, written step by step, whose every step can be judged exactly.

A problem is a digit and a row of labelled operations modulo 10: ``7a*3b+8c-5:``. A completion states one step a line
and then the answer: ``7a*3=1\n1b+8=9\n9=9\n9c-5=4\n#4``.

A step is *right* when it follows from the problem and from the lines before it, as they are written: it starts at the
digit that the line before gave, applies the problem's next operations as they stand, and states their result. A step
after a wrong one can be right again (what an examiner calls follow-through). A line may apply several operations
(``7a*3b+8=9``: a shortcut) or none (``9=9``: true, and idle). The answer line is the last step; it is right when every
operation was applied and it repeats the last digit. So where all steps are right the answer is right too; a right
answer can hold wrong steps (``*5`` forgets all but one bit, ``*2`` folds two digits into one, two slips can cancel): a
flawed positive.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

LABELS = "abcdefghijkl"
"""The names of a problem's operations, in order: the most operations that a problem can have."""

SIGNS = "+-*"
_STEP = re.compile(r"(\d)((?:[a-l][+*-]\d)*)=(\d)")
_ANSWER = re.compile(r"#(\d)")


@dataclass(frozen=True)
class Operation:
    """One operation on the running digit: ``sign`` is ``+``, ``-`` or ``*``, ``digit`` its right operand."""

    sign: str
    digit: int

    def apply(self, value: int) -> int:
        """Return the result, modulo 10."""
        if self.sign == "+":
            return (value + self.digit) % 10
        return (value - self.digit if self.sign == "-" else value * self.digit) % 10


@dataclass(frozen=True)
class Problem:
    """A digit and the operations to apply to it, in order."""

    start: int
    operations: tuple[Operation, ...]

    @property
    def prompt(self) -> str:
        """The problem as the model reads it."""
        return f"{self.start}{self.written(0, len(self.operations))}:"

    def written(self, first: int, stop: int) -> str:
        """Return some of the operations as the prompt writes them."""
        places = range(first, min(stop, len(self.operations)))
        return "".join(f"{LABELS[at]}{self.operations[at].sign}{self.operations[at].digit}" for at in places)

    @property
    def answer(self) -> int:
        """The digit that all operations lead to."""
        value = self.start
        for one in self.operations:
            value = one.apply(value)
        return value

    @classmethod
    def read(cls, prompt: str) -> Problem:
        """Return the problem that a prompt writes.

        Raises:
            ValueError: a text that is no prompt.
        """
        found = re.fullmatch(r"(\d)((?:[a-l][+*-]\d)+):", prompt)
        if found is None:
            raise ValueError(f"expected a prompt like '7a*3b+8:', got {prompt!r}")
        body = found[2]
        made = cls(int(found[1]), tuple(Operation(body[at + 1], int(body[at + 2])) for at in range(0, len(body), 3)))
        if made.prompt != prompt:
            raise ValueError(f"the operations are labelled {LABELS[: len(made.operations)]!r} in order, got {prompt!r}")
        return made


def make_problem(rng: random.Random, length: int) -> Problem:
    """Draw a problem of ``length`` operations: half multiplications by 2 to 9, the rest sums and differences."""
    operations = []
    for _ in range(length):
        sign = rng.choices(SIGNS, (1, 1, 2))[0]
        operations.append(Operation(sign, rng.randint(2 if sign == "*" else 1, 9)))
    return Problem(rng.randint(0, 9), tuple(operations))


@dataclass(frozen=True)
class Step:
    """One line of a completion.

    ``start`` and ``stop`` are its characters in the completion, its line feed included. ``right`` is None where it was
    cut off. ``operations`` is how many it applies, None for the answer line and for one that cannot be read.
    """

    text: str
    start: int
    stop: int
    right: bool | None
    operations: int | None = None

    @property
    def idle(self) -> bool:
        """Whether the line is true and applies nothing."""
        return bool(self.right) and self.operations == 0


@dataclass(frozen=True)
class Judged:
    """A completion's steps with their truth (None for a tail that was cut off), and whether its answer is right."""

    steps: tuple[Step, ...]
    correct: bool

    def rewards(self, *, pay_idle: bool = False) -> list[float | None]:
        """1 for a right step, 0 for a wrong one, None for one that was cut off, and for an idle one unless it is paid.

        An idle line claims nothing new. Where it is paid, it is the easiest right step there is.
        """
        return [
            None if step.right is None or (step.idle and not pay_idle) else float(step.right) for step in self.steps
        ]

    @property
    def flawed(self) -> bool:
        """Whether a step is wrong."""
        return any(step.right is False for step in self.steps)


def judge(problem: Problem, text: str, *, finished: bool = True) -> Judged:
    """Judge every line of a completion.

    Args:
        problem: what was asked.
        text: the completion without its end-of-sequence token.
        finished: whether the model ended it; else a last line without its line feed was cut off and is not judged.
    """
    value, at, start, steps = problem.start, 0, 0, []
    for line in text.splitlines(keepends=True):
        stop, body = start + len(line), line.removesuffix("\n")
        step, answer = _STEP.fullmatch(body), _ANSWER.fullmatch(body)
        right, count = False, None
        if step is not None:
            count = len(step[2]) // 3
            expected = value
            for one in problem.operations[at : at + count]:
                expected = one.apply(expected)
            stated = (int(step[1]), step[2], int(step[3]))
            right = stated == (value, problem.written(at, at + count), expected)
            value, at = int(step[3]), LABELS.index(step[2][-3]) + 1 if count else at
        elif answer is not None:
            right = at == len(problem.operations) and int(answer[1]) == value and stop == len(text)
        cut = not finished and not line.endswith("\n")
        steps.append(Step(body, start, stop, None if cut else right, count))
        start = stop
    last = _ANSWER.fullmatch(steps[-1].text) if steps and finished else None
    return Judged(tuple(steps), last is not None and int(last[1]) == problem.answer)


@dataclass(frozen=True)
class Habits:
    """How the writer of the demonstrations works; each is a probability.

    ``misconceived`` of the 260 single operations (ten digits, 26 operations) are believed to have a wrong result: there
    the writer states it with probability ``wrong``, another wrong digit with ``other``, the right one otherwise.
    ``slip`` is a random digit at any operation of a line of one, ``shortcut_slip`` of a line of two; ``shortcut`` lines
    of two, and ``idle`` ones that only repeat the last digit, come up as often as these say.
    """

    misconceived: float = 0.15
    wrong: float = 0.5
    other: float = 0.2
    slip: float = 0.01
    shortcut: float = 0.1
    shortcut_slip: float = 0.3
    idle: float = 0.06


class Demonstrator:
    """Writes solutions with misconceptions, slips, shortcuts and idle lines: what the policy is first trained on."""

    def __init__(self, seed: int, habits: Habits | None = None) -> None:
        self.habits = habits or Habits()
        rng = random.Random(seed)  # noqa: S311 - no secret
        self.beliefs: dict[tuple[int, Operation], tuple[int, int]] = {}
        for sign in SIGNS:
            for digit in range(2 if sign == "*" else 1, 10):
                for value in range(10):
                    if rng.random() < self.habits.misconceived:
                        operation = Operation(sign, digit)
                        wrong = rng.sample([d for d in range(10) if d != operation.apply(value)], 2)
                        self.beliefs[value, operation] = (wrong[0], wrong[1])

    def _result(self, value: int, operation: Operation, slip: float, rng: random.Random) -> int:
        if rng.random() < slip:
            return rng.randrange(10)
        believed = self.beliefs.get((value, operation))
        if believed is not None:
            draw = rng.random()
            if draw < self.habits.wrong + self.habits.other:
                return believed[draw >= self.habits.wrong]
        return operation.apply(value)

    def write(self, problem: Problem, rng: random.Random) -> str:
        """Return one solution of a problem."""
        value, at, lines = problem.start, 0, []
        while at < len(problem.operations):
            short = at + 1 < len(problem.operations) and rng.random() < self.habits.shortcut
            stop, result = at + 1 + short, value
            for one in problem.operations[at:stop]:
                result = self._result(result, one, self.habits.shortcut_slip if short else self.habits.slip, rng)
            lines.append(f"{value}{problem.written(at, stop)}={result}")
            value, at = result, stop
            if rng.random() < self.habits.idle:
                lines.append(f"{value}={value}")
        return "\n".join([*lines, f"#{value}"])


def held_out(seed: int, count: int, length: int) -> list[Problem]:
    """Return the problems of an evaluation, from a stream of their own: training meets one by chance alone."""
    rng = random.Random(f"held out {seed}")  # noqa: S311 - no secret
    return [make_problem(rng, length) for _ in range(count)]
