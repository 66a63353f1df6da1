"""What runs inside the jail: the last steps of the jail itself, then the program."""

from __future__ import annotations

import atexit
import io
import os
import resource
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.sandbox import linux, seccomp

EXIT_EXCEPTION = 1
EXIT_JAIL_FAILED = 113
"""The jail could not be closed around the program, which was not started."""
RESULT_FD = 3
_PAYLOAD_FD = 4
RULES_FD = 40
"""The Landlock rules that the zygote made, until the job is under them."""
TREES_FD = 41
"""The first of the folders that the interpreter's search path is reached through, where their parents are closed."""
NAME = "solution.py"


def place_descriptors(payload: int, stdin: int, stdout: int, stderr: int, result: int, trees: int) -> None:
    """Put the job's files where it expects them and close everything else."""
    high = [os.dup2(fd, 200 + n) for n, fd in enumerate((stdin, stdout, stderr, result, payload))]
    for n, fd in enumerate(high):
        os.dup2(fd, n)
    linux.close_range(_PAYLOAD_FD + 1, RULES_FD - 1)
    linux.close_range(TREES_FD + trees, 0x7FFFFFFF)


def limit(limits: dict[str, Any], *, own_uid: bool) -> None:
    """Set the resource limits, soft and hard alike: pid 1 of a namespace ignores the soft ones' signals."""
    size = max(limits["output_bytes"], limits["files"], limits["result_bytes"])
    pairs = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, size),
        (resource.RLIMIT_NOFILE, 128),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_CPU, int(limits["cpu_seconds"]) + 2),
        (resource.RLIMIT_AS, _BASE_BYTES[0] + limits["memory_bytes"]),
    ]
    if own_uid:  # the kernel counts by uid: a limit would count strangers' threads otherwise
        pairs.append((resource.RLIMIT_NPROC, limits["processes"] + 32))
    for kind, value in pairs:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))


_BASE_BYTES = [0]


def remember_address_space() -> None:
    """Measure, before /proc goes out of sight, what the interpreter and its modules take."""
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - pathlib is not loaded here
        _BASE_BYTES[0] = int(statm.read().split()[0]) * resource.getpagesize()


def enclose(config: dict[str, Any], limits: dict[str, Any], filters: dict[bool, seccomp.Filter]) -> None:
    """Close the jail: own /tmp, limits, no capabilities, Landlock, seccomp."""
    if limits["files"] and config["level"] == 3:
        linux.unshare(linux.CLONE_NEWNS)
        flags = linux.MS_NOSUID | linux.MS_NODEV
        linux.mount("tmpfs", "/tmp", "tmpfs", flags, f"size={limits['files']},nr_inodes=4096,mode=0700")
    os.chdir("/tmp" if config["level"] == 3 else "/")
    limit(limits, own_uid=config["own_uid"])
    if config["level"] == 1:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
        return
    linux.drop_capabilities()
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    if limits["files"] and config["level"] == 3:  # a /tmp of its own, which the zygote's rules do not know
        linux.landlock(config["readable"], ["/tmp"], config["landlock"])
    else:
        linux.landlock_restrict(RULES_FD)
    os.close(RULES_FD)
    filters[limits["processes"] > 1].install(os.getpid())


def run(mode: str, argv: list[str]) -> int:
    """Run the program; the exit status."""
    payload = _read_all(_PAYLOAD_FD)
    os.close(_PAYLOAD_FD)
    sys.stdin = io.TextIOWrapper(
        io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8", errors="surrogateescape"
    )
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8", errors="surrogateescape"
    )
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )
    sys.argv = [NAME, *argv]
    _reseed()
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    if mode == "call":
        code, function, arguments = codec.decode(payload)
        return _finished(lambda: _call(main.__dict__, code, function, codec.rebuild(arguments)))
    os.close(RESULT_FD)
    return _finished(lambda: exec(compile(payload, NAME, "exec", dont_inherit=True), main.__dict__))  # noqa: S102


def _call(namespace: dict[str, Any], code: str, name: str, arguments: Any) -> None:
    """Run the code, call the function, write what it returned (and the arguments as it left them)."""
    exec(compile(code, NAME, "exec", dont_inherit=True), namespace)  # noqa: S102 - that is the job
    target: Any = namespace[name.split(".", maxsplit=1)[0]]
    for part in name.split(".")[1:]:
        target = getattr(target() if isinstance(target, type) else target, part)
    positional, keywords = arguments
    value = target(*positional, **dict(keywords))
    try:
        result = codec.encode([value, positional])
    except codec.NotPlain:
        result = codec.encode([value, None])
    sent = 0
    while sent < len(result):
        sent += os.write(RESULT_FD, result[sent : sent + 65536])


def _read_all(fd: int) -> bytes:
    pieces = []
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _reseed() -> None:
    for name, seed in (("random", "seed"), ("numpy.random", "seed")):
        module = sys.modules.get(name)
        if module is not None:
            getattr(module, seed)(0)


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
    except BaseException as error:  # noqa: BLE001
        _show(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            status = status or 120  # as the interpreter does when its last flush fails
    return status


def _exit_status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    os.write(2, f"{str(code)[:1000]}\n".encode("utf-8", "backslashreplace"))
    return 1


def _show(error: BaseException) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace, limit=-10))
    except BaseException:  # noqa: BLE001 - a program's own __str__ may do anything
        text = f"{type(error).__name__}\n"
    os.write(2, text[-4000:].encode("utf-8", "backslashreplace"))


def start(config: dict[str, Any], job: dict[str, Any], fds: list[int], filters: dict[bool, seccomp.Filter]) -> None:
    """Become the job. Never returns."""
    status = EXIT_JAIL_FAILED
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        place_descriptors(*fds, trees=config["trees"])
        try:
            enclose(config, job["limits"], filters)
        except OSError as error:
            os.write(2, f"the jail could not be closed: {error}\n".encode())
            return
        status = run(job["mode"], job["argv"])
    finally:
        os._exit(status)
