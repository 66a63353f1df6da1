"""``markscheme`` and ``python`` for the blocks of a page, without seconds of imports for each command.

A server has the imports done and forks for each command; on the ``PATH`` of a block lie two small programs that hand
arguments, folder, environment and the three streams over to it, and end as the command ends. What runs is the package's
own code in a process of its own. Run this file with a socket's path to serve.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("markscheme", "python")
_CLIENT = """#!{python} -IS
import array, json, os, socket, sys
asked = {{"argv": [{name!r}, *sys.argv[1:]], "cwd": os.getcwd(), "env": dict(os.environ)}}
with socket.socket(socket.AF_UNIX) as made:
    made.connect({path!r})
    made.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    made.sendall(json.dumps(asked).encode())
    made.shutdown(socket.SHUT_WR)
    sys.exit(int(made.recv(8) or b"99"))
"""


@contextmanager
def commands(folder: Path, environment: dict[str, str]) -> Iterator[Path]:
    """Serve until the end of the block; gives the folder of the programs."""
    path = folder / "socket"
    programs = folder / "bin"
    programs.mkdir()
    for name in NAMES:
        program = programs / name
        program.write_text(_CLIENT.format(python=sys.executable, name=name, path=str(path)))
        program.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, __file__, path], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n", "the server of commands did not start"
        yield programs
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)  # with it, a command that a time limit cut off
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def serve(path: str) -> None:
    """Import what commands need, and fork for each of them."""
    import datasets  # noqa: F401, PLC0415
    import trl  # noqa: F401, PLC0415

    import markscheme.cli.main  # noqa: PLC0415
    import markscheme.prm.training  # noqa: PLC0415
    import markscheme.trainer.grpo  # noqa: F401, PLC0415
    from docsmall import shorten  # noqa: PLC0415 - beside this file

    shorten()
    made = socket.socket(socket.AF_UNIX)
    made.bind(path)
    made.listen()
    os.write(1, b"ready\n")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the watchers
    while True:
        connection, _ = made.accept()
        if os.fork() == 0:
            made.close()
            _watch(connection)
        connection.close()


def _watch(connection: socket.socket) -> None:
    """Run one command in a process of its own and tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size = array.array("i").itemsize
    _, ancillary, *_ = connection.recvmsg(1, socket.CMSG_LEN(3 * size))
    streams = array.array("i", ancillary[0][2])
    asked = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
    child = os.fork()
    if child == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
        _run(asked)
    for stream in streams:
        os.close(stream)
    _, status = os.waitpid(child, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status) % 256).encode())
    os._exit(0)


def _run(asked: dict[str, Any]) -> None:
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    code = 0
    try:
        _command(asked["argv"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:  # noqa: BLE001 - as an interpreter ends
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _command(argv: list[str]) -> None:
    name, rest = argv[0], argv[1:]
    if name == "markscheme":
        from markscheme.cli.main import main  # noqa: PLC0415

        sys.argv = argv
        main()
    elif rest[:1] == ["-m"]:
        sys.argv = rest[1:]
        sys.path.insert(0, "")
        runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
    elif rest[:1] == ["-c"]:
        sys.argv = ["-c", *rest[2:]]
        sys.path.insert(0, "")
        exec(rest[1], {"__name__": "__main__"})
    else:
        sys.argv = rest
        sys.path.insert(0, str(Path(rest[0]).parent))
        runpy.run_path(rest[0], run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
