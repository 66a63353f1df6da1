"""Sets of reals: intervals, unions, differences, set-builders and inequalities, all compared in one form.

The end points of both sets cut the line into points and gaps; a set is the cells that it covers. End points are
compared in high precision, so irrational and unreduced ends are no matter.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from markscheme.verifiers.math.comparison import DIFFERENT, EQUAL, Comparison
from markscheme.verifiers.math.evaluate import Evaluator
from markscheme.verifiers.math.identity import DIGITS, is_real, rational
from markscheme.verifiers.math.limits import Undefined, Unsupported, spend
from markscheme.verifiers.math.nodes import (
    ONE,
    TWO,
    ZERO,
    Const,
    Expr,
    FiniteSet,
    Interval,
    Listing,
    Logic,
    NamedSet,
    Node,
    Op,
    Relation,
    SetBuilder,
    SetOp,
    Sym,
    Tuple,
    neg,
    substitute,
    symbols,
)

INF = Const("inf")
MINUS_INF = Op("neg", (INF,))
REALS = Interval(MINUS_INF, INF, False, False)
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


class NoSet(ValueError):
    """The node is no set of reals that this module can handle."""


@dataclass(frozen=True, slots=True)
class Region:
    """A set of reals as a tree of intervals and points, and the variable it was said of, if any."""

    tree: Node
    variable: Node | None = None


def region(node: Node) -> Region:
    """Read a node as a set of reals. Raises NoSet."""
    if isinstance(node, Relation):
        return _from_relation(node)
    if isinstance(node, Logic):
        parts = [region(arg) for arg in node.args]
        variables = {part.variable for part in parts}
        if len(variables) != 1:
            raise NoSet("conditions on several variables")
        head = "union" if node.head == "or" else "intersection"
        return Region(_joined(head, [part.tree for part in parts]), parts[0].variable)
    if isinstance(node, SetBuilder):
        inner = region(node.condition)
        if inner.variable not in (None, node.variable):
            raise NoSet("a condition on another variable")
        return Region(inner.tree)
    if isinstance(node, SetOp):
        return Region(SetOp(node.head, tuple(region(arg).tree for arg in node.args)))
    if isinstance(node, Tuple) and node.brackets == "()" and len(node.items) == 2:
        low, high = node.items
        if isinstance(low, Expr) and isinstance(high, Expr):
            return Region(Interval(low, high, False, False))
    if isinstance(node, Interval | FiniteSet):
        return Region(node)
    if isinstance(node, NamedSet) and node.name in ("R", "empty"):
        return Region(REALS if node.name == "R" else FiniteSet(()))
    raise NoSet(type(node).__name__)


def _joined(head: str, trees: list[Node]) -> Node:
    if len(trees) == 1:
        return trees[0]
    middle = len(trees) // 2  # a balanced tree: what walks it recurses
    return SetOp(head, (_joined(head, trees[:middle]), _joined(head, trees[middle:])))


def is_name(node: Node) -> bool:
    """Whether a node names a quantity: a symbol, or a function of something."""
    return isinstance(node, Sym) or (isinstance(node, Op) and node.head.startswith("app:"))


def _from_relation(node: Relation) -> Region:
    if node.ops in (("in",), ("notin",)):
        inner = node.terms[1]
        tree = region(FiniteSet(inner.items) if isinstance(inner, Listing) else inner).tree
        return Region(tree if node.ops == ("in",) else SetOp("difference", (REALS, tree)), node.terms[0])
    variable = _variable(node)
    parts = [
        _solve(left, op, right, variable) for left, op, right in zip(node.terms, node.ops, node.terms[1:], strict=False)
    ]
    return Region(_joined("intersection", parts), variable)


def _variable(node: Relation) -> Node:
    names = {term for term in node.terms if is_name(term)}
    if len(names) == 1:
        (name,) = names
        if not symbols(tuple(term for term in node.terms if term != name)) & symbols(name):
            return name
    free = symbols(node)
    if len(free) == 1:
        return Sym(next(iter(free)))
    raise NoSet("a condition on several variables")


def _solve(left: Node, op: str, right: Node, variable: Node) -> Node:
    """The reals that satisfy ``left op right``, linear in the variable or in its absolute value."""
    if op not in FLIPPED or not isinstance(left, Expr) or not isinstance(right, Expr):
        raise NoSet("a relation that is no inequality")
    if not isinstance(variable, Sym):
        stand_in = Sym("\x00")
        left, right = (stand_in if side == variable else side for side in (left, right))
        variable = stand_in
    for inner, outer, sign in ((left, right, op), (right, left, FLIPPED[op])):
        if isinstance(inner, Op) and inner.head == "abs" and variable.name not in symbols(outer):
            body = inner.args[0]
            within = sign in ("<", "<=", "=")
            other = FLIPPED[sign]
            first = _solve(body, sign, outer, variable)
            second = _solve(body, other, neg(outer), variable)
            return SetOp("intersection" if within and sign != "=" else "union", (first, second))
    for outer, sign in ((right, op), (left, FLIPPED[op])):
        if (outer == INF and sign in ("<", "<=")) or (outer == MINUS_INF and sign in (">", ">=")):
            return REALS
    difference = Op("add", (left, neg(right)))
    constant = substitute(difference, variable.name, ZERO)
    slope = Op("add", (substitute(difference, variable.name, ONE), neg(_expr(constant))))
    twice = Op("add", (substitute(difference, variable.name, TWO), neg(_expr(constant))))
    a, b = _number(slope), _number(twice)
    if not a or abs(b - 2 * a) > abs(a) * Fraction(1, 10**20):
        raise NoSet("an inequality that is not linear")
    if symbols(_expr(constant)) or symbols(slope):
        raise NoSet("an inequality with parameters")
    edge = Op("div", (neg(_expr(constant)), slope))
    sign = op if a > 0 else FLIPPED[op]
    closed = sign in ("<=", ">=")
    if sign in ("<", "<="):
        return Interval(MINUS_INF, edge, False, closed)
    if sign in (">", ">="):
        return Interval(edge, INF, closed, False)
    point = FiniteSet((edge,))
    return point if sign == "=" else SetOp("difference", (REALS, point))


def _expr(node: Node) -> Expr:
    if not isinstance(node, Expr):
        raise NoSet("arithmetic on what is no number")
    return node


def _number(node: Node) -> Any:
    try:
        value = Evaluator({}, DIGITS).value(node)
    except (KeyError, Unsupported, Undefined) as error:
        raise NoSet("an end that is no number") from error
    if not is_real(value):
        raise NoSet("an end that is not real")
    return value.real


def subject(node: Relation) -> Node:
    """What a condition with symbolic ends is said of: the middle term, or the side that is a name, x, y, z first."""
    if len(node.terms) == 3:
        return node.terms[1]
    names = [term for term in node.terms if is_name(term)] or [node.terms[0]]
    return next((name for name in names if name in (Sym("x"), Sym("y"), Sym("z"))), names[0])


def simple_interval(node: Node) -> Interval | None:
    """A condition or interval with symbolic ends as an interval, or None; the ends may not depend on its subject."""
    if isinstance(node, SetBuilder) and isinstance(node.condition, Relation) and node.variable in node.condition.terms:
        return simple_interval(node.condition)
    if isinstance(node, Relation):
        about = subject(node)
        if not isinstance(about, Sym) or any(about.name in symbols(term) for term in node.terms if term != about):
            return None
        if node.ops == ("in",) and isinstance(node.terms[1], Interval | Tuple):
            return simple_interval(node.terms[1])
        rising = all(op in ("<", "<=") for op in node.ops)
        falling = all(op in (">", ">=") for op in node.ops)
        terms, ops = (
            (node.terms, node.ops)
            if rising
            else (node.terms[::-1], tuple(FLIPPED.get(op, "") for op in node.ops[::-1]))
        )
        if not (rising or falling):
            return None
        if len(terms) == 3 and isinstance(terms[1], Sym) and isinstance(terms[0], Expr) and isinstance(terms[2], Expr):
            return Interval(terms[0], terms[2], ops[0] == "<=", ops[1] == "<=")
        if len(terms) == 2 and isinstance(terms[0], Expr) and isinstance(terms[1], Expr):
            if terms[0] == about:
                return Interval(MINUS_INF, terms[1], False, ops[0] == "<=")
            return Interval(terms[0], INF, ops[0] == "<=", False)
        return None
    if isinstance(node, Tuple) and node.brackets == "()" and len(node.items) == 2:
        low, high = node.items
        if isinstance(low, Expr) and isinstance(high, Expr):
            return Interval(low, high, False, False)
    return node if isinstance(node, Interval) else None


# Cells ----------------------------------------------------------------------------------------------------------


def same_region(left: Region, right: Region) -> Comparison:
    """Compare two sets of reals. Raises NoSet for ends that are no real numbers."""
    if left.variable is not None and right.variable is not None and left.variable != right.variable:
        return Comparison(False, DIFFERENT.reason, "conditions on different variables")
    ends = _values(_ends(left.tree) | _ends(right.tree))
    for tree in (left.tree, right.tree):
        _refuse_falling(tree, ends)
    order: list[Any] = []
    for value in sorted(ends.values()):
        if not order or abs(value - order[-1]) > abs(value) * Fraction(1, 10**38) + Fraction(1, 10**38):
            order.append(value)
    index = {node: _nearest(order, value) for node, value in ends.items()}
    cells = 2 * len(order) + 1  # gap, point, gap, point, …, gap
    if _cells(left.tree, index, cells) == _cells(right.tree, index, cells):
        return Comparison(True, EQUAL.reason, "the same set of reals")
    return Comparison(False, DIFFERENT.reason, "different sets of reals")


def _nearest(order: list[Any], value: Any) -> int:
    at = bisect.bisect_left(order, value)
    return min((n for n in (at - 1, at) if 0 <= n < len(order)), key=lambda n: abs(order[n] - value))


def _ends(tree: Node) -> set[Node]:
    """The finite ends and the points of a set."""
    if isinstance(tree, SetOp):
        return set().union(*(_ends(arg) for arg in tree.args))
    if isinstance(tree, Interval):
        return {end for end in (tree.low, tree.high) if end not in (INF, MINUS_INF)}
    return set(tree.items) if isinstance(tree, FiniteSet) else set()


def _values(nodes: set[Node]) -> dict[Node, Any]:
    """Exact values where all are rational, else high precision for all."""
    exact = {node: rational(node) for node in nodes}
    return exact if None not in exact.values() else {node: _number(node) for node in nodes}


def _refuse_falling(tree: Node, ends: dict[Node, Any]) -> None:
    if isinstance(tree, SetOp):
        for arg in tree.args:
            _refuse_falling(arg, ends)
    elif isinstance(tree, Interval) and tree.low in ends and tree.high in ends and ends[tree.low] > ends[tree.high]:
        raise NoSet("ends in falling order, which is a point and no interval")


def _cells(tree: Node, index: dict[Node, int], count: int) -> frozenset[int]:
    """The cells that a set covers; cell 2n + 1 is the point n, cell 2n the gap below it."""
    if isinstance(tree, SetOp):
        spend(count / 10)
        first, second = (_cells(arg, index, count) for arg in tree.args)
        return {"union": first | second, "intersection": first & second, "difference": first - second}[tree.head]
    if isinstance(tree, FiniteSet):
        return frozenset(2 * index[item] + 1 for item in tree.items)
    if not isinstance(tree, Interval):
        raise NoSet(type(tree).__name__)
    spend(count / 10)
    low = -1 if tree.low == MINUS_INF else count if tree.low == INF else 2 * index[tree.low] + 1
    high = count if tree.high == INF else -1 if tree.high == MINUS_INF else 2 * index[tree.high] + 1
    covered = set(range(low + 1, high))
    if tree.low_closed and 0 <= low <= high and (low < high or tree.high_closed):
        covered.add(low)
    if tree.high_closed and low <= high < count and (low < high or tree.low_closed):
        covered.add(high)
    return frozenset(covered)
