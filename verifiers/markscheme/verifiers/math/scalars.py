"""Equality of single values: numbers, percents, quantities, ratios, based numbers, times of day."""

from __future__ import annotations

import re
from fractions import Fraction

from markscheme.verifiers.math.comparison import DIFFERENT, EQUAL, Comparison
from markscheme.verifiers.math.conventions import Conventions
from markscheme.verifiers.math.identity import (
    MIN_DECIMAL_DIGITS,
    agrees_to_written_digits,
    has_finite_decimal,
    rational,
    same_expression,
    significant_digits,
    written_decimal,
)
from markscheme.verifiers.math.nodes import (
    ZERO,
    Based,
    Clock,
    Const,
    Expr,
    Node,
    Num,
    Op,
    Quantity,
    Ratio,
    Sym,
    symbols,
)
from markscheme.verifiers.math.plain import plain_value
from markscheme.verifiers.math.renaming import same_up_to_names
from markscheme.verifiers.math.units import lookup
from markscheme.verifiers.outcomes import Reason

MISMATCH = Comparison(False, Reason.TYPE_MISMATCH, "answers of different types")
SCALARS = Expr | Quantity | Ratio | Based | Clock
_DEGREE = (("degree", 1),)


def same_scalar(gold: Node, given: Node, policy: Conventions) -> Comparison:
    """Compare two single values of any scalar type."""
    if isinstance(gold, Num | Op | Sym) and isinstance(given, Num | Op | Sym):
        return _same_expressions(gold, given, policy)
    if isinstance(gold, Clock) or isinstance(given, Clock):
        return _same_clock(gold, given)
    if isinstance(gold, Based) or isinstance(given, Based):
        return _same_based(gold, given, policy)
    if isinstance(gold, Ratio) or isinstance(given, Ratio):
        return _same_ratio(gold, given, policy)
    return _same_expressions(gold, given, policy)


def _same_expressions(gold: Node, given: Node, policy: Conventions) -> Comparison:
    """Expressions and quantities."""
    gold, given = _angle(gold), _angle(given)
    if isinstance(gold, Quantity) or isinstance(given, Quantity):
        return _same_quantity(gold, given, policy)
    if not isinstance(gold, Expr) or not isinstance(given, Expr):
        return MISMATCH
    of_gold, of_given = _percent(gold), _percent(given)
    if of_gold is not None or of_given is not None:
        return _same_percent(gold, of_gold, given, of_given, policy)
    return same_number(gold, given, policy)


def same_number(gold: Expr, given: Expr, policy: Conventions) -> Comparison:
    """Compare two expressions without units, under the rules for decimals and for renamed constants."""
    if (
        policy.precision == "exact"
        and (one := plain_value(gold)) is not None
        and (two := plain_value(given)) is not None
    ):
        if one == two:
            return EQUAL
        if has_finite_decimal(one) and has_finite_decimal(two):
            return DIFFERENT
    found = same_expression(gold, given)
    if found.equal or (symbols(gold) | symbols(given)):
        return found if found.equal else same_up_to_names(gold, given, found)
    if found.equal is None and not found.heavy:
        return found
    for decimal, other in ((written_decimal(gold), given), (written_decimal(given), gold)):
        if decimal is None or _has_finite_decimal(other):
            continue
        digits = significant_digits(*decimal)
        if digits >= 3 and agrees_to_written_digits(decimal, other, rounding=False):
            if digits >= MIN_DECIMAL_DIGITS:
                return Comparison(True, Reason.EQUAL, f"equal to all {digits} written digits")
            found = Comparison(False, Reason.PRECISION_AMBIGUOUS, f"agrees to {digits} digits only; 10 are needed")
    wanted = written_decimal(gold)
    if policy.precision == "gold" and wanted and agrees_to_written_digits(wanted, given, rounding=True):
        return Comparison(True, Reason.EQUAL, "rounds to the gold answer's written digits")
    return found


def _has_finite_decimal(node: Expr) -> bool:
    value = rational(node)
    return value is not None and has_finite_decimal(value)


# Percent --------------------------------------------------------------------------------------------------------


def _percent(node: Expr) -> Expr | None:
    """The number before the percent sign, or None."""
    if isinstance(node, Op) and node.head == "percent" and isinstance(node.args[0], Expr):
        return node.args[0]
    if isinstance(node, Op) and node.head == "neg" and isinstance(node.args[0], Expr):
        inner = _percent(node.args[0])
        return Op("neg", (inner,)) if inner is not None else None
    return None


