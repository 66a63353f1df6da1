"""Expressions as they are found in prose: their items, their words, and what is in doubt about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from markscheme.verifiers.math.units import Dimension
from markscheme.verifiers.steps.tokens import Token
from markscheme.verifiers.steps.vocabulary import CURRENCIES

STARTS = frozenset(("num", "open", "cur", "fn", "const"))  # kinds of tokens with which a value may begin


class Item(NamedTuple):
    """A piece of an expression: a number, an operator, a bracket. Units and scales belong to what they follow."""

    kind: str  # num, op, neg, open, close, fn, const, percent
    text: str
    value: Fraction | None = None
    places: int = 0
    unit: tuple[Dimension, Fraction] | None = None
    scale: Fraction | None = None
    open_ended: bool = False
    tight: bool = False  # "/" without spaces, as in 1/3; "+" that no text shows, as in 2\frac13


NO_VALUE = Item("num", "?")


@dataclass(slots=True)
class Run:
    """An expression, ``tokens[first:last]`` with the words that belong to it.

    Attributes:
        first: the index of its first token.
        last: where its tokens end, its words included.
        core: where its last value ends, its noun left out.
        items: the expression without words.
        words: those of the last value, its unit or noun.
        nouns: of all its values.
        unknown: a term of it has no value here.
        doubtful: the words around it may make another value of it.
        depth: of brackets.
        others: what else it may be, where that is open.
        cut: how many items stand before an "of" that multiplies, as in "1/3 of $150".
        joined: the word that may multiply it by the number before it: "3 shirts at $20 - $5".
        letter: a letter right behind a number, a unit or a variable.
        ordinal: a number of it is one, as in "6th".
        label: its first number may only number something, as in "Day 1 - 5 pages".
    """

    first: int
    last: int = 0
    items: list[Item] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    unknown: bool = False
    doubtful: bool = False
    depth: int = 0
    others: list[list[Item]] = field(default_factory=list)
    cut: int = 0
    joined: str = ""
    letter: str = ""
    ordinal: bool = False
    label: bool = False
    nouns: list[str] = field(default_factory=list)
    core: int = 0

    @property
    def bare(self) -> bool:
        """Whether it is one number, with or without a sign or a percent sign."""
        return all(item.kind in ("num", "neg", "percent") for item in self.items)

    @property
    def noun(self) -> str:
        """What the last operand counts: the first of its words without its plural, or its currency; "" for nothing."""
        words = [word.casefold() for word in self.words if word not in CURRENCIES]
        return words[0].rstrip("s") if words else (self.words[0] if self.words else "")

    def unwrap(self) -> None:
        """Take off brackets around a bare number: ``(-3)``, ``{18}``."""
        while len(self.items) > 2 and self.items[0].kind == "open" and self.items[-1].kind == "close":
            inner, unit = self.items[1:-1], self.items[-1].unit
            if any(item.kind not in ("num", "neg", "percent") for item in inner):
                return
            self.items = [item._replace(unit=item.unit or unit) if item.kind == "num" else item for item in inner]


class Tokens:
    """The tokens of a step and the matches of their brackets, for the readers of expressions.

    Args:
        tokens: of the step.
        matches: for each token the index of the bracket that it opens or closes with, or -1.
    """

    def __init__(self, tokens: Sequence[Token], matches: Sequence[int]) -> None:
        self.tokens = tokens
        self.matches = matches

    def is_op(self, at: int, texts: str) -> bool:
        """Whether the token is one of these operators."""
        return 0 <= at < len(self.tokens) and self.tokens[at].kind == "op" and self.tokens[at].text in texts

    def starts(self, at: int, stop: int) -> bool:
        """Whether a value may begin at a token before ``stop``."""
        return at < stop and self.tokens[at].kind in STARTS

    def word(self, at: int, stop: int) -> str:
        """The word at a token before ``stop``, in small letters; "" where there is none."""
        return self.tokens[at].text.casefold() if at < stop and self.tokens[at].kind == "word" else ""

    def inside(self, at: int, stop: int) -> Iterator[Token]:
        """The tokens inside the bracket that opens at a token and closes before ``stop``; nothing where it does not."""
        close = self.matches[at]
        if at < close < stop:
            yield from (self.tokens[n] for n in range(at + 1, close))
