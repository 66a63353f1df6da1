"""Values of closed Python expressions, without running them: literals, arithmetic and a few built-in functions.

Test files are data: nothing of them is evaluated by Python in this process. The work is bounded before it is done.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

MOST_ITEMS = 1_000_000
MOST_BITS = 100_000
_DEPTH = 100


class NotClosed(ValueError):
    """The expression is not one that can be valued here."""


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "bool": bool, "bytes": bytes, "chr": chr, "complex": complex, "dict": dict, "float": float,
    "frozenset": frozenset, "int": int, "len": len, "list": list, "max": max, "min": min, "ord": ord, "range": range,
    "round": round, "set": set, "sorted": sorted, "str": str, "sum": sum, "tuple": tuple,
}  # fmt: skip
_METHODS = ("join", "lower", "split", "strip", "title", "upper")
_MATH = ("ceil", "cos", "exp", "floor", "log", "sin", "sqrt", "tan")
_NUMBERS = ("pi", "e", "inf", "nan", "tau")


def value_of(node: ast.expr, depth: int = 0) -> Any:
    """Value a closed expression. Raises NotClosed for any that is not, or is too large, or fails."""
    if depth > _DEPTH:
        raise NotClosed("nested too deep")
    try:
        return _value(node, depth + 1)
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as error:
        raise error if isinstance(error, NotClosed) else NotClosed(str(error)) from None


def _value(node: ast.expr, depth: int) -> Any:
    match node:
        case ast.Constant(value=value) if value is not Ellipsis:
            return value
        case ast.List(elts=items):
            return [value_of(item, depth) for item in items]
        case ast.Tuple(elts=items):
            return tuple(value_of(item, depth) for item in items)
        case ast.Set(elts=items):
            return {value_of(item, depth) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {value_of(key, depth): value_of(item, depth) for key, item in zip(keys, values, strict=True) if key}
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](value_of(operand, depth))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = value_of(left, depth), value_of(right, depth)
            _bound(op, a, b)
            return _BINARY[type(op)](a, b)
        case ast.Subscript(value=whole, slice=ast.Constant(value=index)):
            return value_of(whole, depth)[index]
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in _NUMBERS:
            return getattr(math, name)
        case ast.Call(func=function, args=arguments, keywords=[]):
            return _called(function, [value_of(item, depth) for item in arguments], depth)
    raise NotClosed(f"{type(node).__name__} is not valued here")


def _called(function: ast.expr, arguments: list[Any], depth: int) -> Any:
    match function:
        case ast.Name(id=name) if name in _FUNCTIONS:
            if name == "bytes" and arguments and isinstance(arguments[0], int):
                raise NotClosed("a buffer")
            result = _FUNCTIONS[name](*arguments)
            if isinstance(result, range) and len(result) > MOST_ITEMS:
                raise NotClosed("a range too long")
            return result
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in _MATH:
            return getattr(math, name)(*arguments)
        case ast.Attribute(value=whole, attr=name) if name in _METHODS:
            text = value_of(whole, depth)
            if type(text) is str:
                if name == "join" and len(text) * len(arguments[0]) > MOST_ITEMS:
                    raise NotClosed("a text too long")
                return getattr(text, name)(*arguments)
    raise NotClosed("a call that is not valued here")


def _bound(op: ast.operator, a: Any, b: Any) -> None:
    """Refuse what would grow past the caps."""
    if isinstance(op, ast.Pow):
        whole = isinstance(a, int) and isinstance(b, int)
        if whole and abs(b) * max(a.bit_length(), 1) > MOST_BITS:
            raise NotClosed("a power too large")
    elif isinstance(op, ast.Mult):
        for one, times in ((a, b), (b, a)):
            if isinstance(times, int) and hasattr(one, "__len__") and len(one) * times > MOST_ITEMS:
                raise NotClosed("a product too long")
        if isinstance(a, int) and isinstance(b, int) and a.bit_length() + b.bit_length() > MOST_BITS:
            raise NotClosed("a product too large")
    elif isinstance(op, ast.Mod) and isinstance(a, str | bytes):
        raise NotClosed("a format")
