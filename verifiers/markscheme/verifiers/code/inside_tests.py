"""What runs in the tests' jail on the judge's behalf, around a program that is not there; or in one jail with it."""

from __future__ import annotations

import ast
import builtins
import collections
import random
import sys
import types
from collections.abc import Callable
from typing import Any

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.inside import encoded, find, load, text

MOST_CALLS = 5000
"""Calls that tests may make."""
SPLIT = "split"
"""Marks arguments that cannot cross from the tests' jail to the program's."""
_MOST_GUESSES = 2000  # operations on values that are not known yet; a loop on them may never end


class _Stop(BaseException):
    """The tests cannot go on: they need a value that is not known yet, or got one that ends them."""


class _Remote:
    """The calls that the tests make into the program: answered where they are known, guessed and noted elsewhere."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers
        self.made: list[list[Any]] = []
        self.guesses = 0
        self.unknown = False
        self.first = 0  # the first call whose answer is not known
        self.ended: list[Any] = []

    def stub(self, name: str) -> Callable[..., Any]:
        def remote(*positional: Any, **keywords: Any) -> Any:
            return self.call(name, positional, keywords)

        remote.__name__ = name
        return remote

    def stop(self, *ended: Any) -> _Stop:
        self.ended = self.ended or list(ended)
        return _Stop()

    def call(self, name: str, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        try:
            given = encoded([list(positional), keywords])
        except codec.NotPlain as error:
            raise self.stop(SPLIT, str(error)[:100]) from None
        if len(self.made) >= MOST_CALLS:
            raise self.stop("failed", f"the tests make more than {MOST_CALLS} calls")
        self.made.append([name, given])
        at = len(self.made) - 1
        if self.unknown or at >= len(self.answers) or self.answers[at][:2] != [name, given]:
            if not self.unknown:
                self.unknown, self.first = True, at
            return _Guess(self)
        kind, *found = self.answers[at][2]
        if kind == "raised":
            known = getattr(builtins, str(found[0]), Exception)
            raise (known if isinstance(known, type) and issubclass(known, Exception) else Exception)(str(found[1]))
        if kind != "value":
            raise self.stop("failed", f"{name} returned {found[0]}")
        try:
            value, left, named = codec.rebuild(codec.decode(found[0]))
            for old, new in (*zip(positional, left, strict=True), *((keywords[key], named[key]) for key in keywords)):
                _adopt(old, new)
        except (codec.Damaged, ValueError, TypeError, KeyError, RecursionError):
            raise self.stop("failed", f"what {name} returned is no value") from None
        return value


def _adopt(old: Any, new: Any) -> None:
    """Give a container the content that the program left in its copy, its inner containers staying themselves."""
    if type(old) is not type(new):
        return
    if type(old) is list:
        for n, item in enumerate(old[: len(new)]):
            if type(item) is type(new[n]) and type(item) in (list, dict, set, bytearray):
                _adopt(item, new[n])
                new[n] = item
        old[:] = new
    elif type(old) is tuple:
        for one, other in zip(old, new, strict=False):
            _adopt(one, other)
    elif type(old) in (dict, set):
        if type(old) is dict:
            for key in old:
                if key in new and type(old[key]) is type(new[key]) and type(old[key]) in (list, dict, set, bytearray):
                    _adopt(old[key], new[key])
                    new[key] = old[key]
        if list(old) != list(new) or type(old) is dict:
            old.clear()
            old.update(new)
    elif type(old) is bytearray:
        old[:] = new


class _Guess:
    """A value that is not known yet: whatever is asked of it holds, so that the tests' next calls are found."""

    def __init__(self, remote: _Remote) -> None:
        self._remote = remote

    def _again(self, *_: Any) -> Any:
        self._remote.guesses += 1
        if self._remote.guesses > _MOST_GUESSES:
            raise self._remote.stop()
        return self

    def _yes(self, *_: Any) -> bool:
        self._again()
        return True

    def _no(self, *_: Any) -> bool:
        self._again()
        return False

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = _yes
    __ne__ = _no
    __hash__ = None  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = _again
    __abs__ = __neg__ = __round__ = __pow__ = __getitem__ = __floordiv__ = _again

    def __getattr__(self, name: str) -> Any:
        raise self._remote.stop()

    def __iter__(self) -> Any:
        self._again()
        return iter(())

    def __len__(self) -> int:
        self._again()
        return 1

    def __float__(self) -> float:
        self._again()
        return 1.0

    def __index__(self) -> int:
        self._again()
        return 1


