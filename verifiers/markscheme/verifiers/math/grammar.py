r"""The grammar of whole answers: lists, tuples, intervals, sets, relations, quantities, text, choices, times.

``parse_answer`` reads the whole text or refuses it: a fragment is never compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from markscheme.verifiers.math.expressions import Calculus, ExpressionParser, is_product_word, scalar
from markscheme.verifiers.math.lexer import END, NotMath, Token, TooLarge, tokenize
from markscheme.verifiers.math.nodes import (
    Based,
    Choice,
    Clock,
    Const,
    Dots,
    Expr,
    FiniteSet,
    Interval,
    Listing,
    Logic,
    NamedSet,
    Node,
    Num,
    Op,
    Qualified,
    Quantity,
    Ratio,
    Relation,
    SetBuilder,
    SetOp,
    Sym,
    Text,
    Tuple,
    symbols,
)
from markscheme.verifiers.math.notation import repair, unwrap
from markscheme.verifiers.math.units import lookup, parse_unit
from markscheme.verifiers.math.words import (
    AND_WORDS,
    EMPTY_PHRASES,
    NUMBER_WORDS,
    OR_WORDS,
    STATEMENT_WORDS,
    canonical_words,
    plain_words,
)

_RELATIONS = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", r"\le": "<=", r"\ge": ">=", r"\ne": "!=",
    r"\approx": "~", r"\in": "in", r"\notin": "notin", r"\equiv": "equiv", ":=": "=",
}  # fmt: skip
_CURRENCIES = {r"\$": "dollar", "€": "euro", "£": "£", "¥": "yen"}
_NAMED_SETS = frozenset("RQZNC")
_PERCENT_WORDS = frozenset(("percent", "percentage", "pct", "per cent", "percentage points", "percents"))
_CONDITION_WORDS = frozenset(("for", "if", "when", "where", "with", "whenever", "provided", "such that", "for all", "for every", "for any"))
_CLOCK = re.compile(
    r"(?P<h>\d{1,2})(?::(?P<m>[0-5]\d))?(?::(?P<s>[0-5]\d))?\s*(?:o'?clock)?\s*(?:(?P<half>[ap])\.?\s?m\.?|(?P<word>noon|midnight))",
    re.IGNORECASE,
)
_TEXT_MARKS = re.compile(r"\\(?:text(?:bf|it|rm|normal)?|mbox|mathrm|mathbf|textsf|emph|hbox)\s*(?=\{)|[{}~]|\\[ ,;!:]|\\quad|\*\*")
_CHOICE = re.compile(r"\s*(?:\((?P<a>[A-Z])\)|(?P<b>[A-Z])(?:\)|\.(?!\d)|:)|option\s+(?P<c>[A-Z])\b)\s*(?P<rest>.*)", re.DOTALL)
_CHOICES = re.compile(r"\(?[A-J]\)?(?:\s*(?:,|and|&)\s*(?:and\s+)?\(?[A-J]\)?)+")
_WORDY = re.compile(r"[^\W\d_]+(?:[\s'’.,;:!?()\"-]+[^\W\d_]+)*[.!?]?")
_BASED = re.compile(r"([-+]?[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)?)\s*(?:_|\bbase\s)\s*\{?\s*(?:\\text)?\{?(?:base\s*)?(\d{1,2})\}*\s*")
_BASE_WORDS = re.compile(r"\(?\s*(?:in\s+)?base[ -](\d{1,2}|[a-z]+)\s*\)?")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as read: its node, or why it has none, and its words for when gold is text."""

    raw: str
    node: Node | None
    words: str
    why: str = ""
    calculus: bool = False


