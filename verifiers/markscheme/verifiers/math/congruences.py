"""Congruences: ``x ≡ 3 (mod 7)``, with its name or without."""

from __future__ import annotations

from collections.abc import Callable

from markscheme.verifiers.math.comparison import EQUAL, Comparison
from markscheme.verifiers.math.identity import rational
from markscheme.verifiers.math.nodes import Expr, Node, Op, Qualified, Relation


def modulus(node: Qualified) -> Expr | None:
    """The modulus of a congruence, or None where the condition is another."""
    condition = node.condition
    inner = condition.args[0] if isinstance(condition, Op) and condition.head == "modulus" else None
    return inner if isinstance(inner, Expr) else None


def same_congruence(
    gold: Qualified, given: Qualified, compare: Callable[[Node, Node], Comparison]
) -> Comparison | None:
    """Congruences of one modulus, whichever member of its class the residue is; None where one is no congruence."""
    one_modulus, other_modulus = modulus(gold), modulus(given)
    if one_modulus is None or other_modulus is None:
        return None
    same = compare(one_modulus, other_modulus)
    if not same.equal:
        return same
    one, two = gold.body, given.body
    if isinstance(one, Relation) and isinstance(two, Relation):
        if one.ops == two.ops == ("equiv",) and one.terms[0] == two.terms[0]:
            one, two = one.terms[1], two.terms[1]
    else:
        one, two = (
            node.terms[1] if isinstance(node, Relation) and node.ops == ("equiv",) else node for node in (one, two)
        )
    found = compare(one, two)
    if found.equal is False and isinstance(one, Expr) and isinstance(two, Expr):
        a, b, m = rational(one), rational(two), rational(one_modulus)
        if a is not None and b is not None and m and ((a - b) / m).denominator == 1:
            return EQUAL
    return found


def _residue(node: Node) -> Node:
    return node.terms[1] if isinstance(node, Relation) and node.ops == ("equiv",) else node
