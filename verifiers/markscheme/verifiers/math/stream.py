"""A cursor over tokens, with the caps and the methods that the parts of the grammar ask of each other."""

from __future__ import annotations

from abc import ABC, abstractmethod

from markscheme.verifiers.math.lexer import END, NotMath, Token, TooLarge
from markscheme.verifiers.math.nodes import Expr, Node

MAX_DEPTH = 80


class Calculus(NotMath):
    """A limit or derivative: the grammar knows what it is and leaves it to computer algebra."""


class TokenStream(ABC):
    """The tokens, the place, and how deep it is.

    ``level`` is 0 at the top of an answer, where a unit or a word may follow a value, and greater inside brackets and
    groups; ``bars`` counts the absolute values that are open.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = [*tokens, *[END] * 8]  # no step of the grammar passes more than these at once
        self.at = 0
        self.level = 0
        self.depth = 0
        self.bars = 0

    @property
    def now(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.at]

    def ahead(self, count: int = 1) -> Token:
        """The token ``count`` places on."""
        return self.tokens[self.at + count] if self.at + count < len(self.tokens) else END

    def accept(self, *texts: str) -> str | None:
        """Read the next token if it is one of these operators or commands."""
        token = self.tokens[self.at]
        if token.text in texts and token.kind in ("op", "cmd"):
            self.at += 1
            return token.text
        return None

    def expect(self, text: str) -> None:
        """Read this operator or command, or fail."""
        if not self.accept(text):
            raise NotMath(f"expected {text!r}, found {self.now.text!r}")

    def deeper(self) -> None:
        """Count a level of nesting, against the cap."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLarge(f"nested more than {MAX_DEPTH} deep")

    # What the parts of the grammar ask of each other: expressions.py, and grammar.py for brackets.

    @abstractmethod
    def sum(self) -> Node:
        """``term ± term ± …``."""

    @abstractmethod
    def term(self) -> Node:
        """A product, with its sign."""

    @abstractmethod
    def power(self) -> Node:
        """``base ^ exponent``."""

    @abstractmethod
    def exponent(self) -> Expr:
        """What stands after ``^``."""

    @abstractmethod
    def atom(self) -> Node:
        """The smallest pieces."""

    @abstractmethod
    def group(self) -> Node:
        """``{ … }``."""

    @abstractmethod
    def bracket(self) -> Node:
        """Brackets of any kind."""

    @abstractmethod
    def starts_factor(self, left: Node) -> bool:
        """Whether the next token begins a factor of the running product."""

    @abstractmethod
    def juxtaposed(self, left: Node) -> Node:
        """The next factor, multiplied without a sign."""

    @abstractmethod
    def function(self, head: str) -> Node:
        """A named function with its argument."""
