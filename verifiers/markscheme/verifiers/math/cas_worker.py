"""What runs inside the algebra worker: quadrature and long sums, SymPy, and LaTeX that the grammar leaves to it.

Run by ``cas.py`` only. Requests come on standard input (a length, then a pickle made by the parent); each answer is a
line of JSON on standard output. The process ends when its standard input does.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import re
import resource
import select
import struct
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from markscheme.verifiers.math.answers import Answer
from markscheme.verifiers.math.comparison import UNKNOWN, Comparison
from markscheme.verifiers.math.identity import compare_at, is_real, sample_points
from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.limits import Undefined, Unsupported
from markscheme.verifiers.math.nodes import Expr, symbols
from markscheme.verifiers.outcomes import Reason

MEMORY_BYTES = 3 * 2**30
CPU_GRACE_SECONDS = 2  # beyond the deadline, at which the parent ends the worker if it lives
PARENT_SECONDS = 0.5  # between two looks at whether the parent lives
_INDEFINITE = re.compile(r"(?:\\int|∫)(?!\s*(?:\\limits\s*)?_)")
_CONSTANT = re.compile(r"[CcK](?:_\{?\d\}?)?")
IDLE_SECONDS = 0.05  # then SymPy is loaded, so that the first question that needs it does not wait


def _requests() -> Iterator[Any]:
    source = sys.stdin.buffer
    loaded = False
    while True:
        if not loaded and not select.select([source], [], [], IDLE_SECONDS)[0]:
            import sympy  # noqa: F401, PLC0415

            loaded = True
        head = source.read(4)
        if len(head) < 4:
            return
        data = source.read(struct.unpack(">I", head)[0])
        yield pickle.loads(data)  # noqa: S301 - written by our parent


def main() -> None:
    """Answer requests until standard input ends."""
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(5000)
    os.write(out, b"ready\n")
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    for (gold, given), deadline in _requests():
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = math.ceil(used.ru_utime + used.ru_stime + deadline) + CPU_GRACE_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        found = answer(gold, given)
        line = json.dumps({"equal": found.equal, "reason": str(found.reason), "detail": found.detail})
        os.write(out, line.encode() + b"\n")
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _end_with_parent(parent: int) -> None:
    """End this process when its parent has died while it computes; between questions, end of file does that."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(0)


def answer(gold: Answer, given: Answer) -> Comparison:
    """Decide a pair by every method that is too slow to run in the caller's process."""
    try:
        if gold.node is not None and given.node is not None:
            found = _by_numbers(gold, given)
            if found.equal is not None:
                return found
            return _by_sympy(gold, given)
        return _by_latex(gold, given)
    except (MemoryError, RecursionError, OverflowError) as error:
        return Comparison(None, Reason.BUDGET, f"the algebra ran out of room: {type(error).__name__}")


def _by_numbers(gold: Answer, given: Answer) -> Comparison:
    """Quadrature and summation at sample points."""
    if not isinstance(gold.node, Expr) or not isinstance(given.node, Expr):
        return UNKNOWN
    names = sorted(symbols(gold.node) | symbols(given.node))
    points: list[dict[str, Any]] = list(sample_points(names, 7))[:12] if names else [{}]
    agreed = 0
    for point in points:
        try:
            a, b, agree = compare_at(gold.node, given.node, point, heavy=True)
        except (Undefined, TooLarge):
            continue
        except (Unsupported, ValueError, ZeroDivisionError):
            return UNKNOWN
        if names and not (is_real(a) and is_real(b)):
            continue
        if not agree:
            return Comparison(False, Reason.DIFFERENT, "different by numerical integration or summation")
        agreed += 1
    if agreed == len(points) or agreed >= 8:
        return Comparison(True, Reason.SAMPLED_EQUAL, "equal to 18 digits by numerical integration or summation")
    return UNKNOWN


def _by_sympy(gold: Answer, given: Answer) -> Comparison:
    from markscheme.verifiers.math.to_sympy import NotConvertible, to_sympy  # noqa: PLC0415

    if not isinstance(gold.node, Expr) or not isinstance(given.node, Expr):
        return Comparison(None, Reason.BEYOND_KNOWLEDGE, "no method decides this pair")
    try:
        sides = to_sympy(gold.node), to_sympy(given.node)
    except NotConvertible as error:
        return Comparison(None, Reason.BEYOND_KNOWLEDGE, str(error))
    return _same(*sides)


def _same(one: Any, two: Any) -> Comparison:
    import sympy  # noqa: PLC0415

    infinite = sympy.oo, -sympy.oo
    if one in infinite or two in infinite:
        if one == two:
            return Comparison(True, Reason.EQUAL, "equal by algebra")
        if all(side in infinite or (side.is_number and side.is_finite) for side in (one, two)):
            return Comparison(False, Reason.DIFFERENT, "different by algebra")
    return _is_zero(one - two)


def _is_zero(difference: Any) -> Comparison:
    import sympy  # noqa: PLC0415

    difference = sympy.simplify(difference.doit())
    if difference == 0:
        return Comparison(True, Reason.EQUAL, "equal by algebra")
    if difference.is_number and not difference.has(
        sympy.Integral, sympy.Sum, sympy.Limit, sympy.zoo, sympy.nan, sympy.oo
    ):
        value = difference.evalf(30)
        if value.is_number and abs(value) > 1e-15:
            return Comparison(False, Reason.DIFFERENT, "different by algebra")
        if difference.equals(0):
            return Comparison(True, Reason.EQUAL, "equal by algebra")
    elif (
        difference.free_symbols
        and not difference.has(sympy.Integral, sympy.Sum, sympy.Limit, sympy.Derivative)
        and difference.equals(0) is False
    ):
        return Comparison(False, Reason.DIFFERENT, "different by algebra")
    return Comparison(None, Reason.BEYOND_KNOWLEDGE, "algebra neither shows the two equal nor different")


def _by_latex(gold: Answer, given: Answer) -> Comparison:
    """Limits, derivatives and antiderivatives, read by latex2sympy2-extended; both sides must parse as a whole."""
    from markscheme.verifiers.math.to_sympy import NotConvertible, from_latex, to_sympy  # noqa: PLC0415

    try:
        sides = [
            from_latex(side.raw) if side.calculus else to_sympy(side.node) if isinstance(side.node, Expr) else None
            for side in (gold, given)
        ]
    except NotConvertible as error:
        return Comparison(None, Reason.BEYOND_KNOWLEDGE, str(error))
    if sides[0] is None or sides[1] is None:
        return Comparison(False, Reason.TYPE_MISMATCH, "calculus against what is no expression")
    one, two = sides
    if any(_INDEFINITE.search(side.raw) for side in (gold, given)):
        one, two = _without_constant(one, two), _without_constant(two, one)
    return _same(one, two)


def _without_constant(side: Any, other: Any) -> Any:
    """An antiderivative without its constant of integration, which an indefinite integral need not write."""
    for symbol in side.free_symbols - other.free_symbols:
        if _CONSTANT.fullmatch(symbol.name) and side.diff(symbol) == 1:
            return side.subs(symbol, 0)
    return side
