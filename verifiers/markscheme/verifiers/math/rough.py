"""Quick refutation: double-precision values with a running error bound (Higham 2002, §3.3).

Two constants whose rough values are further apart than their errors are different; nothing else is concluded. Wrong
answers are most of what a verifier meets, and this shows them wrong in a few microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from markscheme.verifiers.math.limits import spend
from markscheme.verifiers.math.nodes import Const, Node, Num, Op, Sym

_EPS = 2.0**-50  # four times the rounding of one operation
_CONSTANTS = {"pi": math.pi, "e": math.e}
Rough = tuple[float, float]


class NotRough(ValueError):
    """No rough value: another function, a value that is not real, or an error too large."""


def rough(node: Node, point: Mapping[str, Fraction]) -> Rough:
    """The value at a point and a bound on its error. Raises NotRough or OverflowError."""
    if isinstance(node, Num):
        return _rounded(float(node.value), 0.0)
    if isinstance(node, Const) and node.name in _CONSTANTS:
        return _rounded(_CONSTANTS[node.name], 0.0)
    if isinstance(node, Sym):
        return _rounded(float(point[node.name]), 0.0)
    if not isinstance(node, Op):
        raise NotRough
    head, args = node.head, node.args
    spend(1 + len(args))
    if head == "neg":
        value, error = rough(args[0], point)
        return -value, error
    if head == "add":
        values = [rough(arg, point) for arg in args]
        size = sum(abs(value) for value, _ in values)
        return sum(value for value, _ in values), sum(error for _, error in values) + _EPS * len(values) * size
    if head == "mul":
        total = rough(args[0], point)
        for arg in args[1:]:
            total = _times(total, rough(arg, point))
        return total
    if head == "div":
        return _times(rough(args[0], point), _inverse(rough(args[1], point)))
    if head in ("pow", "root") and isinstance(args[1], Num):
        return _power(rough(args[0], point), args[1].value if head == "pow" else 1 / args[1].value)
    if head in ("sin", "cos"):
        value, error = rough(args[0], point)
        return _rounded(getattr(math, head)(value), error)
    if head == "deg":
        return _times(rough(args[0], point), _rounded(math.pi / 180, 0.0))
    raise NotRough


def _rounded(value: float, error: float) -> Rough:
    return value, error + _EPS * abs(value)


def _times(one: Rough, two: Rough) -> Rough:
    (a, da), (b, db) = one, two
    return _rounded(a * b, abs(a) * db + abs(b) * da + da * db)


def _inverse(one: Rough) -> Rough:
    value, error = one
    if abs(value) <= 4 * error or not value:
        raise NotRough
    return _rounded(1 / value, 2 * error / value**2)


def _power(one: Rough, exponent: Fraction) -> Rough:
    value, error = one
    if exponent.denominator == 1 and 0 <= exponent <= 8:
        total = (1.0, 0.0)
        for _ in range(int(exponent)):
            total = _times(total, one)
        return total
    relative = abs(exponent) * error / value if value > 0 else 1.0
    if value <= 0 or relative > 0.01 or abs(exponent) > 64:
        raise NotRough
    result = value ** float(exponent)
    return result, result * (2 * relative + _EPS * (2 + abs(float(exponent) * math.log(value))))


def refuted(left: Node, right: Node, point: Mapping[str, Fraction]) -> bool:
    """Whether the rough values at a point show two expressions different."""
    try:
        (a, da), (b, db) = rough(left, point), rough(right, point)
    except (NotRough, OverflowError, ZeroDivisionError):
        return False
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) > 8 * (da + db)
