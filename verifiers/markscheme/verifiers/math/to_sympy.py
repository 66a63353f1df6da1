"""Expressions as SymPy's, for the algebra worker. No text is evaluated: trees are built node by node."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import sympy

from markscheme.verifiers.math.nodes import Const, Node, Num, Op, Sym
from markscheme.verifiers.math.notation import repair, unwrap

# Arguments without braces, which the parser does not know: \frac12, \frac1{x}, \frac{1}x.
_BARE_ARGUMENTS = [
    (re.compile(r"\\[dt]?frac\s*([0-9A-Za-z])"), r"\\frac{\1}"),
    (re.compile(r"(\\frac\{[^{}]*\})\s*([0-9A-Za-z])"), r"\1{\2}"),
]

# The parser reads d²/dx² as a quotient of powers.
_HIGHER = re.compile(r"\\frac\{d\^\{?([2-5])\}?\}\{d([a-z]|\\theta)\^\{?\1\}?\}")


class NotConvertible(ValueError):
    """SymPy has no such expression here."""


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": sympy.Add,
    "mul": sympy.Mul,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "pow": sympy.Pow,
    "root": lambda a, n: sympy.real_root(a, n) if n.is_odd else sympy.root(a, n),
    "abs": sympy.Abs,
    "sign": sympy.sign,
    "percent": lambda a: a / 100,
    "deg": lambda a: a * sympy.pi / 180,
    "exp": sympy.exp,
    "ln": sympy.log,
    "log": sympy.log,
    "lg": lambda a: sympy.log(a, 10),
    "logb": sympy.log,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "factorial": sympy.factorial,
    "factorial2": sympy.factorial2,
    "binom": sympy.binomial,
    "gamma": sympy.gamma,
    "mod": sympy.Mod,
    "gcd": sympy.gcd,
    "lcm": sympy.lcm,
    "max": sympy.Max,
    "min": sympy.Min,
    "re": sympy.re,
    "im": sympy.im,
    **{
        name: getattr(sympy, name)
        for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "sech", "csch")
    },
    **{
        name: getattr(sympy, name)
        for name in ("asin", "acos", "atan", "acot", "asec", "acsc", "asinh", "acosh", "atanh")
    },
}


def to_sympy(node: Node) -> Any:
    """The SymPy expression of a node. Raises NotConvertible."""
    if isinstance(node, Num):
        return sympy.Rational(node.value.numerator, node.value.denominator)
    if isinstance(node, Sym):
        return sympy.Symbol(node.name, real=True)
    if isinstance(node, Const):
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}[node.name]
    if not isinstance(node, Op):
        raise NotConvertible(type(node).__name__)
    if node.head.startswith("app:"):
        return sympy.Function(node.head[4:])(*[to_sympy(arg) for arg in node.args])
    if node.head in ("sum", "prod", "int"):
        body, variable, low, high = (to_sympy(arg) for arg in node.args)
        kind = {"sum": sympy.Sum, "prod": sympy.Product, "int": sympy.Integral}[node.head]
        return kind(body, (variable, low, high))
    if node.head not in _FUNCTIONS:
        raise NotConvertible(node.head)
    return _FUNCTIONS[node.head](*[to_sympy(arg) for arg in node.args])


def from_latex(text: str) -> Any:
    """LaTeX with limits or derivatives, by latex2sympy2-extended. Raises NotConvertible where it does not parse."""
    from latex2sympy2_extended import latex2sympy  # noqa: PLC0415 - only calculus needs it

    source = unwrap(repair(text))
    for pattern, braced in _BARE_ARGUMENTS:
        source = pattern.sub(braced, source)
    source = _HIGHER.sub(lambda found: rf"\frac{{d}}{{d{found[2]}}} " * int(found[1]), source)
    try:
        parsed = latex2sympy(source, is_real=True)
    except Exception as error:
        raise NotConvertible(f"latex2sympy2-extended: {error}"[:200]) from error
    if not isinstance(parsed, sympy.Expr):
        raise NotConvertible("no expression")
    return parsed.doit()
