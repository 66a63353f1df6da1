"""What ± stands for: the values that a node with plus-minus signs lists."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.nodes import Expr, FiniteSet, Listing, Node, Op, Relation, Tuple, neg

MAX_SIGNS = 4


def _signs(node: object) -> tuple[int, int]:
    """How many ± and ∓ occur."""
    if isinstance(node, Op):
        inner = [_signs(arg) for arg in node.args]
        return sum(a for a, _ in inner) + (node.head == "pm"), sum(b for _, b in inner) + (node.head == "mp")
    if isinstance(node, Tuple):
        inner = [_signs(item) for item in node.items]
        return sum(a for a, _ in inner), sum(b for _, b in inner)
    return 0, 0


def _with_signs(node: Node, signs: list[int]) -> Node:
    """The node with each ± replaced, in order, by the next sign; one sign serves all where only one is given."""
    if isinstance(node, Tuple):
        return Tuple(tuple(_with_signs(item, signs) for item in node.items), node.brackets)
    if not isinstance(node, Op):
        return node
    if node.head in ("pm", "mp"):
        left = _with_signs(node.args[0], signs) if len(node.args) == 2 else None
        sign = signs[0] if len(signs) == 1 else signs.pop(0)
        last = _with_signs(node.args[-1], signs)
        assert isinstance(last, Expr)  # noqa: S101
        signed = last if (sign > 0) == (node.head == "pm") else neg(last)
        return signed if left is None else Op("add", (left, signed))
    return Op(node.head, tuple(_with_signs(arg, signs) for arg in node.args))


def variants(node: Node) -> list[Node]:
    """The values that a node with ± stands for. With a ∓ the signs go together; without one they are independent."""
    plus, minus = _signs(node)
    if not plus + minus:
        return [node]
    if minus or plus == 1:
        return [_with_signs(node, [1]), _with_signs(node, [-1])]
    if plus > MAX_SIGNS:
        raise TooLarge(f"more than {MAX_SIGNS} plus-minus signs")
    return [_with_signs(node, [*signs, 1]) for signs in itertools.product((1, -1), repeat=plus)]


def expand_signs(node: Node) -> Node:
    """Expand ± into a list; inside a list or set, into more of its items. Raises TooLarge over the cap."""
    if isinstance(node, Relation) and len(node.ops) == 1 and node.ops[0] in ("=", "in"):
        values = variants(node.terms[1])
        if len(values) > 1:
            return Listing(tuple(Relation((node.terms[0], value), node.ops) for value in values))
        return node
    if isinstance(node, Listing | FiniteSet):
        items = [one for item in node.items for one in _expanded_item(item)]
        return type(node)(tuple(items)) if len(items) != len(node.items) else node
    values = variants(node)
    return Listing(tuple(values)) if len(values) > 1 else node


def _expanded_item(item: Node) -> Sequence[Node]:
    grown = expand_signs(item)
    return grown.items if isinstance(grown, Listing) and not isinstance(item, Listing) else [item]
