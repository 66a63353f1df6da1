r"""The grammar of whole answers: lists of statements and values."""

from __future__ import annotations

from markscheme.verifiers.math.arithmetic import scalar, within_caps
from markscheme.verifiers.math.brackets import NAMED_SETS, restates_domain
from markscheme.verifiers.math.lexer import END, NotMath
from markscheme.verifiers.math.names import is_product_word
from markscheme.verifiers.math.nodes import (
    Const,
    Expr,
    Interval,
    Listing,
    Logic,
    NamedSet,
    Node,
    Op,
    Qualified,
    Relation,
    SetOp,
    Sym,
    Tuple,
    symbols,
)
from markscheme.verifiers.math.quantities import Quantities
from markscheme.verifiers.math.units import lookup
from markscheme.verifiers.math.words import CONDITION_WORDS, EMPTY_PHRASES, NO_NAME, plain_words

_RELATIONS = {op: op for op in ("=", "<", ">", "<=", ">=", "!=")} | {
    "==": "=",
    r"\le": "<=",
    r"\ge": ">=",
    r"\ne": "!=",
    r"\approx": "~",
    r"\in": "in",
    r"\notin": "notin",
    r"\equiv": "equiv",
}


class AnswerParser(Quantities):
    """Parses a whole answer."""

    def answer(self) -> Node:
        """A whole answer: one element, or a list of them."""
        if self.accept(r"\forall"):
            self.deeper()
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
            groups[-1].append(within_caps(self.element()))
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

    def skip_empty_phrases(self) -> None:
        """Pass over words that say nothing about the value: ``only``, ``for all real x``."""
        while (
            self.now.kind == "text"
            and EMPTY_PHRASES.fullmatch(self.now.text.strip(" ,.():;"))
            and not self.connective(self.now.text)
        ):
            self.at += 1

    def element(self) -> Node:
        """One element: a statement, with the condition it may stand under."""
        node = self.relation()
        if self.tokens[self.at] is END and not (isinstance(node, Relation) and node.ops == ("equiv",)):
            return node
        self.skip_empty_phrases()
        if self.now.kind in ("text", "word") and plain_words(self.now.text) in CONDITION_WORDS:
            self.at += 1
            condition = self.relation()
            if isinstance(condition, Relation) and restates_domain(condition):
                return node
            return Qualified(node, condition)
        if isinstance(node, Relation) and node.ops == ("equiv",):
            last = node.terms[1]
            if isinstance(last, Op) and last.head == "mod":  # x ≡ 3 mod 7
                return Qualified(Relation((node.terms[0], last.args[0]), node.ops), Op("modulus", last.args[1:]))
        if self.accept(r"\mod", r"\pmod"):
            return Qualified(node, Op("modulus", (scalar(self.group() if self.now.text == "{" else self.power()),)))
        return node

    def relation(self) -> Node:
        """``term op term …``; a lone ``≈ b`` is b; ``Name: value`` and ``name = value`` are labelled."""
        if self.accept(r"\approx"):
            return self.side()
        while self.accept(r"\Rightarrow", r"\to", r"\therefore"):
            pass
        label = self.word_label()
        named = self.tokens[self.at - 1].text == "="
        terms, ops = ([label], ["="]) if label else ([], [])
        terms.append(self.side())
        while self.now.kind in ("op", "cmd") and self.now.text in _RELATIONS:
            op = _RELATIONS[self.now.text]
            if self.now.text == "=" and self.ahead().text in (">", "<"):  # "=>" and "=<" as one sign
                self.at += 1
                op = f"{self.now.text}="
            self.at += 1
            term = self.side()
            if op in ("in", "notin") and isinstance(term, Sym) and term.name in NAMED_SETS:
                term = NamedSet(term.name)
            terms.append(term)
            ops.append(op)
        if label and len(ops) > 1 and ops[:2] == ["=", "="] and isinstance(terms[1], Sym) and not named:
            terms, ops = terms[1:], ops[1:]  # Solution: x = 12
        return Relation(tuple(terms), tuple(ops)) if ops else terms[0]

    def word_label(self) -> Node | None:
        r"""``Paolo:``, ``\text{Area}=``: a name in words before a value."""
        start = self.at
        words: list[str] = []
        while self.now.kind in ("word", "text") and self.now.text and len(words) < 4:
            words.append(self.now.text)
            self.at += 1
        name = " ".join(words).strip()
        if not NO_NAME.isdisjoint(name.casefold().split()):
            self.at = start
            return None
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
            self.deeper()
            node = SetOp("union", (node, self.side()))
            self.depth -= 1
        return node


def _is_half_line(node: Node) -> bool:
    """Whether a node is an interval that is half open or reaches infinity: several of them in a list are a union."""
    if isinstance(node, Tuple) and node.brackets == "()" and len(node.items) == 2:
        return any(item in (Const("inf"), Op("neg", (Const("inf"),))) for item in node.items)
    return isinstance(node, Interval) and not (node.low_closed and node.high_closed)


def assemble(groups: list[list[Node]], words: set[str]) -> Node:
    """Make one node of the elements of a list, in their groups between semicolons."""
    if len(groups) > 1 and any(len(group) > 1 for group in groups):
        items: list[Node] = [Tuple(tuple(group)) if len(group) > 1 else group[0] for group in groups]
    else:
        items = [node for group in groups for node in group]
    if len(items) == 1:
        return items[0]
    used = {name for item in items if isinstance(item, Relation | Expr | Tuple) for name in symbols(item)}
    kept = [
        item
        for item in items
        if not (isinstance(item, Relation) and restates_domain(item) and len(items) > 1 and used & symbols(item))
    ] or items
    if len(kept) == 1:
        return kept[0]
    if all(_is_half_line(item) for item in kept):
        tree = kept[0]
        for item in kept[1:]:
            tree = SetOp("union", (tree, item))
        return tree
    first = kept[0]
    if isinstance(first, Relation) and first.ops == ("!=",) and all(isinstance(item, Expr) for item in kept[1:]):
        kept = [first, *(Relation((first.terms[0], item), ("!=",)) for item in kept[1:])]
    orders = ("<", ">", "<=", ">=", "!=")
    if all(isinstance(item, Relation) and item.ops[0] in (*orders, "in") for item in kept):
        head = "or" if "or" in words else "and"
        return Logic(head, tuple(kept))
    return Listing(tuple(kept))
