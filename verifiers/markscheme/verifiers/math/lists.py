"""Equality of lists: what is ordered, what is not, what a shared label names, and what ± stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markscheme.verifiers.math.comparison import DIFFERENT, EQUAL, Comparison
from markscheme.verifiers.math.identity import rational, strip_places
from markscheme.verifiers.math.nodes import (
    Dots,
    FiniteSet,
    Listing,
    Matrix,
    NamedSet,
    Node,
    Num,
    Op,
    Relation,
    Sym,
    Tuple,
)
from markscheme.verifiers.math.relations import Stated, stated
from markscheme.verifiers.outcomes import Reason

if TYPE_CHECKING:
    from markscheme.verifiers.math.equality import Comparer

MAX_PAIRED = 48


def has_dots(node: object) -> bool:
    """Whether an ellipsis occurs."""
    if isinstance(node, Op):
        return any(has_dots(arg) for arg in node.args)
    if isinstance(node, Listing | FiniteSet | Tuple):
        return any(has_dots(item) for item in node.items)
    return isinstance(node, Dots)


def in_axis_order(named: list[tuple[Node, Node]] | None) -> tuple[Node, ...] | None:
    """The values of ``y=4, x=3`` as the coordinates that they are; None where the names are no axes."""
    if not named or not all(name in (Sym("x"), Sym("y"), Sym("z")) for name, _ in named):
        return None
    return tuple(value for _, value in sorted(named, key=lambda pair: str(pair[0])))


def members(node: Node) -> Node:
    """``x ∈ {1, 2}`` as the set."""
    if isinstance(node, Relation) and node.ops == ("in",):
        name, values = node.terms
        if isinstance(name, Sym | Tuple) and isinstance(values, FiniteSet):
            return values
    return node


# Lists ----------------------------------------------------------------------------------------------------------


class Lists:
    """Compares lists, sets and assignments by a comparer's rules."""

    def __init__(self, compare: Comparer) -> None:
        self.same = compare

    def compare(self, gold: Node, given: Node) -> Comparison:
        """A list or set against anything."""
        gold, given = members(gold), members(given)
        named, other = self.assignments(gold), self.assignments(given)
        if named and other:
            return self.by_name(named, other)
        mine, yours = self.items(gold), self.items(given)
        if mine is None or yours is None:
            return self.single(gold, given)
        if has_dots(gold) or has_dots(given):
            return self.with_dots(mine, yours)
        if isinstance(gold, Tuple | Matrix) or isinstance(given, Tuple | Matrix):
            mine, yours = in_axis_order(named) or mine, in_axis_order(other) or yours
            if isinstance(gold, FiniteSet) or isinstance(given, FiniteSet):
                return Comparison(False, Reason.TYPE_MISMATCH, "a set against a tuple")
            return self.ordered(mine, yours)
        sets = isinstance(gold, FiniteSet) or isinstance(given, FiniteSet)
        return self.unordered(mine, yours, fold=sets)

    def single(self, gold: Node, given: Node) -> Comparison:
        """A list against a single value: only a one-element set may equal it."""
        for node, other in ((gold, given), (given, gold)):
            if isinstance(node, FiniteSet) and len(node.items) == 1 and not isinstance(other, FiniteSet | Listing):
                return self.same(node.items[0], other) if node is gold else self.same(other, node.items[0])
            if isinstance(node, FiniteSet) and isinstance(other, Relation):
                said = stated(other, self.same)
                if said.value is not None and said.false is None:
                    return self.same(node, said.value) if node is gold else self.same(said.value, node)
            if isinstance(node, Listing) and isinstance(other, Relation):
                said = stated(other, self.same)
                if said.value is not None and said.false is None and isinstance(said.value, Tuple | FiniteSet | Matrix):
                    return self.same(node, said.value) if node is gold else self.same(said.value, node)
        return Comparison(False, Reason.DIFFERENT, "a list against a single value")

    def items(self, node: Node) -> tuple[Node, ...] | None:
        """The items of a list, set, tuple or vector, a shared label taken off."""
        if isinstance(node, Listing):
            return self.unlabelled(node.items)
        if isinstance(node, FiniteSet | Tuple):
            return self.unlabelled(node.items)
        if isinstance(node, Matrix) and (len(node.rows) == 1 or len(node.rows[0]) == 1):
            return tuple(entry for row in node.rows for entry in row)
        return () if node == NamedSet("empty") else None

    def said(self, item: Node) -> Stated:
        """What an item states, or nothing."""
        return stated(item, self.same) if isinstance(item, Relation) else Stated(None, None)

    def unlabelled(self, items: tuple[Node, ...]) -> tuple[Node, ...]:
        """Values without their labels, where each item (or only the first) has one and none is a false claim."""
        said = [self.said(item) for item in items]
        if any(one.false for one in said):
            return items
        if all(one.value is not None for one in said):
            return tuple(one.value for one in said if one.value is not None)
        if said[0].value is not None and all(not isinstance(item, Relation) for item in items[1:]):
            return (said[0].value, *items[1:])
        if all(isinstance(item, Tuple) for item in items):
            return tuple(self.assigned_tuple(item) for item in items)
        return items

    def assigned_tuple(self, item: Node) -> Node:
        """``(p=5, q=2)`` as ``(5, 2)``."""
        return Tuple(self.unlabelled(item.items), item.brackets) if isinstance(item, Tuple) else item

    def assignments(self, node: Node) -> list[tuple[Node, Node]] | None:
        """``x=2, y=-3`` as names and values, when every item is one and the names differ."""
        if isinstance(node, Relation) and node.ops == ("=",):  # (x, y) = (1, 2)
            left, right = node.terms
            if isinstance(left, Tuple) and isinstance(right, Tuple) and len(left.items) == len(right.items):
                each = zip(left.items, right.items, strict=True)
                node = Tuple(tuple(Relation(pair, ("=",)) for pair in each))
        if not isinstance(node, Listing | Tuple | FiniteSet) or not node.items:
            return None
        pairs = []
        for item in node.items:
            one = self.said(item)
            if one.false or one.label is None or one.value is None:
                return None
            pairs.append((one.label, one.value))
        names = [strip_places(label) for label, _ in pairs]
        return pairs if len(set(names)) == len(names) else None

    def by_name(self, gold: list[tuple[Node, Node]], given: list[tuple[Node, Node]]) -> Comparison:
        """Assignments: each name with its own value."""
        values = {strip_places(name): value for name, value in given}
        if {strip_places(name) for name, _ in gold} != set(values):
            return Comparison(False, Reason.DIFFERENT, "values of different names")
        names = [name for name, _ in gold]
        return self.same.each([value for _, value in gold], [values[strip_places(name)] for name in names])

    def ordered(self, gold: Sequence[Node], given: Sequence[Node]) -> Comparison:
        """In order."""
        if len(gold) != len(given):
            return Comparison(False, Reason.DIFFERENT, "different numbers of items")
        return self.same.each(gold, given)

    def with_dots(self, gold: Sequence[Node], given: Sequence[Node]) -> Comparison:
        """An ellipsis is equal term by term, else undecided."""
        if (
            len(gold) == len(given)
            and self.ordered([g for g in gold if g != Dots()], [g for g in given if g != Dots()] or gold).equal
        ):
            places = [[n for n, item in enumerate(items) if item == Dots()] for items in (gold, given)]
            if places[0] == places[1]:
                return EQUAL
        for dotted, plain in ((gold, given), (given, gold)):
            if Dots() not in plain and not self.could_continue(dotted, plain):
                return Comparison(False, Reason.DIFFERENT, "the terms beside the ellipsis differ")
        return Comparison(None, Reason.BEYOND_KNOWLEDGE, "an ellipsis is compared term by term only")

    def could_continue(self, dotted: Sequence[Node], plain: Sequence[Node]) -> bool:
        """Whether a list without an ellipsis begins and ends as the one with it does."""
        first = list(dotted).index(Dots()) if Dots() in dotted else len(dotted)
        after = len(dotted) - 1 - list(reversed(dotted)).index(Dots()) if Dots() in dotted else len(dotted)
        head, tail = dotted[:first], dotted[after + 1 :]
        if len(head) + len(tail) > len(plain) or not head:
            return False
        ends = plain[len(plain) - len(tail) :] if tail else []
        return bool(self.ordered(head, plain[: len(head)]).equal and self.ordered(tail, ends).equal)

    def unordered(self, gold: Sequence[Node], given: Sequence[Node], *, fold: bool = False) -> Comparison:
        """As multisets; ``fold`` (and lists of tuples) count equal items once."""
        quick = self.rationals(gold, given, fold=fold)
        if quick is not None:
            return quick
        if max(len(gold), len(given)) > MAX_PAIRED:
            return Comparison(None, Reason.BUDGET, "too many items to pair")
        fold = fold or all(isinstance(item, Tuple | Matrix) for item in (*gold, *given))
        if fold:
            gold, given = self.distinct(gold), self.distinct(given)
        if len(gold) != len(given):
            return Comparison(False, Reason.DIFFERENT, "different numbers of items")
        return self.matching(list(gold), list(given))

    def matching(self, gold: list[Node], given: list[Node]) -> Comparison:
        """Pair each item with an equal one. Equality is transitive enough for a greedy pairing."""
        undecided: Comparison | None = None
        reason = EQUAL
        for item in gold:
            for n, other in enumerate(given):
                found = self.same(item, other)
                if found.equal:
                    reason = found if reason == EQUAL else reason
                    del given[n]
                    break
                if found.equal is None:
                    undecided = found
            else:
                return undecided or Comparison(False, Reason.DIFFERENT, "an item has no equal on the other side")
        return reason

    def distinct(self, items: Sequence[Node]) -> list[Node]:
        """Each item once."""
        kept: list[Node] = []
        for item in items:
            if not any(self.same(item, other).equal for other in kept):
                kept.append(item)
        return kept

    @staticmethod
    def rationals(gold: Sequence[Node], given: Sequence[Node], *, fold: bool) -> Comparison | None:
        """Lists of plain rational numbers, compared by counting; None where an item is something else."""
        counts = []
        for items in (gold, given):
            if not all(
                isinstance(item, Num) or (isinstance(item, Op) and item.head in ("neg", "div")) for item in items
            ):
                return None
            values = [rational(item) for item in items]
            if any(value is None for value in values):
                return None
            counts.append(Counter(set(values)) if fold else Counter(values))
        return EQUAL if counts[0] == counts[1] else DIFFERENT
