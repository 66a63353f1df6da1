"""Are problems of the test set in the training set?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markscheme.prm.schema import StepSample

_LAYOUT = re.compile(
    r"\\(?:left|right|displaystyle|textstyle|limits|[,;:!> ]|quad|qquad|mbox|text|mathrm|[dt](?=frac))"
)
_NOT_WORDS = re.compile(r"[^\w+\-*/=<>^.]+|_+")
_FINAL = re.compile(r"\.(?!\d)")


def normalised(problem: str) -> str:
    """Return a problem with all that does not change it taken away: case, white space, LaTeX layout, punctuation.

    Two problems are the same when these texts are equal. Numbers, operators and words stay, so problems that differ in
    a number are two.
    """
    text = unicodedata.normalize("NFKC", problem).casefold()
    text = _LAYOUT.sub(" ", text)
    text = _FINAL.sub(" ", text)
    return "".join(_NOT_WORDS.sub(" ", text).split())


@dataclass(frozen=True, slots=True)
class Contamination:
    """What two sets have in common.

    Attributes:
        test_problems: different problems of the test set.
        shared: of these, those that are in the training set too.
        test_rows: the rows of the test set that have such a problem.
        train_rows: the rows of the training set that have one: those to leave out.
    """

    test_problems: int
    shared: int
    test_rows: tuple[int, ...]
    train_rows: tuple[int, ...]

    def sentence(self) -> str:
        """The finding in one sentence."""
        return (
            f"{self.shared} of {self.test_problems} test problems are in the training set "
            f"({len(self.test_rows)} test rows, {len(self.train_rows)} training rows)."
        )


def contamination(train: Iterable[str], test: Iterable[str]) -> Contamination:
    """Compare the problems of two sets, by their normalised text."""
    trained, tested = [normalised(one) for one in train], [normalised(one) for one in test]
    shared = set(trained) & set(tested)
    return Contamination(
        test_problems=len(set(tested)),
        shared=len(shared),
        test_rows=tuple(row for row, problem in enumerate(tested) if problem in shared),
        train_rows=tuple(row for row, problem in enumerate(trained) if problem in shared),
    )


def decontaminate(train: Sequence[StepSample], test: Iterable[str]) -> tuple[list[StepSample], Contamination]:
    """Return the training samples whose problems are not in the test set, and what was found."""
    found = contamination((sample.problem for sample in train), test)
    dropped = set(found.train_rows)
    return [sample for row, sample in enumerate(train) if row not in dropped], found
