"""Tests that assert, read into calls: the parent then compares, and the program never sees what is expected.

All of a test's statements are read or none: what cannot be read runs as it is, around a program in a jail of its own
(``split``), or with it in one jail where it needs the program's own classes.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markscheme.verifiers.code import codec, syntax
from markscheme.verifiers.code.cases import THROUGH, AssertTests, CallCase
from markscheme.verifiers.code.literals import NotClosed, value_of
from markscheme.verifiers.errors import DataError

_LIBRARY = frozenset({
    "__future__", "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "hashlib", "heapq",
    "itertools", "json", "math", "operator", "random", "re", "string", "time", "typing",
})  # fmt: skip
"""Modules whose values cross between jails, or that tests use without passing their values on."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How tests are to be run.

    Attributes:
        calls: the tests as calls, or None where they must run.
        entry: the function under test.
        names: what the tests take from the program.
        shared: why the tests must run in the program's own jail; empty where they need not.
    """

    calls: tuple[CallCase, ...] | None
    entry: str
    names: tuple[str, ...]
    shared: str = ""


class _Unread(ValueError):
    """A statement that is no call with a known result."""


@functools.lru_cache(maxsize=4096)
def plan(tests: AssertTests) -> Plan:
    """Read tests.

    Raises:
        DataError: they are not Python, call nothing of a program, or hold an assertion that nothing can pass.
    """
    try:
        tree = syntax.parse(tests.code)
    except ValueError as error:
        raise DataError(f"the tests are not Python: {error}") from None
    free = _free_names(tree)
    checked = _checked_name(tree)
    entry = tests.entry_point or checked or (free[0] if len(free) == 1 else "")
    names = tuple(sorted({*free, *([entry] if entry else [])}))
    if not names:
        raise DataError("the tests call nothing of the program: expected an entry_point, or calls of its functions")
    try:
        calls = tuple(_calls(tree.body, entry, names))
    except (_Unread, NotClosed, RecursionError):
        calls = None
    else:
        if not calls:
            raise DataError("the tests hold no assertion about the program; no cases are never a pass")
    return Plan(calls, entry or names[0], names, "" if calls else _why_shared(tree, names))


# Names ----------------------------------------------------------------------------------------------------------


def _bound_names(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


def _free_names(tree: ast.Module) -> list[str]:
    """Names that tests use and do not make: the program's."""
    bound = _bound_names(tree) | set(dir(builtins)) | {"candidate", "check"}
    used = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return list(dict.fromkeys(name for name in used if name not in bound))


def _checked_name(tree: ast.Module) -> str:
    """``f`` of a last line ``check(f)``."""
    for node in tree.body:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Name(id="check"), args=[ast.Name(id=name)])):
                return name
    return ""


def _why_shared(tree: ast.Module, names: tuple[str, ...]) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            strange = [one for one in modules if one.partition(".")[0] not in _LIBRARY]
            if strange:
                return f"the tests import {strange[0]}, whose values do not cross between jails"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            return f"the tests use attributes of {node.value.id}"
        elif isinstance(node, ast.Name) and node.id in names and node.id[:1].isupper():
            return f"the tests use the program's class {node.id}"
    return ""


# Statements -----------------------------------------------------------------------------------------------------


def _calls(body: list[ast.stmt], entry: str, names: tuple[str, ...]) -> Iterator[CallCase]:
    check = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    for node in body:
        match node:
            case ast.Assert(test=test):
                yield from _asserted(test, entry, names)
            case ast.FunctionDef(name="check", args=ast.arguments(args=[ast.arg(arg="candidate")])) if len(check) == 1:
                yield from _calls(node.body, entry, names)
            case ast.Expr(value=ast.Call(func=ast.Name(id="check"), args=[ast.Name()])) | ast.Pass():
                continue
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Import(names=[ast.alias(name="math", asname=None)]):
                continue
            case ast.Assign(targets=[ast.Name(id="METADATA")]):
                continue
            case _:
                raise _Unread(type(node).__name__)


def _asserted(test: ast.expr, entry: str, names: tuple[str, ...]) -> Iterator[CallCase]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _asserted(part, entry, names)
        return
    try:
        holds = bool(value_of(test))
    except NotClosed:
        yield _case(test, entry, names)
        return
    if not holds:
        raise DataError(f"the tests hold an assertion that nothing can pass: {ast.unparse(test)[:80]}")


