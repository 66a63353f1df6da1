"""The caps on work, and the errors that say why an evaluator gives no value."""

from __future__ import annotations

import math
import threading

MAX_BITS = 40_000
MAX_TERMS = 500
MAX_LONG_TERMS = 10**6  # what the algebra worker may be asked for
MAX_VISITS = 20_000  # nodes visited in one evaluation
MAX_MAGNITUDE = 1200  # decimal orders of magnitude of any intermediate value
QUADRATURE_DIGITS = 25
MAX_INTEGRAND = 15  # decimal orders of magnitude of an integrand or summand well inside its range
MAX_LATE_TERM = 0.01  # of a series, at its 10^6th term
GAMMA_DIGITS = 120  # beyond, the tables of Γ take seconds to make
LIGHT_BUDGET = 100_000  # units of work for one comparison in the caller's process: about 0.1 s


class Unsupported(ValueError):
    """This evaluator cannot give a value to this node."""


class Undefined(ValueError):
    """The expression has no value at this point."""


class Heavy(Unsupported):
    """Needs an integral, an infinite sum or the like: work for the algebra worker."""


# The meter ------------------------------------------------------------------------------------------------------


class OverBudget(Exception):
    """The comparison has used up its budget of work. No ValueError, so that no rule takes it for "no value here"."""


class _Meter(threading.local):
    """What is left of this thread's budget. Work is counted, not timed, so that verdicts stay deterministic."""

    left = math.inf


_meter = _Meter()


def spend(units: float) -> None:
    """Count work; a unit is about a microsecond. Raises OverBudget."""
    left = _meter.left - units
    _meter.left = left
    if left < 0:
        raise OverBudget


class budget:  # noqa: N801 - read as a verb: ``with budget(n):``
    """Allow so much work inside the block, or what an enclosing block has left."""

    __slots__ = ("before", "granted", "units")

    def __init__(self, units: float) -> None:
        self.units = units

    def __enter__(self) -> None:
        self.before = _meter.left
        self.granted = _meter.left = min(self.before, self.units)

    def __exit__(self, *raised: object) -> None:
        _meter.left = self.before - (self.granted - _meter.left)