def tests(job: list[Any]) -> list[Any]:
    """Run tests around a program that is not here.

    Args:
        job: the tests, the entry point, the names that the program has, and the answers to the calls made so far:
            ``[name, encoded arguments, answer]``.

    Returns:
        ``["calls", [[name, encoded arguments], …], n]``: the calls made, of which the n-th and on must be known to
        go on (those past it are guesses); ``["passed", number of calls]``, ``["failed", text]``, or ``["split", why]``
        when an argument cannot cross.
    """
    code, entry, names, answers = job
    job.clear()
    remote, error = _attempt(code, entry, names, answers)
    if remote.unknown:
        ahead, _ = _attempt(_unasserted(code), entry, names, answers)
        if len(ahead.made) > len(remote.made) and ahead.made[: len(remote.made)] == remote.made:
            remote.made = ahead.made
    if remote.ended[:1] == [SPLIT]:
        # An unknown value among the arguments: first ask for what is known to be asked.
        return ["calls", remote.made, remote.first] if remote.unknown else remote.ended
    if remote.unknown:
        return ["calls", remote.made, remote.first]
    if remote.ended:
        return remote.ended
    if error is not None:
        return ["failed", text(error)]
    return ["passed", len(remote.made)]


def _attempt(code: Any, entry: str, names: list[str], answers: list[Any]) -> tuple[_Remote, BaseException | None]:
    random.seed(0)
    remote = _Remote(answers)
    space: dict[str, Any] = {name: remote.stub(name) for name in names}
    space["candidate"] = remote.stub(entry)
    return remote, _run_tests(code, space, entry)


class _Unasserted(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        return ast.copy_location(ast.Expr(node.test), node)


def _unasserted(code: str) -> ast.Module:
    """The tests with assertions that are looked at but never fail, to find the calls that come after them."""
    tree: ast.Module = ast.fix_missing_locations(_Unasserted().visit(ast.parse(code)))
    return tree


def _run_tests(code: Any, space: dict[str, Any], entry: str) -> BaseException | None:
    """Run test code, then its ``check`` or ``test_…`` functions; what it raised."""
    module = types.ModuleType("tests")
    sys.modules["tests"] = module
    module.__dict__.update(space)
    before = set(space)
    try:
        exec(compile(code, "tests.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        check = module.__dict__.get("check")
        if isinstance(check, types.FunctionType) and "check" not in before:
            check(module.__dict__.get(entry) or module.__dict__["candidate"])
        else:
            for name, value in list(module.__dict__.items()):
                if name.startswith("test_") and name not in before and isinstance(value, types.FunctionType):
                    value()
    except (Exception, _Stop, SystemExit) as error:  # noqa: BLE001
        return error
    return None


# One jail for both ----------------------------------------------------------------------------------------------


def together(job: list[Any]) -> list[Any]:
    """Run tests in the program's own jail, which proves little. ``job``: program, tests, entry point, module, word."""
    code, source, entry, name, word = job
    job.clear()
    try:
        names = load(code, name)
    except Exception as error:  # noqa: BLE001
        return ["load", type(error).__name__, text(error)]
    if not entry:
        return _unit_tests(source, word)
    space = {key: value for key, value in names.items() if not key.startswith("__")}
    try:
        space["candidate"] = find(names, entry)
    except Exception as error:  # noqa: BLE001
        return ["failed", text(error)]
    raised = _run_tests(source, space, entry)
    return ["passed", word] if raised is None else ["failed", text(raised)]


def _unit_tests(source: str, word: bytes) -> list[Any]:
    import unittest  # noqa: PLC0415 - 20 ms that others need not spend

    module = types.ModuleType("tests")
    sys.modules["tests"] = module
    count = collections.Counter[str]()
    try:
        exec(compile(source, "tests.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        for name, value in list(module.__dict__.items()):
            if name.startswith("test_") and isinstance(value, types.FunctionType) and value.__module__ == "tests":
                value()
                count["run"] += 1
        found = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromModule(module).run(found)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return ["failed", text(error)]
    if not found.wasSuccessful():
        problems = found.failures + found.errors
        return ["failed", problems[0][1].strip()[-300:] if problems else "an expected failure did not fail"]
    run = count["run"] + found.testsRun - len(found.skipped)
    return ["passed", word] if run > 0 else ["failed", "no test was run"]