class AnswerParser(ExpressionParser):
    """Adds to expressions what only an answer can hold."""

    # Lists ------------------------------------------------------------------------------------------------------

    def answer(self) -> Node:
        """A whole answer: one element, or a list of them."""
        if self.accept(r"\forall"):
            condition = self.relation()
            if not (self.accept(",") or self.accept(":")):
                raise NotMath("a condition without a statement")
            return Qualified(self.answer(), condition)
        groups: list[list[Node]] = [[]]
        words: set[str] = set()
        while True:
            self.skip_empty_phrases()
            if self.now is END and groups[-1]:
                break
            groups[-1].append(self.element())
            joint = self.separator()
            if joint is None:
                break
            words.add(joint)
            if joint == ";":
                groups.append([])
        if self.now is not END:
            raise NotMath(f"cannot read on from {self.now.text[:30]!r}")
        return assemble([group for group in groups if group], words)

    def separator(self) -> str | None:
        """Read what stands between two elements of a list: a comma, a semicolon, "and", "or"."""
        found = None
        while True:
            if mark := self.accept(",", ";"):
                found = mark if found in (None, ",") else found
            elif mark := self.accept(r"\wedge", r"\vee", "&"):
                found = "or" if mark == r"\vee" else "and"
            elif self.now.kind in ("text", "word") and (word := self.connective(self.now.text)):
                found = word
                self.at += 1
            else:
                return found

    @staticmethod
    def connective(text: str) -> str | None:
        """``and``, ``or``, or None."""
        words = plain_words(text)
        return "and" if words in AND_WORDS and words else "or" if words in OR_WORDS else "," if text.strip() == "," else None

    def skip_empty_phrases(self) -> None:
        """Pass over words that say nothing about the value: ``only``, ``for all real x``."""
        while self.now.kind == "text" and EMPTY_PHRASES.fullmatch(self.now.text.strip(" ,.():;")) and not self.connective(self.now.text):
            self.at += 1

    def element(self) -> Node:
        """One element: a statement, with the condition it may stand under."""
        node = self.relation()
        self.skip_empty_phrases()
        if self.now.kind in ("text", "word") and plain_words(self.now.text) in _CONDITION_WORDS:
            self.at += 1
            condition = self.relation()
            if isinstance(condition, Relation) and restates_domain(condition):
                return node
            return Qualified(node, condition)
        if self.accept(r"\mod"):
            return Qualified(node, Op("modulus", (scalar(self.group() if self.now.text == "{" else self.power()),)))
        return node

    # Relations --------------------------------------------------------------------------------------------------

    def relation(self) -> Node:
        """``term op term …``; a lone ``≈ b`` is b; ``Name: value`` and ``name = value`` are labelled."""
        if self.accept(r"\approx"):
            return self.side()
        if self.accept(r"\Rightarrow", r"\to", r"\therefore"):
            return self.relation()
        label = self.word_label()
        terms, ops = ([label], ["="]) if label else ([], [])
        terms.append(self.side())
        while self.now.kind in ("op", "cmd") and self.now.text in _RELATIONS:
            op = _RELATIONS[self.now.text]
            if self.now.text == "=" and self.ahead().text in (">", "<"):  # "=>" and "=<" as one sign
                self.at += 1
                op = f"{self.now.text}="
            self.at += 1
            term = self.side()
            if op in ("in", "notin") and isinstance(term, Sym) and term.name in _NAMED_SETS:
                term = NamedSet(term.name)
            terms.append(term)
            ops.append(op)
        return Relation(tuple(terms), tuple(ops)) if ops else terms[0]

    def word_label(self) -> Node | None:
        """``Paolo:``, ``\\text{Area}=``: a name in words before a value."""
        start = self.at
        words = []
        while self.now.kind in ("word", "text") and self.now.text and len(words) < 4:
            words.append(self.now.text)
            self.at += 1
        name = " ".join(words).strip()
        wordy = bool(words) and (len(words) > 1 or self.tokens[start].kind == "text" or not is_product_word(name))
        if name.endswith(":") and len(name) > 2:
            return Sym(plain_words(name))
        if wordy and self.now.text in (":", "=") and self.now.kind == "op" and len(name) > 1 and lookup(name) is None:
            self.at += 1
            return Sym(plain_words(name))
        self.at = start
        return None

    def applied(self, name: str) -> Node:
        """As in expressions; at the head of an answer ``T(10) =`` is a function's value whatever its letter."""
        if self.level == 0 and self.now.text == "(" and self.labels_function():
            return Op(f"app:{name}", self.arguments())
        return super().applied(name)

    def labels_function(self) -> bool:
        """Whether ``( … ) =`` follows, with nothing but letters, numbers and commas in the brackets."""
        n = self.at + 1
        while n < len(self.tokens) and (self.tokens[n].kind in ("word", "num") or self.tokens[n].text in (",", "+", "-")
                                        or self.is_atom_command(self.tokens[n].text)):  # fmt: skip
            n += 1
        closed = n < len(self.tokens) and self.tokens[n].text == ")" and n > self.at + 1
        return closed and n + 1 < len(self.tokens) and self.tokens[n + 1].text in ("=", "==")

    def side(self) -> Node:
        """One side of a relation: sets under their operations, ratios, or a value with its unit."""
        node = self.value()
        while op := self.accept(r"\cup", r"\cap", r"\setminus"):
            head = {r"\cup": "union", r"\cap": "intersection", r"\setminus": "difference"}[op]
            node = SetOp(head, (node, self.value()))
        if self.now.kind == "word" and self.now.text == "U" and isinstance(node, Interval | Tuple):
            self.at += 1
            return SetOp("union", (node, self.side()))
        return node

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
        if self.level == 0 and self.now.text == ":" and isinstance(node, Expr):
            return self.ratio(node, start)
        return self.with_unit(node)

    def ratio(self, first: Expr, start: int) -> Node:
        """``3 : 4 : 5``."""
        terms = [first]
        while self.accept(":"):
            terms.append(scalar(self.sum()))
        return Ratio(tuple(terms), "".join(token.text for token in self.tokens[start : self.at]))

    # Units ------------------------------------------------------------------------------------------------------

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
                if self.connective(token.text) or plain_words(token.text) in _CONDITION_WORDS:
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
            if plain_words(words) not in _PERCENT_WORDS and (len(nouns) > 5 or any(noun in STATEMENT_WORDS for noun in nouns)):
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

    # Brackets and sets ------------------------------------------------------------------------------------------

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
            if letter.text in _NAMED_SETS and (not braced or self.ahead(3).text == "}"):
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
                return Interval(zero, inf, False, False) if sign == "+" else Interval(Op("neg", (inf,)), zero, False, False)
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
        items = [self.item()]
        while self.accept(",", ";"):
            items.append(self.item())
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
        if pair in ("()", "[]") and not (pair == "[]" and len(items) == 2):
            return Tuple(tuple(items), pair)
        if len(items) == 2 and pair in ("[]", "(]", "[)", "][", "]]", "[[", "](", ")["):
            return Interval(scalar(items[0]), scalar(items[1]), opening == "[", closing == "]")
        raise NotMath(f"{len(items)} values in {pair}")

    def item(self) -> Node:
        """One item in brackets: a value, or an assignment."""
        node = self.relation()
        if isinstance(node, Relation) and node.ops != ("=",):
            return node
        return node

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
                variable, domain = variable.terms[0], variable
                if not restates_domain(domain):
                    condition = Logic("and", (domain, condition))
            return SetBuilder(variable, condition)
        items = [self.relation()]
        while self.separator():
            items.append(self.relation())
        self.expect(r"\}")
        return FiniteSet(tuple(items))

    def builder_variable(self) -> Node:
        """What stands before the bar of a set-builder."""
        end = self.builder_bar()
        parser = AnswerParser(self.tokens[self.at : end])
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


