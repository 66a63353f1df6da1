"""A policy whose rollouts are known: what the labelers' tests generate with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from markscheme.prm.labels.rollouts import Prompt
from markscheme.prm.labels.tasks import LabelTask
from markscheme.verifiers.outcomes import Outcome

GOLD = "7"


def task(*steps: str, row: int = 0, problem: str = "P", gold: str = GOLD) -> LabelTask:
    return LabelTask(row, problem, steps, gold)


def solution(right: int, wrong: int, answer: str, row: int = 0) -> LabelTask:
    """Right steps "r0" …, then wrong ones "w0" …, then the answer line."""
    steps = [f"r{i}" for i in range(right)] + [f"w{i}" for i in range(wrong)] + [f"# {answer}"]
    return task(*steps, row=row)


class Policy:
    """Comes right ``chance`` times of n from a prefix without a wrong step, ``luck`` times from any other."""

    def __init__(self, chance: int = 2, luck: int = 0) -> None:
        self.chance, self.luck = chance, luck
        self.calls: list[list[str]] = []
        self.counts: list[int] = []

    def __call__(self, prompts: Sequence[Prompt], n: int) -> list[list[str]]:
        self.calls.append([str(prompt) for prompt in prompts])
        self.counts.append(n)
        found = []
        for prompt in prompts:
            good = self.luck if "w" in str(prompt) else self.chance
            found.append([f"# {GOLD}" if i < good else "# 0" for i in range(n)])
        return found

    @property
    def rollouts(self) -> int:
        return sum(len(prompts) * n for prompts, n in zip(self.calls, self.counts, strict=True))


def check(one: LabelTask, text: str) -> Outcome:
    """The last "# x" is the answer; "# ?" is one that nothing can decide."""
    answers = re.findall(r"# (\S+)", text)
    if not answers:
        return Outcome.UNREADABLE
    if answers[-1] == "?":
        return Outcome.UNDECIDED
    return Outcome.CORRECT if answers[-1] == one.gold else Outcome.INCORRECT


class Judge:
    """Gives the answers that it was given, one after another, whatever it is asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[int, int]] = []
        self.messages: list[Sequence[Mapping[str, str]]] = []

    def __call__(self, prompts: Sequence[Prompt], n: int) -> list[list[str]]:
        self.asked.append((len(prompts), n))
        self.messages += [prompt for prompt in prompts if not isinstance(prompt, str)]
        return [[self.answers.pop(0) for _ in range(n)] for _ in prompts]
