r"""Brackets of an answer: tuples, intervals, sets, named sets; and numbers with their base."""

from __future__ import annotations

import re
from abc import abstractmethod
from fractions import Fraction

from markscheme.verifiers.math.arithmetic import scalar
from markscheme.verifiers.math.expressions import ExpressionParser
from markscheme.verifiers.math.lexer import END, NotMath
from markscheme.verifiers.math.nodes import (
    Based,
    Const,
    FiniteSet,
    Interval,
    Logic,
    Matrix,
    NamedSet,
    Node,
    Num,
    Op,
    Relation,
    SetBuilder,
    Sym,
    Tuple,
)
from markscheme.verifiers.math.words import NUMBER_WORDS

NAMED_SETS = frozenset("RQZNC")


def restates_domain(relation: Relation) -> bool:
    """Whether a condition only says that a variable is a number: ``x ∈ R``, ``k ∈ Z``."""
    return relation.ops == ("in",) and isinstance(relation.terms[0], Sym) and isinstance(relation.terms[1], NamedSet)


def based(digits: str, base: str) -> Node:
    """A number in a base. Raises NotMath for digits that the base does not have."""
    number = NUMBER_WORDS.get(base.casefold(), 0) or (int(base) if base.isdecimal() else 0)
    digits = digits.upper().lstrip("+")
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:number]
    if not 2 <= number <= 36 or any(char not in alphabet for char in digits.lstrip("-").replace(".", "", 1)):
        raise NotMath(f"{digits} is no number in base {number}")
    return Based(digits, number)


def _nested_list(items: list[Node]) -> Node | None:
    """``[[1,2],[3,4]]`` as a matrix, ``[(1,2),(3,4)]`` as a set of points."""
    rows = [
        (item.low, item.high)
        if isinstance(item, Interval) and item.low_closed and item.high_closed
        else item.items
        if isinstance(item, Tuple) and item.brackets == "[]"
        else ()
        for item in items
    ]
    if all(rows) and len({len(row) for row in rows}) == 1:
        return Matrix(tuple(tuple(row) for row in rows))
    if all(isinstance(item, Tuple) and item.brackets == "()" for item in items):
        return FiniteSet(tuple(items))
    return None


