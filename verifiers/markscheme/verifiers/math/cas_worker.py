"""What runs inside the algebra worker: quadrature and long sums, SymPy, and LaTeX that the grammar leaves to it.

Run by ``cas.py`` only. Requests come on standard input (a length, then a pickle made by the parent); each answer is a
line of JSON on standard output. The process ends when its standard input does.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import select
import struct
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from markscheme.verifiers.math.equality import Comparer
from markscheme.verifiers.math.evaluate import Undefined, Unsupported
from markscheme.verifiers.math.grammar import Answer
from markscheme.verifiers.math.identity import UNKNOWN, Comparison, compare_at, is_real, sample_points
from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.nodes import Expr, symbols
from markscheme.verifiers.outcomes import Reason

MEMORY_BYTES = 3 * 2**30
CPU_BACKSTOP_SECONDS = 600  # if the parent dies while the worker computes
IDLE_SECONDS = 0.05  # then SymPy is loaded, so that the first question that needs it does not wait


class _Policy(NamedTuple):
    percent: str
    precision: str


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
    for gold, given, percent, precision in _requests():
        found = answer(gold, given, _Policy(percent, precision))
        line = json.dumps({"equal": found.equal, "reason": str(found.reason), "detail": found.detail})
        os.write(out, line.encode() + b"\n")
        used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
        resource.setrlimit(resource.RLIMIT_CPU, (used + CPU_BACKSTOP_SECONDS, resource.RLIM_INFINITY))


def answer(gold: Answer, given: Answer, policy: _Policy) -> Comparison:
    """Decide a pair by every method that is too slow to run in the caller's process."""
    try:
        if gold.node is not None and given.node is not None:
            found = _by_numbers(gold, given)
            if found.equal is not None:
                return found
            return _by_sympy(gold, given)
        return _by_latex(gold, given, policy)
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
        except (Unsupported, ValueError, ZeroDivisionError) as error:
            return Comparison(None, Reason.BEYOND_KNOWLEDGE, str(error)[:200])
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
        difference = to_sympy(gold.node) - to_sympy(given.node)
    except NotConvertible as error:
        return Comparison(None, Reason.BEYOND_KNOWLEDGE, str(error))
    return _is_zero(difference)


def _is_zero(difference: Any) -> Comparison:
    import sympy  # noqa: PLC0415

    difference = sympy.simplify(difference.doit())
    if difference == 0:
        return Comparison(True, Reason.EQUAL, "equal by algebra")
    if difference.is_number and not difference.has(sympy.Integral, sympy.Sum, sympy.Limit, sympy.zoo, sympy.nan, sympy.oo):
        value = difference.evalf(30)
        if value.is_number and abs(value) > 1e-15:
            return Comparison(False, Reason.DIFFERENT, "different by algebra")
        if difference.equals(0):
            return Comparison(True, Reason.EQUAL, "equal by algebra")
    elif difference.free_symbols and not difference.has(sympy.Integral, sympy.Sum, sympy.Limit, sympy.Derivative):
        if difference.equals(0) is False:
            return Comparison(False, Reason.DIFFERENT, "different by algebra")
    return Comparison(None, Reason.BEYOND_KNOWLEDGE, "algebra neither shows the two equal nor different")


def _by_latex(gold: Answer, given: Answer, policy: _Policy) -> Comparison:
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
    del policy
    return _is_zero(sides[0] - sides[1])


__all__ = ["Comparer", "answer", "main"]