def _same_percent(
    gold: Expr, of_gold: Expr | None, given: Expr, of_given: Expr | None, policy: Conventions
) -> Comparison:
    if of_gold is not None and of_given is not None:
        return same_number(of_gold, of_given, policy)
    by_value = same_number(gold, given, policy)
    if by_value.equal:
        return by_value
    if of_gold is not None and policy.percent in ("lenient", "interchangeable"):
        return same_number(of_gold, given, policy)
    if of_given is not None and policy.percent == "interchangeable":
        return same_number(gold, of_given, policy)
    return by_value


# Quantities -----------------------------------------------------------------------------------------------------


def _angle(node: Node) -> Node:
    """Degrees as a quantity."""
    if isinstance(node, Op) and node.head == "deg" and isinstance(node.args[0], Expr):
        return Quantity(node.args[0], "degrees", _DEGREE, Fraction(1))
    if isinstance(node, Op) and node.head == "neg":
        inner = _angle(node.args[0])
        if isinstance(inner, Quantity):
            return Quantity(Op("neg", (inner.value,)), inner.unit, inner.dimension, inner.factor)
    return node


def _scaled(quantity: Quantity) -> Expr:
    return Op("mul", (quantity.value, Num(quantity.factor))) if quantity.factor != 1 else quantity.value


def _radians(node: Node) -> Expr | None:
    """An angle in radians: ``π/2``, ``2 radians``; None for a number that is no such angle."""
    if isinstance(node, Quantity):
        return node.value if node.dimension == (("radian", 1),) else None
    return node if isinstance(node, Expr) and _mentions_pi(node) else None


def _mentions_pi(node: object) -> bool:
    return node == Const("pi") or (isinstance(node, Op) and any(_mentions_pi(arg) for arg in node.args))


def _same_quantity(gold: Node, given: Node, policy: Conventions) -> Comparison:
    for one, other in ((gold, given), (given, gold)):
        if isinstance(one, Quantity) and one.dimension == _DEGREE and (radians := _radians(other)) is not None:
            found = same_number(Op("deg", (_scaled(one),)), radians, policy)
            if found.equal or isinstance(other, Quantity):
                return found
    gold, given = with_bare_unit(gold, given), with_bare_unit(given, gold)
    if isinstance(gold, Quantity) and isinstance(given, Quantity):
        if gold.dimension != given.dimension:
            return Comparison(False, Reason.DIFFERENT, f"different units: {gold.unit} and {given.unit}")
        if gold.factor == given.factor:
            return same_number(gold.value, given.value, policy)
        return same_number(_scaled(gold), _scaled(given), policy)
    bare = [node.value if isinstance(node, Quantity) else node for node in (gold, given)]
    if not all(isinstance(node, Expr) for node in bare) or any(
        _percent(node) is not None for node in bare if isinstance(node, Expr)
    ):
        return MISMATCH
    return same_number(bare[0], bare[1], policy)  # type: ignore[arg-type]


def with_bare_unit(node: Node, other: Node) -> Node:
    """``5h`` against a quantity: the letter is a unit there, and a variable elsewhere."""
    if not isinstance(other, Quantity) or not isinstance(node, Expr) or isinstance(node, Num):
        return node
    factors: dict[str, int] = {}
    coefficient: list[Expr] = []
    if not _monomial(node, 1, factors, coefficient) or not factors:
        return node
    dimension: dict[str, int] = {}
    scale = Fraction(1)
    for name, power in factors.items():
        unit = lookup(name)
        if unit is None:
            return node
        for part, count in unit[0].items():
            dimension[part] = dimension.get(part, 0) + count * power
        scale *= unit[1] ** power
    value = Op("mul", tuple(coefficient)) if coefficient else Num(Fraction(1))
    plain = tuple(sorted((name, power) for name, power in dimension.items() if power))
    return Quantity(value, "·".join(factors), plain, scale)


def _monomial(node: Node, sign: int, factors: dict[str, int], coefficient: list[Expr]) -> bool:
    """Split a product of numbers and powers of single letters; False for anything else."""
    if isinstance(node, Sym):
        factors[node.name] = factors.get(node.name, 0) + sign
        return len(node.name) == 1
    if isinstance(node, Op) and node.head == "mul":
        return all(_monomial(arg, sign, factors, coefficient) for arg in node.args)
    if isinstance(node, Op) and node.head == "div":
        return _monomial(node.args[0], sign, factors, coefficient) and _monomial(
            node.args[1], -sign, factors, coefficient
        )
    if isinstance(node, Op) and node.head == "pow" and isinstance(node.args[0], Sym) and isinstance(node.args[1], Num):
        power = node.args[1].value
        if power.denominator != 1 or abs(power) > 3:
            return False
        name = node.args[0].name
        factors[name] = factors.get(name, 0) + sign * int(power)
        return len(name) == 1
    if isinstance(node, Expr) and not symbols(node):
        coefficient.append(node if sign > 0 else Op("div", (Num(Fraction(1)), node)))
        return True
    return False


