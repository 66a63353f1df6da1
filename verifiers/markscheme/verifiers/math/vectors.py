"""Vectors in their notations: tuples, one-row and one-column matrices, sums of unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from markscheme.verifiers.math.identity import same_expression
from markscheme.verifiers.math.nodes import ZERO, Const, Expr, Matrix, Node, Num, Op, Sym, Tuple, substitute, symbols

_UNIT_NAMES = [(letter, f"\\hat{letter}", f"\\vec{letter}", f"\\mathbf{letter}") for letter in "ijk"]


def as_vector(node: Node, other: Node) -> Sequence[Node] | None:
    """The components of a node against a tuple or matrix ``other``, or None."""
    if isinstance(node, Tuple):
        return node.items
    if isinstance(node, Matrix):
        if len(node.rows) == 1 and isinstance(other, Tuple | Expr):
            return node.rows[0]
        if len(node.rows[0]) == 1 and isinstance(other, Tuple | Expr):
            return [row[0] for row in node.rows]
        return None
    if isinstance(node, Expr):
        size = len(other.items) if isinstance(other, Tuple) else len(as_vector(other, ZERO) or ()) if isinstance(other, Matrix) else 0
        return unit_components(node, size)
    return None


def unit_components(node: Expr, size: int) -> list[Node] | None:
    """The components of ``ai + bj + ck``, or None where the expression is no such sum."""
    if size not in (2, 3):
        return None
    node = _imaginary_as_letter(node)  # type: ignore[assignment]
    names = symbols(node)
    used = [next((name for name in options if name in names), None) for options in _UNIT_NAMES]
    if not any(used) or (size == 2 and used[2]):
        return None

    def at(values: tuple[int, ...]) -> Expr:
        result: Node = node
        for name, value in zip(used, values, strict=True):
            if name:
                result = substitute(result, name, Num(Fraction(value)))
        assert isinstance(result, Expr)  # noqa: S101
        return result

    origin = at((0, 0, 0))
    if not same_expression(origin, ZERO).equal:
        return None
    parts: list[Node] = [at(unit) for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    total = Op("add", tuple(parts))
    if not same_expression(at((1, 1, 1)), total).equal or not same_expression(at((2, 0, 0)), Op("mul", (Num(Fraction(2)), parts[0]))).equal:
        return None
    return parts[:size]


def _imaginary_as_letter(node: Node) -> Node:
    if node == Const("i"):
        return Sym("i")
    if isinstance(node, Op):
        return Op(node.head, tuple(_imaginary_as_letter(arg) for arg in node.args))
    return node

