"""What runs in a program's jail on the judge's behalf: it loads the program and calls its functions.

``Sandbox.call`` gets one list and empties it, so that nothing of it is sent back. Nothing here is trusted by the parent
when a model's program runs in the same jail: what is returned is data to be compared. Only the standard library and
``codec``, which the zygote has loaded.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable
from typing import Any

from markscheme.verifiers.code import codec


def load(code: str, name: str = "solution") -> dict[str, Any]:
    """Run a program as a module that is not the main one; its names."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(code, "solution.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - that is the job
    return module.__dict__


def calls(job: list[Any]) -> list[Any]:
    """Call functions of a program, in order.

    Args:
        job: the program, and the calls: ``[function, through, encoded [arguments, keywords], hand back arguments]``.

    Returns:
        One ``[kind, …]`` a call: ``["value", encoding]``, ``["strange", type]``, ``["raised", built-in type, text]``;
        or a single ``["load", type, text]`` where the program itself fails.
    """
    code, wanted = job
    job.clear()
    try:
        names = load(code)
    except Exception as error:  # noqa: BLE001 - whatever a program raises
        return [["load", type(error).__name__, text(error)]]
    return [_call(names, *one) for one in wanted]


def _call(names: dict[str, Any], function: str, through: list[str], given: bytes, back: bool) -> list[Any]:  # noqa: FBT001
    positional, keywords = codec.rebuild(codec.decode(given, 1 << 62))
    try:
        value = find(names, function)(*positional, **keywords)
        for step in through:
            value = getattr(builtins, step)(value)
    except Exception as error:  # noqa: BLE001
        return ["raised", _built_in(error), text(error)]
    try:
        return ["value", encoded([value, positional, keywords] if back else value)]
    except (codec.NotPlain, RecursionError) as error:
        return ["strange", str(error)[:100]]


def find(names: dict[str, Any], function: str) -> Callable[..., Any]:
    """A function by its name, ``Class.method``, or as a method of ``class Solution``."""
    first, *rest = function.split(".")
    if first not in names and isinstance(names.get("Solution"), type):
        first, rest = "Solution", function.split(".")
    if first not in names:
        raise NameError(f"name {first!r} is not defined")
    target = names[first]
    for part in rest:
        target = getattr(target() if isinstance(target, type) else target, part)
    found: Callable[..., Any] = target
    return found


def encoded(value: Any) -> bytes:
    """Encode a value, or the built-in one that it equals. Raises NotPlain where there is none."""
    try:
        return codec.encode(value, ordered=True)
    except codec.NotPlain:
        return codec.encode(_plain(value), ordered=True)


def _plain(value: Any, depth: int = 0) -> Any:
    """Values that equal a built-in one by their own making: named tuples, counters; NumPy's scalars and arrays."""
    if depth > codec.MAX_DEPTH:
        raise codec.NotPlain("nested too deep")
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return value
    if type(value) in codec.EXACT:
        return value
    bases: tuple[Any, ...] = (list, tuple, set, frozenset)
    for base in bases:
        if isinstance(value, base):
            return base([_plain(item, depth + 1) for item in base.__iter__(value)])
    if isinstance(value, dict):
        return {_plain(key, depth + 1): _plain(item, depth + 1) for key, item in dict.items(value)}
    kinds: tuple[Any, ...] = (int, float, complex, str, bytes)
    for kind in kinds:
        if isinstance(value, kind):
            return kind.__new__(kind, value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and getattr(numpy, type(value).__name__, None) is type(value) and hasattr(value, "tolist"):
        return _plain(value.tolist(), depth + 1)
    raise codec.NotPlain(f"a value of type {type(value).__name__}")


def _built_in(error: BaseException) -> str:
    """The nearest exception among an exception's own that is built in."""
    for kind in type(error).__mro__:
        if getattr(builtins, kind.__name__, None) is kind:
            return str(kind.__name__)
    return "Exception"


def text(error: BaseException) -> str:
    """What an exception says."""
    try:
        return f"{type(error).__name__}: {error}"[:300]
    except Exception:  # noqa: BLE001 - its own __str__ may do anything
        return type(error).__name__