class Brackets(ExpressionParser):
    """Parses what stands in brackets."""

    @abstractmethod
    def relation(self) -> Node:
        """``term op term …``."""

    @abstractmethod
    def separator(self) -> str | None:
        """What stands between two elements of a list."""

    def number(self) -> Node:
        """A number; with a base as its subscript, a based number."""
        token = self.now
        if self.ahead().text == "_" and self.ahead().kind == "op" and self.tokens[self.at - 1].text != "^":
            start = self.at
            self.at += 2
            base = self.base()
            if base:
                return based(token.text, base)
            self.at = start
        return super().number()

    def base(self) -> str | None:
        """The base after ``_``."""
        braced = self.accept("{")
        token = self.now
        if token is END:
            return None
        self.at += 1
        if braced and not self.accept("}"):
            return None
        word = re.sub(r"(?i)^base\s*", "", token.text).strip()
        if token.kind == "num" and word.isdigit() and (braced or len(word) <= 2):
            return word
        return word if token.kind in ("text", "word") and word.casefold() in NUMBER_WORDS else None

    def command(self) -> Node:
        """As in expressions, and the named sets."""
        name = self.now.text
        if name == r"\emptyset":
            self.at += 1
            return NamedSet("empty")
        if name in (r"\mathbb", r"\Bbb"):
            braced = self.ahead().text == "{"
            letter = self.ahead(1 + braced)
            if letter.text in NAMED_SETS and (not braced or self.ahead(3).text == "}"):
                self.at += 4 if braced else 2
                return self.named_set(letter.text)
        return super().command()

    def named_set(self, name: str) -> Node:
        """A number set; ``R^+`` is the interval."""
        if name == "R" and self.now.text in ("^", "_"):
            sign = self.ahead(2).text if self.ahead().text == "{" else self.ahead().text
            if sign in ("+", "-"):
                self.at += 4 if self.ahead().text == "{" else 2
                inf = Const("inf")
                zero = Num(Fraction(0))
                return (
                    Interval(zero, inf, False, False)
                    if sign == "+"
                    else Interval(Op("neg", (inf,)), zero, False, False)
                )
        return NamedSet(name)

    def bracket(self) -> Node:
        """Brackets: a group, a tuple, an interval, a set."""
        self.deeper()
        opening = self.now.text
        self.at += 1
        bars, self.bars = self.bars, 0
        self.level += 1
        node = self.brace_set() if opening == r"\{" else self.brackets(opening)
        self.level -= 1
        self.bars = bars
        self.depth -= 1
        return node

    def brackets(self, opening: str) -> Node:
        """What round, square and angle brackets hold."""
        items = [self.relation()]
        while self.accept(",", ";"):
            items.append(self.relation())
        self.accept(".")
        closing = self.accept(")", "]", r"\rangle", "[")
        if not closing:
            raise NotMath(f"an open bracket: expected its end, found {self.now.text[:20]!r}")
        if opening == r"\langle" or closing == r"\rangle":
            if (opening, closing) != (r"\langle", r"\rangle"):
                raise NotMath("angle brackets that do not match")
            return Tuple(tuple(items), "<>")
        pair = opening + closing
        if len(items) == 1:
            if pair not in ("()", "[]"):
                raise NotMath(f"one value in {pair}")
            return items[0]
        if pair == "[]" and (nested := _nested_list(items)):
            return nested
        if pair in ("()", "[]") and not (pair == "[]" and len(items) == 2):
            return Tuple(tuple(items), pair)
        if len(items) == 2 and pair in ("[]", "(]", "[)", "][", "]]", "[[", "](", ")["):
            return Interval(scalar(items[0]), scalar(items[1]), opening == "[", closing == "]")
        raise NotMath(f"{len(items)} values in {pair}")

    def brace_set(self) -> Node:
        r"""``\{ … \}``: a finite set, or a set-builder when a bar or a colon parts it."""
        if self.accept(r"\}"):
            return NamedSet("empty")
        if self.builder_bar():
            variable = self.builder_variable()
            self.at += 1
            parts = [self.relation()]
            heads = []
            while joint := self.separator():
                heads.append("or" if joint == "or" else "and")
                parts.append(self.relation())
            self.expect(r"\}")
            condition: Node = parts[0] if len(parts) == 1 else Logic("or" if "or" in heads else "and", tuple(parts))
            if isinstance(variable, Relation) and variable.ops == ("in",):  # { x ∈ R | x > 0 }
                if not restates_domain(variable):
                    condition = Logic("and", (variable, condition))
                variable = variable.terms[0]
            return SetBuilder(variable, condition)
        items = [self.relation()]
        while self.separator():
            items.append(self.relation())
        self.expect(r"\}")
        return FiniteSet(tuple(items))

    def builder_variable(self) -> Node:
        """What stands before the bar of a set-builder."""
        end = self.builder_bar()
        parser = type(self)(self.tokens[self.at : end])
        node = parser.relation()
        if parser.now is not END:
            raise NotMath("a set-builder that does not parse")
        self.at = end
        return node

    def builder_bar(self) -> int:
        """The index of the bar or colon of a set-builder, or 0."""
        depth, n, bars = 0, self.at, []
        while n < len(self.tokens):
            text = self.tokens[n].text
            if text == r"\}" and depth == 0:
                break
            depth += (text in ("(", "[", r"\{", "{")) - (text in (")", "]", r"\}", "}"))
            if depth == 0 and text in ("|", r"\mid", ":"):
                bars.append(n)
            n += 1
        if not bars:
            return 0
        plain = [bar for bar in bars if self.tokens[bar].text != "|"]
        if plain:
            return plain[0]
        return bars[0] if len(bars) % 2 else 0