def _case(test: ast.expr, entry: str, names: tuple[str, ...]) -> CallCase:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _called(inner, entry, names, relation="false", expected=None)
        case ast.BoolOp(op=ast.Or(), values=parts):
            return _alternatives([_case(part, entry, names) for part in parts])
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right, entry, names)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr="isclose")):
            return _is_close(test, entry, names)
    return _called(test, entry, names, relation="true", expected=None)


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, entry: str, names: tuple[str, ...]) -> CallCase:
    match op, left:
        case ((ast.Lt() | ast.LtE()), ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(op=ast.Sub()) as difference])):
            within = value_of(right)
            if type(within) not in (int, float):
                raise _Unread("a tolerance that is no number")
            one, other = _sides(difference.left, difference.right)
            return _called(
                one, entry, names, relation="close", expected=_number(other), tolerance=(float(within), 0.0),
                strict=isinstance(op, ast.Lt),
            )  # fmt: skip
        case ast.Eq(), _:
            one, other = _sides(left, right)
            return _called(one, entry, names, relation="==", expected=value_of(other))
        case ast.NotEq(), _:
            one, other = _sides(left, right)
            return _called(one, entry, names, relation="!=", expected=value_of(other))
        case ast.Is(), _:
            expected = value_of(right)
            if expected is None or isinstance(expected, bool):
                return _called(left, entry, names, relation="is", expected=expected)
        case ast.In(), _:
            several = value_of(right)
            if isinstance(several, list | tuple | set | frozenset):
                return _called(left, entry, names, relation="in", expected=list(several))
    raise _Unread(type(op).__name__)


def _sides(left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
    """The side that is known last."""
    try:
        value_of(right)
    except NotClosed:
        return right, left
    return left, right


def _number(node: ast.expr) -> Any:
    value = value_of(node)
    if type(value) not in (int, float):
        raise _Unread("a number is needed")
    return value


def _is_close(test: ast.Call, entry: str, names: tuple[str, ...]) -> CallCase:
    given = {"rel_tol": 1e-9, "abs_tol": 0.0}
    for keyword in test.keywords:
        if keyword.arg not in given:
            raise _Unread("an argument of isclose")
        given[keyword.arg] = _number(keyword.value)
    if len(test.args) != 2:
        raise _Unread("arguments of isclose")
    one, other = _sides(*test.args)
    tolerance = (float(given["abs_tol"]), float(given["rel_tol"]))
    return _called(one, entry, names, relation="close", expected=_number(other), tolerance=tolerance, strict=False)


def _alternatives(cases: list[CallCase]) -> CallCase:
    first = cases[0]
    same = all(case.relation in ("==", "in") and _identity(case) == _identity(first) for case in cases)
    if not same:
        raise _Unread("alternatives of different calls")
    expected: list[Any] = []
    for case in cases:
        expected += case.expected if case.relation == "in" else [case.expected]
    return first.model_copy(update={"relation": "in", "expected": expected})


def _identity(case: CallCase) -> bytes:
    return codec.encode([case.function, case.arguments, case.keywords, case.through], ordered=True)


def _called(test: ast.expr, entry: str, names: tuple[str, ...], **rest: Any) -> CallCase:
    """A call of the program, maybe inside built-in functions of one argument."""
    through: list[str] = []
    while isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in THROUGH:
        if test.func.id in names or len(test.args) != 1 or test.keywords:
            break
        through.append(test.func.id)
        test = test.args[0]
    if not isinstance(test, ast.Call):
        raise _Unread("no call")
    match test.func:
        case ast.Name(id="candidate") if entry:
            function = entry
        case ast.Name(id=name) if name in names:
            function = name
        case ast.Attribute(value=ast.Call(func=ast.Name(id="Solution"), args=[], keywords=[]), attr=name):
            function = f"Solution.{name}"
        case _:
            raise _Unread("a call of something else")
    if any(keyword.arg is None for keyword in test.keywords):
        raise _Unread("unpacked arguments")
    try:
        return CallCase(
            function=function,
            arguments=tuple(value_of(argument) for argument in test.args),
            keywords={keyword.arg: value_of(keyword.value) for keyword in test.keywords if keyword.arg},
            through=tuple(reversed(through)),
            **rest,
        )
    except NotClosed:
        raise
    except ValueError as error:
        raise _Unread(str(error)) from None