def restates_domain(relation: Relation) -> bool:
    """Whether a condition only says that a variable is a number: ``x \\in R``, ``k \\in Z``."""
    return relation.ops == ("in",) and isinstance(relation.terms[0], Sym) and isinstance(relation.terms[1], NamedSet)


def make_quantity(value: Expr, words: str) -> Node:
    """The quantity, or the bare value when the noun is unknown."""
    unit = parse_unit(words)
    if unit is None:
        return value
    dimension, factor = unit
    return Quantity(value, words.strip(), dimension, factor)


def based(digits: str, base: str) -> Node:
    """A number in a base. Raises NotMath for digits that the base does not have."""
    number = NUMBER_WORDS.get(base.casefold(), 0) or int(base)
    digits = digits.upper().lstrip("+")
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:number]
    if not 2 <= number <= 36 or any(char not in alphabet for char in digits.lstrip("-").replace(".", "", 1)):
        raise NotMath(f"{digits} is no number in base {number}")
    return Based(digits, number)


def assemble(groups: list[list[Node]], words: set[str]) -> Node:
    """Make one node of the elements of a list, in their groups between semicolons."""
    if len(groups) > 1 and any(len(group) > 1 for group in groups):
        items: list[Node] = [Tuple(tuple(group)) if len(group) > 1 else group[0] for group in groups]
    else:
        items = [node for group in groups for node in group]
    used = {name for item in items if isinstance(item, Relation | Expr | Tuple) for name in symbols(item)}
    kept = [
        item
        for item in items
        if not (isinstance(item, Relation) and restates_domain(item) and len(items) > 1 and used & symbols(item))
    ] or items
    if len(kept) == 1:
        return kept[0]
    orders = ("<", ">", "<=", ">=", "!=")
    if all(isinstance(item, Relation) and item.ops[0] in (*orders, "in") for item in kept):
        head = "or" if "or" in words else "and"
        return Logic(head, tuple(kept))
    return Listing(tuple(kept))


