"""Running the program as the interpreter would, inside the jail."""

from __future__ import annotations

import atexit
import builtins
import io
import linecache
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from markscheme.verifiers.code import codec

EXIT_EXCEPTION = 1
EXIT_FLUSH_FAILED = 120
RESULT_FD = 3
PAYLOAD_FD = 4
NAME = "solution.py"
TOO_LONG = b"?"  # no encoding begins so
_SEEDED = ("random", "numpy.random")
_MODULE = "solution"  # a program whose function is called is imported: its `if __name__ == "__main__"` does not run


def run(result_bytes: int) -> int:
    """Run the program that the payload holds; the exit status."""
    code, argv, call = codec.decode(_read_all(PAYLOAD_FD), 1 << 62)
    os.close(PAYLOAD_FD)
    code = code.removeprefix("\ufeff")
    _open_streams()
    _reseed()
    sys.argv = [NAME, *argv]
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    main = types.ModuleType("__main__" if call is None else _MODULE)
    main.__dict__.update(__builtins__=__builtins__, __file__=NAME)
    sys.modules["__main__"] = main
    if call is None:
        os.close(RESULT_FD)
        return _finished(lambda: _execute(code, main.__dict__))
    sys.modules[_MODULE] = main
    function, arguments = call
    return _finished(lambda: _call(code, main.__dict__, function, codec.rebuild(arguments), result_bytes))


_STREAMS = {
    name: fd
    for fd, stream in enumerate(("stdin", "stdout", "stderr"))
    for name in (f"/dev/{stream}", f"/dev/fd/{fd}", f"/proc/self/fd/{fd}")
}


def _open_streams() -> None:
    reader = io.BufferedReader(io.FileIO(0, closefd=False))
    out, err = (io.BufferedWriter(io.FileIO(fd, "w", closefd=False)) for fd in (1, 2))
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(reader, "utf-8", "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(out, "utf-8", "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(  # type: ignore[misc]
        err, "utf-8", "backslashreplace", line_buffering=True
    )
    builtins.open = io.open = _Open()


class _Open:
    """``open``, which knows the standard streams' names: a jail has no /proc, where these would lead.

    No function, which as an attribute of a class would become a method, where the built-in one does not.
    """

    __slots__ = ()
    __name__ = __qualname__ = "open"
    __module__ = "io"
    __doc__ = open.__doc__
    _open = staticmethod(open)

    def __call__(self, file: Any, *args: Any, **keywords: Any) -> Any:
        if type(file) is str or isinstance(file, os.PathLike):
            name = os.fspath(file)
            fd = _STREAMS.get(name) if type(name) is str else None
            if fd is not None:
                file = os.dup(fd)
        return self._open(file, *args, **keywords)


def _execute(code: str, namespace: dict[str, Any]) -> None:
    exec(compile(code, NAME, "exec", dont_inherit=True), namespace)  # noqa: S102 - that is the job


def _call(code: str, namespace: dict[str, Any], name: str, arguments: Any, most: int) -> None:
    """Run the code, call the function, write what it returned (and the arguments as it left them)."""
    _execute(code, namespace)
    first, *rest = name.split(".")
    if first not in namespace:
        raise NameError(f"the program defines no {first}")
    target: Any = namespace[first]
    for part in rest:
        target = getattr(target() if isinstance(target, type) else target, part)
    positional, keywords = arguments
    value = target(*positional, **dict(keywords))
    result = _result(value, positional, most)
    if result is TOO_LONG:
        os.pwrite(RESULT_FD, TOO_LONG, most)  # past the end of what is read
        return
    sent = 0
    while sent < len(result):
        sent += os.write(RESULT_FD, result[sent : sent + (1 << 20)])


def _result(value: Any, arguments: Any, most: int) -> bytes:
    try:
        return codec.encode([value, arguments], most=most)
    except codec.NotPlain:  # whichever it was
        arguments = None
    except codec.TooLong:
        return TOO_LONG
    try:
        return codec.encode([value, arguments], most=most)
    except codec.TooLong:
        return TOO_LONG


def _read_all(fd: int) -> bytes:
    pieces = []
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _reseed() -> None:
    later = {name for name in _SEEDED if name not in sys.modules}
    for name in _SEEDED:
        if name not in later:
            sys.modules[name].seed(0)
    if later:
        sys.meta_path.insert(0, _Seeding(later))


class _Seeding:
    """Seeds modules when they are imported: each finds itself here first, and only once."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002 - protocol
        if name not in self._names:
            return None
        self._names.discard(name)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                load(module)
                module.seed(0)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _finished(program: Callable[[], object]) -> int:
    """Run to the end as the interpreter would: exit status, exception, threads, atexit, flush."""
    status = 0
    try:
        program()
    except SystemExit as stop:
        status = _exit_status(stop.code)
    except BaseException as error:  # noqa: BLE001 - whatever a program raises ends it
        _show(error)
        status = EXIT_EXCEPTION
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except SystemExit as stop:
        status = _exit_status(stop.code)
    except BaseException as error:  # noqa: BLE001 - the same
        _show(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException as error:  # noqa: BLE001 - a program may have put anything in their place
            _show(error)
            status = status or EXIT_FLUSH_FAILED
    return status


def _exit_status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    _write_error(f"{str(code)[:1000]}\n")
    return 1


def _show(error: BaseException) -> None:
    """Write the traceback, from the program's first own line on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
        trace = trace.tb_next
    try:
        shown = traceback.TracebackException(type(error), error, trace, limit=-10)
        _leave_out_ours(shown)
        text = "".join(shown.format())
    except BaseException:  # noqa: BLE001 - a program's own __str__ may do anything
        text = f"{type(error).__name__}\n"
    _write_error(text[-4000:])


def _leave_out_ours(shown: traceback.TracebackException) -> None:
    """Leave out this file's frames, which stand between a program and what it opens or imports."""
    waiting: list[traceback.TracebackException | None] = [shown]
    while waiting:
        one = waiting.pop()
        if one is not None:
            one.stack[:] = [frame for frame in one.stack if frame.filename != _write_error.__code__.co_filename]
            waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]


def _write_error(text: str) -> None:
    try:
        sys.stderr.flush()
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except BaseException:  # noqa: BLE001 - closed, full or replaced
        return
