"""Values of rational functions modulo a prime, for identity tests that cannot lose precision."""

from __future__ import annotations

from collections.abc import Mapping

from markscheme.verifiers.math.exact import exact
from markscheme.verifiers.math.limits import Undefined, Unsupported, spend
from markscheme.verifiers.math.nodes import Node, Num, Op, Sym

PRIME = 2**127 - 1


def residue(node: Node, point: Mapping[str, int]) -> int:
    """The value modulo ``PRIME`` of a rational function with integer exponents. Raises Unsupported for other nodes."""
    if isinstance(node, Num):
        return node.value.numerator * pow(node.value.denominator, -1, PRIME) % PRIME
    if isinstance(node, Sym):
        return point[node.name]
    if not isinstance(node, Op):
        raise Unsupported(type(node).__name__)
    head, args = node.head, node.args
    spend(30 if head in ("div", "percent", "pow") else 1 + len(args))
    if head == "add":
        return sum(residue(arg, point) for arg in args) % PRIME
    if head == "neg":
        return -residue(args[0], point) % PRIME
    if head == "mul":
        total = 1
        for arg in args:
            total = total * residue(arg, point) % PRIME
        return total
    if head == "div":
        bottom = residue(args[1], point)
        if bottom == 0:
            raise Undefined("a division by zero")
        return residue(args[0], point) * pow(bottom, -1, PRIME) % PRIME
    if head == "percent":
        return residue(args[0], point) * pow(100, -1, PRIME) % PRIME
    if head == "pow":
        exponent = exact(args[1])
        if exponent.denominator != 1 or abs(exponent) > 10**6:
            raise Unsupported("this exponent")
        base = residue(args[0], point)
        if base == 0 and exponent <= 0:
            raise Undefined("zero to a power that is not positive")
        return pow(base, int(exponent), PRIME)
    raise Unsupported(head)
