"""Exact rational values. Work is bounded before it is done: digits, exponents, factorials, terms of sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.limits import MAX_BITS, MAX_LONG_TERMS, MAX_TERMS, Heavy, Undefined, Unsupported, spend
from markscheme.verifiers.math.nodes import Node, Num, Op, Sym, substitute


def exact(node: Node) -> Fraction:
    """The exact rational value of a constant expression. Raises Unsupported where it is not a rational."""
    if isinstance(node, Num):
        return node.value
    if not isinstance(node, Op):
        raise Unsupported(type(node).__name__)
    rule = _EXACT.get(node.head)
    if rule is None:
        raise Unsupported(node.head)
    if node.head in ("sum", "prod"):
        return _exact_series(node)
    return rule(*[exact(arg) for arg in node.args])


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _capped(value: Fraction) -> Fraction:
    bits = _bits(value)
    if bits > MAX_BITS:
        raise TooLarge("a number of too many digits")
    spend(5 + (bits / 260) ** 1.8)
    return value


def _sum(*values: Fraction) -> Fraction:
    total = Fraction(0)
    for value in values:
        total = _capped(total + value)
    return total


def _product(*values: Fraction) -> Fraction:
    total = Fraction(1)
    for value in values:
        total = _capped(total * value)
    return total


def _quotient(top: Fraction, bottom: Fraction) -> Fraction:
    if bottom == 0:
        raise Undefined("a division by zero")
    return _capped(top / bottom)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        root = _root(base, Fraction(exponent.denominator))
        return _power(root, Fraction(exponent.numerator))
    if base in (0, 1, -1):
        if base == 0 and exponent <= 0:
            raise Undefined("zero to a power that is not positive")
        return base ** (int(exponent % 2) if base == -1 else 1) if exponent else Fraction(1)
    if abs(exponent) * max(1, _bits(base) - 1) > MAX_BITS:
        raise TooLarge("a power of too many digits")
    return _capped(base ** int(exponent))


def _root(value: Fraction, degree: Fraction) -> Fraction:
    if degree.denominator != 1 or not 1 <= degree <= 64:
        raise Unsupported("a root of this degree")
    n = int(degree)
    if value < 0:
        if n % 2 == 0:
            raise Unsupported("an even root of a negative number")
        return -_root(-value, degree)
    spend(10 + _bits(value) ** 2 / 10**5 * (1 if n == 2 else 20))
    parts = []
    for part in (value.numerator, value.denominator):
        guess = math.isqrt(part) if n == 2 else _integer_root(part, n)
        if guess**n != part:
            raise Unsupported("an irrational root")
        parts.append(guess)
    return Fraction(parts[0], parts[1])


def _integer_root(value: int, n: int) -> int:
    low, high = 0, 1 << (value.bit_length() // n + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**n <= value else (low, middle - 1)
    return low


def _natural(value: Fraction, cap: int) -> int:
    if value.denominator != 1 or value < 0:
        raise Unsupported("not a natural number")
    if value > cap:
        raise TooLarge("a factorial or binomial of too many digits")
    return int(value)


def _binomial(n: Fraction, k: Fraction) -> Fraction:
    return _capped(Fraction(math.comb(_natural(n, 5000), _natural(k, 5000))))


def _integer(value: Fraction) -> int:
    if value.denominator != 1:
        raise Unsupported("not an integer")
    return int(value)


def _lcm(*values: Fraction) -> Fraction:
    total = 1
    for value in values:
        total = int(_capped(Fraction(math.lcm(total, _integer(value)))))
    return Fraction(total)


def _mod(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise Undefined("modulo zero")
    return a % b


def _exact_series(node: Op) -> Fraction:
    body, variable, low, high = node.args
    start, stop = _integer(exact(low)), _integer(exact(high))
    if stop - start > MAX_LONG_TERMS:
        raise TooLarge(f"a sum of more than {MAX_LONG_TERMS} terms")
    if stop - start >= MAX_TERMS or not isinstance(variable, Sym):
        raise Heavy("a long sum")
    combine = _sum if node.head == "sum" else _product
    return combine(*[exact(substitute(body, variable.name, Num(Fraction(n)))) for n in range(start, stop + 1)])


_EXACT: dict[str, Callable[..., Fraction]] = {
    "add": _sum,
    "mul": _product,
    "div": _quotient,
    "neg": lambda a: -a,
    "pow": _power,
    "root": _root,
    "abs": abs,
    "floor": lambda a: Fraction(math.floor(a)),
    "ceil": lambda a: Fraction(math.ceil(a)),
    "sign": lambda a: Fraction((a > 0) - (a < 0)),
    "percent": lambda a: a / 100,
    "factorial": lambda a: _capped(Fraction(math.factorial(_natural(a, 3000)))),
    "factorial2": lambda a: _capped(Fraction(math.prod(range(_natural(a, 3000), 0, -2)))),
    "binom": _binomial,
    "mod": _mod,
    "gcd": lambda *a: Fraction(math.gcd(*map(_integer, a))),
    "lcm": _lcm,
    "max": lambda *a: max(a),
    "min": lambda *a: min(a),
    "sum": _sum,
    "prod": _product,
}
