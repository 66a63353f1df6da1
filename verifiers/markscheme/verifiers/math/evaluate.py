"""High-precision values of expressions at a point, in a context of each thread's own.

Work is bounded before it is done: what is over a cap raises ``TooLarge``, what has no value ``Undefined``, what this
evaluator cannot do ``Unsupported``.
"""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.limits import (
    GAMMA_DIGITS,
    MAX_INTEGRAND,
    MAX_LATE_TERM,
    MAX_LONG_TERMS,
    MAX_MAGNITUDE,
    MAX_TERMS,
    MAX_VISITS,
    QUADRATURE_DIGITS,
    Heavy,
    Undefined,
    Unsupported,
    spend,
)
from markscheme.verifiers.math.nodes import Const, Matrix, Node, Num, Op, Sym

_local = threading.local()


def context() -> Any:
    """An mpmath context of this thread's own, so that nobody else's precision changes."""
    ctx = getattr(_local, "ctx", None)
    if ctx is None:
        from mpmath.ctx_mp import MPContext  # noqa: PLC0415 - loads in 50 ms, and only some answers need it

        ctx = _local.ctx = MPContext()
    return ctx


class Evaluator:
    """Evaluates expressions at one point; remembers the largest magnitude met, to which errors are relative.

    Args:
        point: values of the symbols.
        digits: working precision in decimal digits.
        heavy: also do integrals and infinite sums (the algebra worker does, under its deadline).
    """

    def __init__(self, point: Mapping[str, Fraction], digits: int, *, heavy: bool = False) -> None:
        self.ctx = context()
        self.point = dict(point)
        self.digits = digits
        self.heavy = heavy
        self.magnitude = 1.0
        self.dust = math.inf  # values of a smaller order are a zero's rounding errors, and no measure of anything
        self.largest = 0.0  # as a signed decimal order, where the magnitude counts small values too
        self.slack: Any = 0  # absolute error that quadrature adds
        self.approximate = False  # whether an integral or an infinite sum is in it
        self.visits = 0
        self.cost = 3 + digits / 50  # of a node, in units of work; a function costs more
        self.function_cost = 40 + 0.06 * digits**1.5

    def value(self, node: Node) -> Any:
        """The value as an mpmath real or complex number."""
        self.ctx.dps = self.digits
        return self._value(node)

    def _value(self, node: Node) -> Any:
        self.visits += 1
        if self.visits > MAX_VISITS:
            raise TooLarge("an evaluation of too many steps")
        spend(self.cost)
        if isinstance(node, Num):
            return self._seen(self._number(node.value))
        if isinstance(node, Sym):
            value = self.point[node.name]
            return self._number(value) if isinstance(value, Fraction) else value
        if isinstance(node, Const):
            if node.name == "inf":
                raise Unsupported("infinity in arithmetic")
            return {"pi": self.ctx.pi, "e": self.ctx.e, "i": self.ctx.j}[node.name] * self.ctx.one
        if not isinstance(node, Op):
            raise Unsupported(type(node).__name__)
        if node.head in ("sum", "prod", "int"):
            return self._series(node)
        if node.head == "det":
            return self._determinant(node)
        args = [self._value(arg) for arg in node.args]
        if node.head.startswith("app:"):
            return self._unknown(node.head, args)
        rule = _NUMERIC.get(node.head)
        if rule is None:
            raise Unsupported(node.head)
        if node.head not in _CHEAP:
            spend(self.function_cost)
        try:
            return self._seen(rule(self, *args))
        except ZeroDivisionError:
            raise Undefined("a pole") from None

    def _number(self, value: Fraction) -> Any:
        return self.ctx.mpf(value.numerator) / value.denominator

    def _seen(self, value: Any) -> Any:
        for _, mantissa, exponent, bits in _parts(value):
            if mantissa:
                order = (exponent + bits) * 0.30103
                if -order > self.dust:
                    continue
                if abs(order) > MAX_MAGNITUDE:
                    raise TooLarge("a value of too many digits")
                self.magnitude = max(self.magnitude, abs(order))
                self.largest = max(self.largest, order)
            elif exponent:  # mpmath's infinities and nan
                raise Undefined("not finite")
        return value

    def bounded(self, exponent: Any) -> None:
        """Refuse an exponent (in nepers) whose power would be over the caps, before computing it."""
        if abs(exponent) > MAX_MAGNITUDE * 2.4:
            raise TooLarge("a power of too many digits")

    def power(self, base: Any, exponent: Any) -> Any:
        """``base ** exponent``, with the real root for a negative base and an odd denominator."""
        ctx = self.ctx
        if not base:
            if not _is_real(exponent) or exponent.real <= 0:
                raise Undefined("zero to a power that is not positive")
            return ctx.zero
        if abs(exponent) > 10**7:
            raise TooLarge("an exponent of too many digits")
        self.bounded(abs(exponent) * ctx.ln(abs(base)))
        whole = self.near_integer(exponent)
        if whole is not None:
            return base**whole
        if _is_real(base) and _is_real(exponent) and base.real < 0:
            for odd in (3, 5, 7, 9, 11):
                top = self.near_integer(exponent * odd)
                if top is not None:
                    return (-1) ** (top % 2) * ctx.power(-base.real, exponent.real)
        self.bounded(abs(exponent * ctx.ln(base)))
        return ctx.power(base, exponent)

    def near_integer(self, value: Any) -> int | None:
        """The integer that a value is, up to rounding, or None."""
        if not _is_real(value):
            return None
        nearest = self.ctx.nint(value.real)
        if abs(value.real - nearest) < self.ctx.mpf(10) ** (-self.digits // 2):
            return int(nearest)
        return None

    def root(self, value: Any, degree: Any) -> Any:
        """The principal root; the real one for odd degrees of real numbers."""
        n = self.near_integer(degree)
        if n is None or not 1 <= abs(n) <= 1000:
            return self.power(value, 1 / degree)
        if n % 2 and _is_real(value) and value.real < 0:
            return -self.ctx.root(-value.real, n)
        if n == 2:
            return self.ctx.sqrt(value)
        return self.ctx.root(value, n) if n > 0 else 1 / self.ctx.root(value, -n)

    def gamma(self, value: Any) -> Any:
        """Γ, within the caps."""
        if abs(value) > 400:
            raise TooLarge("a factorial of too many digits")
        if not _is_real(value):
            raise Unsupported("a factorial off the real line")
        whole = self.near_integer(value)
        if whole is not None and whole <= 0:
            raise Undefined("a pole of Γ")
        if whole is not None:
            return self.ctx.mpf(math.factorial(whole - 1))
        if self.digits > GAMMA_DIGITS:
            raise TooLarge("Γ of too many digits")
        return self.ctx.gamma(value.real)

    def angle(self, value: Any) -> Any:
        """An argument of a trigonometric function, within the caps."""
        if abs(value) > self.ctx.mpf(10) ** 40:
            raise TooLarge("an angle of too many digits")
        if not _is_real(value):
            self.bounded(value.imag)
        return value

    def step(self, value: Any, rounding: Callable[[Any], Any]) -> Any:
        """Floor or ceiling; a value that is an integer up to rounding counts as that integer."""
        if not _is_real(value):
            raise Undefined("a complex number has no floor")
        whole = self.near_integer(value)
        return self.ctx.mpf(whole) if whole is not None else rounding(value.real)

    def real(self, value: Any) -> Any:
        """The value, which must be real."""
        if not _is_real(value):
            raise Undefined("not real")
        return value.real

    def _series(self, node: Op) -> Any:
        body, variable, low, high = node.args
        if not isinstance(variable, Sym):
            raise Unsupported("a bound variable that is no symbol")
        infinite = Const("inf") in (low, high) or Op("neg", (Const("inf"),)) in (low, high)
        if node.head == "int" or infinite:
            if infinite and not self.heavy:
                raise Heavy(node.head)
            return self._by_quadrature(node.head, body, variable.name, low, high)
        start, stop = self.near_integer(self._value(low)), self.near_integer(self._value(high))
        if start is None or stop is None:
            raise Undefined("a sum between bounds that are no integers")
        if stop - start >= MAX_TERMS * (100 if self.heavy else 1):
            if stop - start > MAX_LONG_TERMS:
                raise TooLarge(f"a sum of more than {MAX_LONG_TERMS} terms")
            raise Heavy("a long sum")
        outer = self.point.get(variable.name)
        total = self.ctx.mpf(0 if node.head == "sum" else 1)
        for n in range(start, stop + 1):
            self.point[variable.name] = Fraction(n)
            term = self._value(body)
            total = total + term if node.head == "sum" else total * term
        if outer is None:
            self.point.pop(variable.name, None)
        else:
            self.point[variable.name] = outer
        return self._seen(total)

    def _by_quadrature(self, head: str, body: Node, name: str, low: Node, high: Node) -> Any:
        ctx = self.ctx
        ends = [
            (ctx.inf if end == Const("inf") else -ctx.inf if end == Op("neg", (Const("inf"),)) else self._value(end))
            for end in (low, high)
        ]

        def inside(value: Any) -> Any:
            if self.heavy:
                self.visits = 0
            outer = self.point.get(name)
            self.point[name] = value
            found = self._value(body)
            if outer is not None:
                self.point[name] = outer
            return found

        # Large terms that cancel would leave nothing of the digits, at every point alike, so that no error shows.
        magnitude, largest, self.largest = self.magnitude, self.largest, 0.0
        inside(self._well_inside(*ends) if head == "int" else self.ctx.mpf(7 + (0 if ctx.isinf(ends[0]) else ends[0])))
        if self.largest > MAX_INTEGRAND:
            raise Unsupported("an integrand or summand of large terms")
        if head != "int" and ctx.isinf(ends[1]):
            self._vanishing(inside, 0 if head == "sum" else 1)
        value = (
            self._quadrature(inside, ends)
            if head == "int"
            else (ctx.nsum if head == "sum" else ctx.nprod)(inside, ends)
        )
        self.magnitude, self.largest = magnitude, largest  # what is met near an end does not count
        self.approximate = True
        return self._seen(value)

    def _vanishing(self, inside: Callable[[Any], Any], limit: int) -> None:
        """Refuse a series whose terms do not vanish: extrapolation would give even (-1)^n a sum."""
        for n in (10**6 + 3, 103):
            try:
                if abs(inside(self.ctx.mpf(n)) - limit) > MAX_LATE_TERM:
                    raise Unsupported("a series whose terms do not vanish")
            except (TooLarge, Undefined):
                continue
            return

    def _well_inside(self, low: Any, high: Any) -> Any:
        """A point of an interval that is no special one."""
        share = self.ctx.mpf(37) / 100
        if self.ctx.isinf(low):
            return (0 if self.ctx.isinf(high) else high) - 1 - share
        return low + 1 + share if self.ctx.isinf(high) else low + (high - low) * share

    def _quadrature(self, inside: Callable[[Any], Any], ends: list[Any]) -> Any:
        """Tanh-sinh quadrature; in the caller's process at few points only, which do for smooth integrands."""
        ctx = self.ctx
        if self.heavy:
            value, error = ctx.quad(inside, ends, error=True)
            if error > ctx.mpf(10) ** (-self.digits // 2):
                raise Unsupported("an integral that does not converge")
            return value
        ctx.dps = QUADRATURE_DIGITS
        try:
            value, error = ctx.quad(inside, ends, error=True, maxdegree=4)
        except TooLarge as many:
            raise Heavy("an integral of many steps") from many
        finally:
            ctx.dps = self.digits
        if error > ctx.mpf(10) ** (3 - QUADRATURE_DIGITS) * max(1, abs(value)):
            raise Heavy("an integral that converges slowly")
        self.slack = max(self.slack, ctx.mpf(10) ** (5 - QUADRATURE_DIGITS) * max(1, abs(value)))
        return value

    def _determinant(self, node: Op) -> Any:
        matrix = node.args[0]
        if not isinstance(matrix, Matrix) or len(matrix.rows) != len(matrix.rows[0]):
            raise Undefined("a determinant of what is no square matrix")
        if len(matrix.rows) > 12:
            raise TooLarge("a determinant of more than 12 rows")
        entries = [[self._value(entry) for entry in row] for row in matrix.rows]
        return self._seen(self.ctx.det(self.ctx.matrix(entries)) * self.ctx.one)

    def _unknown(self, head: str, args: list[Any]) -> Any:
        # An unknown function: any fixed value per arguments; equal arguments give equal values.
        key = head + "".join(f"|{self.ctx.nstr(arg + 0, 12)}" for arg in args)
        return self._number(Fraction(zlib.crc32(key.encode()) % 99991 + 7, 40_009))


def _parts(value: Any) -> tuple[Any, ...]:
    """The real and imaginary parts as mpmath keeps them: (sign, mantissa, exponent, bits)."""
    real = getattr(value, "_mpf_", None)
    return (real,) if real is not None else value._mpc_


def _is_real(value: Any) -> bool:
    imaginary = value.imag
    return not imaginary or abs(imaginary) < abs(value) * value.context.mpf(10) ** (-value.context.dps * 2 // 3)


def _logarithm(self: Evaluator, value: Any) -> Any:
    if not value:
        raise Undefined("the logarithm of zero")
    return self.ctx.ln(value)


def _unit_interval(self: Evaluator, value: Any) -> Any:
    real = self.real(value)
    if abs(real) > 1:
        raise Undefined("outside [-1, 1]")
    return real


def _gammas(self: Evaluator, n: Any, k: Any) -> Any:
    return self.gamma(n + 1) / (self.gamma(k + 1) * self.gamma(n - k + 1))


def _product_of(values: tuple[Any, ...]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total * value
    return total


def _exp(self: Evaluator, value: Any) -> Any:
    self.bounded(value)
    return self.ctx.exp(value)


def _hyperbolic(name: str) -> Callable[[Evaluator, Any], Any]:
    def rule(self: Evaluator, value: Any) -> Any:
        self.bounded(value)
        return getattr(self.ctx, name)(value)

    return rule


def _circular(name: str) -> Callable[[Evaluator, Any], Any]:
    return lambda self, value: getattr(self.ctx, name)(self.angle(value))


_CHEAP = frozenset(("add", "mul", "div", "neg", "abs", "sign", "percent", "deg", "re", "im", "max", "min"))
_NUMERIC: dict[str, Callable[..., Any]] = {
    "add": lambda _, *a: sum(a[1:], a[0]),
    "mul": lambda _, *a: _product_of(a),
    "div": lambda _, a, b: a / b,
    "neg": lambda _, a: -a,
    "pow": Evaluator.power,
    "root": Evaluator.root,
    "abs": lambda _, a: abs(a),
    "sign": lambda s, a: s.ctx.sign(s.real(a)),
    "percent": lambda _, a: a / 100,
    "deg": lambda s, a: a * s.ctx.pi / 180,
    "exp": _exp,
    "ln": _logarithm,
    "log": _logarithm,
    "lg": lambda s, a: _logarithm(s, a) / s.ctx.ln(10),
    "logb": lambda s, a, b: _logarithm(s, a) / _logarithm(s, b),
    "floor": lambda s, a: s.step(a, s.ctx.floor),
    "ceil": lambda s, a: s.step(a, s.ctx.ceil),
    "factorial": lambda s, a: s.gamma(a + 1),
    "gamma": lambda s, a: s.gamma(a),
    "binom": _gammas,
    "re": lambda _, a: a.real,
    "im": lambda _, a: a.imag,
    "max": lambda s, *a: max(s.real(x) for x in a),
    "min": lambda s, *a: min(s.real(x) for x in a),
    "mod": lambda s, a, b: s.real(a) - s.real(b) * s.step(a / b, s.ctx.floor),
    **{name: _circular(name) for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{name: _hyperbolic(name) for name in ("sinh", "cosh", "tanh", "coth", "sech", "csch", "asinh")},
    "asin": lambda s, a: s.ctx.asin(_unit_interval(s, a)),
    "acos": lambda s, a: s.ctx.acos(_unit_interval(s, a)),
    "atan": lambda s, a: s.ctx.atan(s.real(a)),
    "acot": lambda s, a: s.ctx.pi / 2 - s.ctx.atan(s.real(a)),
    "asec": lambda s, a: s.ctx.acos(_unit_interval(s, 1 / a)),
    "acsc": lambda s, a: s.ctx.asin(_unit_interval(s, 1 / a)),
    "acosh": lambda s, a: s.ctx.acosh(a),
    "atanh": lambda s, a: s.ctx.atanh(a),
}
