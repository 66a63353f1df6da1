"""Parsing Python in this process: texts of data sets alone, for a model's could be made to crash a parser."""

from __future__ import annotations

import ast
import functools
import threading

_TRIES = 5
_lock = threading.Lock()


def parse(text: str) -> ast.Module:
    """Parse a module.

    CPython counts the depth of all threads' syntax trees together (3.11.7 does), so that two threads that parse at once
    may both fail with a SystemError: ours take turns, and try again where somebody else's thread came between.

    Raises:
        ValueError: the text is not Python, or nested too deep.
    """
    for attempt in range(_TRIES):
        try:
            with _lock:
                return ast.parse(text)
        except SystemError:
            if attempt == _TRIES - 1:
                raise
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise ValueError(str(error) or "nested too deep") from None
    raise AssertionError


@functools.lru_cache(maxsize=4096)
def calls_something(text: str) -> bool:
    """Whether there is a call in it. Raises ValueError as ``parse`` does."""
    return any(isinstance(node, ast.Call) for node in ast.walk(parse(text)))


def literal(text: str) -> object:
    """The value of a Python literal. Raises ValueError for any other text."""
    match parse(text.strip()).body:
        case [ast.Expr(value=value)]:
            try:
                return ast.literal_eval(value)
            except (TypeError, RecursionError, MemoryError) as error:
                raise ValueError(str(error)) from None
    raise ValueError("no expression")