# Ratios, bases, times -------------------------------------------------------------------------------------------


def time_of_ratio(node: Ratio) -> int | None:
    """Seconds after midnight when a ratio may be a time of day: two digits of minutes under 60."""
    found = re.fullmatch(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?", node.written)
    if not found or int(found[1]) > 24:
        return None
    return int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)


def _same_ratio(gold: Node, given: Node, policy: Conventions) -> Comparison:
    if isinstance(gold, Ratio) and isinstance(given, Ratio):
        times = time_of_ratio(gold), time_of_ratio(given)
        if len(gold.terms) != len(given.terms):
            return DIFFERENT
        if None not in times:
            if times[0] == times[1]:
                return EQUAL
            proportional = _proportional(gold, given, policy)
            if proportional.equal:
                return Comparison(None, Reason.TIME_AMBIGUOUS, "equal as ratios, different as times of day")
            return proportional
        if any(time is not None and time % 3600 == 0 for time in times):
            return Comparison(False, Reason.DIFFERENT, "a time of day against a ratio")
        return _proportional(gold, given, policy)
    for one, other in ((gold, given), (given, gold)):
        if isinstance(one, Ratio) and isinstance(other, Expr):
            if len(one.terms) == 2:
                found = (
                    same_scalar(Op("div", one.terms), other, policy)
                    if one is gold
                    else same_scalar(other, Op("div", one.terms), policy)
                )
                hour = time_of_ratio(one)
                if not found.equal and hour is not None and hour % 3600 == 0 and other == Num(Fraction(hour // 3600)):
                    return Comparison(True, Reason.EQUAL, "the same hour")
                return found
            return MISMATCH
    return MISMATCH


def _proportional(gold: Ratio, given: Ratio, policy: Conventions) -> Comparison:
    zeros = [[same_number(term, ZERO, policy).equal for term in node.terms] for node in (gold, given)]
    if zeros[0] != zeros[1]:  # a zero's cross products say nothing
        return DIFFERENT
    pivot = zeros[0].index(False) if False in zeros[0] else 0
    for a, b in zip(gold.terms, given.terms, strict=True):
        found = same_number(Op("mul", (a, given.terms[pivot])), Op("mul", (b, gold.terms[pivot])), policy)
        if not found.equal:
            return found
    return Comparison(True, Reason.EQUAL, "the same ratio")


def _same_clock(gold: Node, given: Node) -> Comparison:
    both = []
    for node in (gold, given):
        if isinstance(node, Clock):
            both.append((node.seconds, node.half))
        elif isinstance(node, Ratio) and (seconds := time_of_ratio(node)) is not None:
            both.append((seconds % 43200, "pm") if seconds >= 46800 else (seconds % 43200, ""))
        elif isinstance(node, Num) and node.value.denominator == 1 and 0 < node.value <= 12:
            both.append((int(node.value) % 12 * 3600, ""))
        else:
            return MISMATCH
    (one, half), (two, other) = both
    if one != two:
        return Comparison(False, Reason.DIFFERENT, "different times of day")
    if half and other:
        return EQUAL if half == other else Comparison(False, Reason.DIFFERENT, "a.m. against p.m.")
    return Comparison(None, Reason.TIME_AMBIGUOUS, "a.m. or p.m. is stated on one side only")


def value_in_base(node: Based) -> Fraction:
    """The value of a based number."""
    sign = -1 if node.digits.startswith("-") else 1
    whole, _, part = node.digits.lstrip("-").partition(".")
    value = Fraction(int(whole or "0", node.base))
    if part:
        value += Fraction(int(part, node.base), node.base ** len(part))
    return sign * value


def _same_based(gold: Node, given: Node, policy: Conventions) -> Comparison:
    if isinstance(gold, Based) and isinstance(given, Based):
        return EQUAL if value_in_base(gold) == value_in_base(given) else DIFFERENT
    if isinstance(gold, Based):
        if isinstance(given, Num) and given.value == _digits_as_decimal(gold):
            return Comparison(True, Reason.EQUAL, "the same digits, the base left out")
        if isinstance(given, Sym | Op) and not isinstance(given, Num):
            return MISMATCH
        return DIFFERENT
    if isinstance(given, Based) and isinstance(gold, Expr):
        if given.base != 10:
            return Comparison(False, Reason.DIFFERENT, "the gold answer is in base ten")
        return same_number(gold, Num(value_in_base(given)), policy)
    return MISMATCH


def _digits_as_decimal(node: Based) -> Fraction | None:
    return Fraction(node.digits) if re.fullmatch(r"-?\d*\.?\d+", node.digits) else None
