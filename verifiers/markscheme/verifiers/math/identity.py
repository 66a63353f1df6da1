"""Whether two scalar expressions are equal: structure, exact rationals, residues, then high precision at points.

A difference at one point where both sides are real shows them different. Equality is shown exactly for rationals. For
rational functions it is shown by two random points modulo the prime 2^127 - 1 (Schwartz 1980, Zippel 1979): two that
differ, of total degree d, agree there with probability at most (2d / 2^127)^2, which is under 10^-60 for d up to 10^6.
Other functions must agree, to 38 digits or more beyond the largest intermediate value, at every sample point where
both sides are real, at eight of them at least, negative points and integers among them. Each coordinate is one of
10^6 values from a generator seeded with the two expressions, so that no expression can be written to fit the points.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from markscheme.verifiers.math.comparison import DIFFERENT, EQUAL, UNKNOWN, Comparison
from markscheme.verifiers.math.evaluate import Evaluator
from markscheme.verifiers.math.exact import exact
from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.limits import Heavy, Undefined, Unsupported
from markscheme.verifiers.math.nodes import Const, Expr, Node, Num, Op, symbols
from markscheme.verifiers.math.residues import PRIME, residue
from markscheme.verifiers.math.rough import refuted
from markscheme.verifiers.outcomes import Reason

DIGITS = 50
NEEDED_POINTS = 8
APPROXIMATE_MAGNITUDE = 6  # decimal orders that integrals and infinite sums may be compared over
MIN_DECIMAL_DIGITS = 10


def strip_places(node: Node) -> Node:
    """The node without what only notation carries (digits written after a point)."""
    if isinstance(node, Num):
        return Num(node.value) if node.places is not None else node
    if isinstance(node, Op):
        return Op(node.head, tuple(strip_places(arg) for arg in node.args))
    return node


def has_imaginary(node: object) -> bool:
    """Whether the imaginary unit occurs."""
    if isinstance(node, Op):
        return any(has_imaginary(arg) for arg in node.args)
    return node == Const("i")


def rational(node: Node) -> Fraction | None:
    """The exact value, or None for what is not a rational constant. Raises TooLarge."""
    try:
        return exact(node)
    except Unsupported:
        return None
    except Undefined:
        return None


def same_expression(left: Expr, right: Expr) -> Comparison:
    """Compare two scalar expressions. Raises TooLarge where a side is over the caps."""
    if left == right:
        return EQUAL
    infinite = [_infinity(side) for side in (left, right)]
    if any(infinite):
        return EQUAL if infinite[0] == infinite[1] else DIFFERENT
    names = sorted(symbols(left) | symbols(right))
    if not names:
        a, b = rational(left), rational(right)
        if a is not None and b is not None:
            return EQUAL if a == b else DIFFERENT
        return _same_constant(left, right)
    found = _by_residues(left, right, names) or _by_samples(left, right, names)
    if found.equal is None and strip_places(left) == strip_places(right):
        return EQUAL
    return found


def _infinity(node: Node) -> int:
    if node == Const("inf"):
        return 1
    return -1 if node == Op("neg", (Const("inf"),)) else 0


def _seed(left: Node, right: Node) -> int:
    return zlib.crc32(repr(left).encode()) ^ zlib.crc32(repr(right).encode())


def _residue_of(seed: int, round_: int, name: str) -> int:
    digest = hashlib.blake2b(f"{seed}/{round_}/{name}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big") % (PRIME - 2) + 2


@lru_cache(maxsize=256)
def _fixed_residue(name: str) -> int:
    return _residue_of(0, 0, name)


def _by_residues(left: Expr, right: Expr, names: list[str]) -> Comparison | None:
    """Any point may show two rational functions different; two from a seed of both sides show them equal."""
    seed, agreed = 0, 0
    for round_ in range(7):
        if round_ == 0:  # most answers are wrong, and any point will show it
            point = {name: _fixed_residue(name) for name in names}
        else:
            seed = seed or _seed(left, right)
            point = {name: _residue_of(seed, round_, name) for name in names}
        try:
            if residue(left, point) != residue(right, point):
                return Comparison(False, Reason.DIFFERENT, "different rational functions")
        except Undefined:
            continue
        except (Unsupported, TooLarge):
            return None
        agreed += round_ > 0
        if agreed == 2:
            return Comparison(True, Reason.EQUAL, "the same rational function")
    return None


# High precision -------------------------------------------------------------------------------------------------


def compare_at(left: Node, right: Node, point: dict[str, Fraction], *, heavy: bool = False) -> tuple[Any, Any, bool]:
    """Both values at a point, and whether they agree. Raises Undefined, Unsupported, TooLarge."""
    digits = DIGITS
    for _ in range(3):
        one, two = Evaluator(point, digits, heavy=heavy), Evaluator(point, digits, heavy=heavy)
        if digits > DIGITS:  # all true values showed at the first precision, and are above the root of this one
            one.dust = two.dust = digits / 2
        a, b = one.value(left), two.value(right)
        magnitude = max(one.magnitude, two.magnitude)
        if one.approximate or two.approximate:
            break
        # The tolerance must be far below the smallest value met; in steps, as each new precision costs tables.
        needed = -(-int(2 * magnitude + 32) // DIGITS) * DIGITS
        if needed <= digits:
            break
        if digits > DIGITS:
            raise Undefined("a value that grows with the precision: a pole")
        digits = needed
    ctx = one.ctx
    if one.approximate or two.approximate:
        agree = abs(a - b) <= max(ctx.mpf(10) ** -18, one.slack, two.slack)
        if not agree and abs(a - b) < ctx.mpf(10) ** -6 * max(1, abs(a), abs(b)):
            raise Heavy("numerical integration or summation of too little precision to tell")
        if agree and magnitude > APPROXIMATE_MAGNITUDE:
            raise Unsupported("values too large or too small for numerical integration or summation")
        return a, b, agree
    return a, b, abs(a - b) <= ctx.mpf(10) ** int(magnitude - digits + 12)


def _same_constant(left: Expr, right: Expr) -> Comparison:
    if refuted(left, right, {}):
        return DIFFERENT
    try:
        *_, agree = compare_at(left, right, {})
    except Undefined as undefined:
        return Comparison(False, Reason.DIFFERENT, f"no value: {undefined}")
    except Heavy:
        return UNKNOWN
    except Unsupported as unsupported:
        return Comparison(None, Reason.BEYOND_KNOWLEDGE, str(unsupported), heavy=True)
    if agree:
        return Comparison(True, Reason.SAMPLED_EQUAL, "the same value to 38 digits and more")
    return DIFFERENT


# Positive, mixed, negative, in the unit interval, larger: in millionths.
_RANGES = (
    (200_000, 3_000_000),
    (-3_000_000, 3_000_000),
    (-3_000_000, -200_000),
    (10_000, 990_000),
    (5_000_000, 25_000_000),
)


@lru_cache(maxsize=1024)
def _coordinate(seed: int, kind: int, name: str) -> Fraction:
    low, high = _RANGES[kind % 5]
    return Fraction(low + zlib.crc32(f"{seed}/{kind}/{name}".encode()) % (high - low), 10**6)


def sample_points(names: list[str], seed: int) -> Iterator[dict[str, Fraction]]:
    """Fifty-eight points: positive, mixed, negative, in the unit interval, large, and positive integers."""
    for kind in range(50):
        yield {name: _coordinate(seed, kind, name) for name in names}
    for kind in range(8):
        yield {name: Fraction(2 + zlib.crc32(f"{seed}/n{kind}/{name}".encode()) % 8) for name in names}


def is_real(value: Any) -> bool:
    """Whether a computed value is real up to rounding."""
    return bool(abs(value.imag) <= abs(value) * value.context.mpf(10) ** -20)


def _has_value(node: Node, point: dict[str, Fraction]) -> bool:
    try:
        return is_real(Evaluator(point, DIGITS).value(node))
    except (Undefined, Unsupported, TooLarge):
        return False


def _different_at(point: dict[str, Fraction]) -> Comparison:
    shown = ", ".join(f"{name} = {float(value):.6g}" for name, value in point.items())
    return Comparison(False, Reason.DIFFERENT, f"different at {shown}")


def _by_samples(left: Expr, right: Expr, names: list[str]) -> Comparison:
    complex_ok = has_imaginary(left) or has_imaginary(right)
    agreed = integers = one_sided = 0
    heavy = False
    for point in sample_points(names, _seed(left, right)):
        if refuted(left, right, point):
            return _different_at(point)
        try:
            a, b, agree = compare_at(left, right, point)
        except Undefined:
            one_sided += _has_value(left, point) != _has_value(right, point)
            continue
        except Heavy:
            heavy = True
            continue
        except Unsupported as unsupported:
            return Comparison(None, Reason.BEYOND_KNOWLEDGE, str(unsupported), heavy=True)
        except TooLarge:
            continue
        if not complex_ok and not (is_real(a) and is_real(b)):
            one_sided += is_real(a) != is_real(b)
            continue
        if not agree:
            return _different_at(point)
        agreed += 1
        integers += all(value.denominator == 1 for value in point.values())
        if agreed - integers >= NEEDED_POINTS and agreed >= NEEDED_POINTS + 4:
            break
    if agreed >= NEEDED_POINTS or integers >= NEEDED_POINTS - 2:
        return Comparison(True, Reason.SAMPLED_EQUAL, f"equal at {agreed} sample points")
    if agreed == 0 and one_sided >= NEEDED_POINTS:
        return Comparison(False, Reason.DIFFERENT, "nowhere both real")
    if heavy or agreed == 0:
        return UNKNOWN
    return Comparison(None, Reason.BEYOND_KNOWLEDGE, f"both sides are real at {agreed} sample points only", heavy=True)


# Decimals -------------------------------------------------------------------------------------------------------


def written_decimal(node: Node) -> tuple[Fraction, int] | None:
    """A decimal as written: its value and its places, or None where the node is no written decimal."""
    if isinstance(node, Op) and node.head == "neg":
        inner = written_decimal(node.args[0])
        return (-inner[0], inner[1]) if inner else None
    if isinstance(node, Num) and node.places is not None:
        return node.value, node.places
    return None


def significant_digits(value: Fraction, places: int) -> int:
    """How many significant digits were written."""
    return len(str(abs(value.numerator * 10**places // value.denominator)).lstrip("0"))


def has_finite_decimal(value: Fraction) -> bool:
    """Whether a rational can be written with finitely many decimals."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def agrees_to_written_digits(decimal: tuple[Fraction, int], other: Expr, *, rounding: bool) -> bool:
    """Whether ``other`` equals the decimal to all its digits: rounded, or (unless ``rounding``) also cut off."""
    value, places = decimal
    scale = 10**places
    number: Any = rational(other)
    written: Any = value
    if number is None:
        evaluator = Evaluator({}, DIGITS + 2 * places)
        try:
            number = evaluator.value(other)
        except (Undefined, Unsupported):
            return False
        if not is_real(number):
            return False
        number, written = number.real, evaluator.ctx.mpf(value.numerator) / value.denominator
    beyond = (abs(number) - abs(written)) * scale  # in units of the last place
    if number * written < 0:
        return False
    return bool(abs(beyond) * 2 <= 1 or (not rounding and 0 <= beyond < 1))
