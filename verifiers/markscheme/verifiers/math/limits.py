"""The caps on work, and the errors that say why an evaluator gives no value."""

from __future__ import annotations

MAX_BITS = 40_000
MAX_TERMS = 500
MAX_LONG_TERMS = 10**6  # what the algebra worker may be asked for
MAX_VISITS = 20_000  # nodes visited in one evaluation
MAX_MAGNITUDE = 1200  # decimal orders of magnitude of any intermediate value
QUADRATURE_DIGITS = 25


class Unsupported(ValueError):
    """This evaluator cannot give a value to this node."""


class Undefined(ValueError):
    """The expression has no value at this point."""


class Heavy(Unsupported):
    """Needs an integral, an infinite sum or the like: work for the algebra worker."""
