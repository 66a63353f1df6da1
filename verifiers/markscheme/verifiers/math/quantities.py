"""Values with what follows them: units, nouns, percent words, currencies, ratios, bases."""

from __future__ import annotations

import re

from markscheme.verifiers.math.arithmetic import scalar
from markscheme.verifiers.math.brackets import Brackets, based
from markscheme.verifiers.math.lexer import END, NotMath, Token
from markscheme.verifiers.math.nodes import Expr, Node, Num, Op, Quantity, Ratio
from markscheme.verifiers.math.units import parse_unit
from markscheme.verifiers.math.words import (
    AND_WORDS,
    CONDITION_WORDS,
    EMPTY_PHRASES,
    OR_WORDS,
    STATEMENT_WORDS,
    plain_words,
)

_CURRENCIES = {r"\$": "dollar", "€": "euro", "£": "£", "¥": "yen"}
_PERCENT_WORDS = frozenset(("percent", "percentage", "pct", "per cent", "percentage points", "percents"))
_BASE_WORDS = re.compile(r"\(?\s*(?:in\s+)?base[ -](\d{1,2}|[a-z]+)\s*\)?")


def make_quantity(value: Expr, words: str) -> Node:
    """The quantity, or the bare value when the noun is unknown."""
    unit = parse_unit(words)
    if unit is None:
        return value
    dimension, factor = unit
    return Quantity(value, words.strip(), dimension, factor)


class Quantities(Brackets):
    """Parses a value and its unit."""

    @staticmethod
    def connective(text: str) -> str | None:
        """``and``, ``or``, or None."""
        words = plain_words(text)
        return (
            "and"
            if words in AND_WORDS and words
            else "or"
            if words in OR_WORDS
            else ","
            if text.strip() == ","
            else None
        )

    def value(self) -> Node:
        """A value: money, a ratio, or an expression with its unit."""
        start = self.at
        sign = self.accept("-", "+")
        if self.accept(r"\$", "€", "£", "¥"):
            symbol = self.tokens[self.at - 1].text
            amount = scalar(self.sum())
            node = make_quantity(Op("neg", (amount,)) if sign == "-" else amount, _CURRENCIES[symbol])
            self.unit()  # "$18 dollars", "$5 per ticket"
            return node
        self.at = start
        node = self.sum()
        if self.tokens[self.at] is END:
            return node
        if self.accept(r"\over"):
            node = Op("div", (scalar(node), scalar(self.sum())))
        elif self.accept(r"\choose"):
            node = Op("binom", (scalar(node), scalar(self.sum())))
        if self.level == 0 and self.now.text == ":" and isinstance(node, Expr):
            return self.ratio(node, start)
        return self.with_unit(node)

    def ratio(self, first: Expr, start: int) -> Node:
        """``3 : 4 : 5``."""
        terms = [first]
        while self.accept(":"):
            terms.append(scalar(self.sum()))
        return Ratio(tuple(terms), "".join(token.text for token in self.tokens[start : self.at]))

    def with_unit(self, node: Node) -> Node:
        """The value with the unit or noun that follows it; compound quantities add up."""
        if self.level or not isinstance(node, Expr):
            return node
        if isinstance(node, Op) and node.head == "deg" and self.now.text in ("C", "F", "c", "f"):
            scale = {"c": "celsius", "f": "fahrenheit"}[self.now.text.lower()]
            self.at += 1
            return make_quantity(scalar(node.args[0]), scale)
        if symbol := self.accept(r"\$", "€", "£", "¥"):  # "29 $"
            return make_quantity(node, _CURRENCIES[symbol])
        words = self.unit()
        if words is None:
            return node
        base = _BASE_WORDS.fullmatch(words.casefold())
        if base and isinstance(node, Num):
            return based(str(node.value), base[1])
        plain = plain_words(words)
        if plain in _PERCENT_WORDS:
            return Op("percent", (node,))
        quantity = make_quantity(node, words)
        while isinstance(quantity, Quantity) and self.now.kind == "num":
            more = self.with_unit(self.sum())
            if not isinstance(more, Quantity) or more.dimension != quantity.dimension:
                raise NotMath("quantities of different kinds side by side")
            scaled = Op("mul", (more.value, Num(more.factor / quantity.factor)))
            quantity = Quantity(Op("add", (quantity.value, scaled)), quantity.unit, quantity.dimension, quantity.factor)
        return quantity

    def unit(self) -> str | None:
        """The words of a unit or noun that follow a value, or None. Raises NotMath for words that say more."""
        start = self.at
        parts: list[str] = []
        while True:
            token = self.now
            if token.kind in ("text", "word") and token.text:
                if self.connective(token.text) or plain_words(token.text) in CONDITION_WORDS:
                    break
                if EMPTY_PHRASES.fullmatch(token.text.strip(" ,.():;")) and not parts:
                    self.at += 1
                    continue
                parts.append(token.text)
                self.at += 1
            elif parts and token.text == "^" and (power := self.unit_power()):
                parts.append(f"^{power}")
            elif parts and token.text in ("/", "-", "*", r"\cdot", ".") and self.ahead().kind in ("word", "text"):
                parts.append(token.text.replace(r"\cdot", "*"))
                self.at += 1
            elif parts and token.text == "." and self.ahead() in (END, Token("op", ",")):
                self.at += 1
            else:
                break
        words = " ".join(parts).strip()
        if not words:
            return None
        if parse_unit(words) is None and not _BASE_WORDS.fullmatch(words.casefold()):
            nouns = plain_words(words).split()
            if plain_words(words) not in _PERCENT_WORDS and (
                len(nouns) > 5
                or nouns[0] in ("squared", "cubed")
                or any(noun in STATEMENT_WORDS for noun in nouns)
                or (len(parts[-1]) == 1 and parse_unit(" ".join(parts[:-1])) is not None)
            ):
                self.at = start
                raise NotMath(f"words that are no unit: {words[:40]!r}")
        return words

    def unit_power(self) -> str | None:
        """The exponent of a unit: ``^2``, ``^{-1}``."""
        n = self.at + 1
        braced = n < len(self.tokens) and self.tokens[n].text == "{"
        n += braced
        sign = "-" if n < len(self.tokens) and self.tokens[n].text == "-" else ""
        n += bool(sign)
        if n >= len(self.tokens) or self.tokens[n].kind != "num" or len(self.tokens[n].text) > 1:
            return None
        digits = self.tokens[n].text
        n += 1
        if braced:
            if n >= len(self.tokens) or self.tokens[n].text != "}":
                return None
            n += 1
        self.at = n
        return sign + digits