# Whole answers --------------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"-?\d{1,18}")


def _bare_words(text: str) -> str:
    return " ".join(_TEXT_MARKS.sub(" ", text).split())


def _as_clock(words: str) -> Node | None:
    found = _CLOCK.fullmatch(words.strip(" ."))
    if not found:
        return None
    hour = int(found["h"])
    if not 0 <= hour <= 12:
        return None
    seconds = hour % 12 * 3600 + int(found["m"] or 0) * 60 + int(found["s"] or 0)
    half = (found["half"] or {"noon": "p", "midnight": "a"}[(found["word"] or "noon").lower()]).lower() + "m"
    return Clock(seconds, half)


def _as_choice(words: str) -> Node | None:
    if _CHOICES.fullmatch(words):
        return Listing(tuple(Choice(letter) for letter in re.findall(r"[A-J](?![a-z])", words)))
    found = _CHOICE.fullmatch(words)
    if not found:
        return None
    rest = found["rest"].strip()
    letter = found["a"] or found["b"] or found["c"]
    if rest and re.match(r"[=+*/^<>,_)-]|\\(?:cup|cap|in|le|ge|cdot|times|pm)", rest):
        return None
    if found["b"] and rest and not re.match(r"[A-Z]\s*[.):]", words):
        return None
    if found["b"] and words[1:2] == ":" and re.match(r"\s*[A-Z]?\s*=|\s*[A-Z]\b", words[2:]):
        return None
    return Choice(letter, rest)


def _as_words(text: str, words: str) -> Node | None:
    if not _WORDY.fullmatch(words) or "\\" in words:
        return None
    in_text = "\\" in text
    runs = words.split()
    if not in_text and len(runs) == 1 and is_product_word(words) and not (words.isupper() and len(words) > 1):
        return None
    if len(words) == 1:
        return Const(words) if words in "ei" else Sym(words)
    if len(runs) == 1 and in_text and words.casefold() in ("pi", "infinity"):
        return None
    parts = [part for part in re.split(r"\s*(?:,|;|\band\b)\s*", words) if part]
    if len(parts) > 1 and all(len(part.split()) <= 4 for part in parts) and canonical_words(words) == plain_words(words):
        return Listing(tuple(Text(canonical_words(part)) for part in parts))
    return Text(canonical_words(words))


def _math(text: str) -> Node:
    based_number = _BASED.fullmatch(text)
    if based_number and not re.fullmatch(r"[a-zA-Z]+", based_number[1]) and re.search(r"\d", based_number[1]):
        return based(based_number[1], based_number[2])
    parser = AnswerParser(tokenize(text))
    if not parser.tokens:
        raise NotMath("nothing is there")
    return parser.answer()


@lru_cache(maxsize=4096)
def parse_answer(raw: str, max_length: int = 10_000) -> Answer:
    """Read a whole answer.

    Raises:
        TooLarge: over a cap.
    """
    if len(raw) > max_length:
        raise TooLarge(f"{len(raw)} characters, more than {max_length}")
    stripped = raw.strip()
    if _INTEGER.fullmatch(stripped):
        return Answer(raw, Num(Fraction(int(stripped))), stripped)
    text = unwrap(repair(raw))
    text = unwrap(text)
    words = _bare_words(text)
    folded = canonical_words(words)
    if not text:
        return Answer(raw, None, "", "nothing is there")
    for reading in (_as_clock, _as_choice):
        node = reading(words)
        if node is not None:
            return Answer(raw, node, folded)
    node = _as_words(text, words)
    if node is not None:
        return Answer(raw, node, folded)
    try:
        return Answer(raw, _math(text), folded)
    except Calculus as refused:
        return Answer(raw, None, folded, str(refused), calculus=True)
    except NotMath as refused:
        return Answer(raw, None, folded, str(refused))
