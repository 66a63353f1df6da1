"""Small attacks and good programs that show whether the sandbox holds on this host.

A program that got where it must not prints ESCAPED; one that must run prints what is expected. What is left
behind on the host is looked for from outside. This checks an installation: the project's tests try far more.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.sandbox.pool import Sandbox

SECRET = "markscheme-self-test-secret"  # noqa: S105 - what attacks look for
_LIMITS = Limits(cpu_seconds=1, wall_seconds=30, idle_seconds=1, memory_bytes=256 * 2**20, output_bytes=2**20)
_NOT_BROKEN = frozenset(RunOutcome) - {RunOutcome.BROKEN}


@dataclass(frozen=True, slots=True)
class Checked:
    """How one program of the self-test went."""

    level: int
    kind: Literal["good", "attack"]
    name: str
    held: bool
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class _Program:
    name: str
    code: str
    expected: str | None = None
    """What a good program prints; None for an attack, which must not print ESCAPED."""
    outcomes: frozenset[RunOutcome] = _NOT_BROKEN


@dataclass(frozen=True, slots=True)
class _Bait:
    """What attacks reach for on the host."""

    secret: Path
    open_folder: Path
    port: int


def _tries(name: str, attempt: str, *outcomes: RunOutcome) -> _Program:
    """An attack: ``attempt`` runs to its end only where the sandbox lets it."""
    body = "".join(f"    {line}\n" for line in attempt.splitlines())
    code = (
        f"try:\n{body}    print('ESCAPED')\nexcept (OSError, RuntimeError, ImportError) as error:\n    print(error)\n"
    )
    return _Program(name, code, outcomes=frozenset(outcomes) or _NOT_BROKEN)


def programs(bait: _Bait) -> list[_Program]:
    """The programs, good ones between the attacks."""
    secret, folder, address = str(bait.secret), str(bait.open_folder), ("127.0.0.1", bait.port)
    time, memory = RunOutcome.TIME, (RunOutcome.MEMORY, RunOutcome.RUNTIME_ERROR)
    return [
        _Program("print, input, arithmetic", "print(sum(map(int, input().split())))", "5\n"),
        _tries("read a file of this user", f"assert open({secret!r}).read() == {SECRET!r}"),
        _tries("read /etc/passwd", "open('/etc/passwd').read()"),
        _tries("write a file on the host", f"open({folder + '/written'!r}, 'w').write('x')"),
        _tries("change a file's mode", f"import os\nos.chmod({secret!r}, 0o777)"),
        _Program("json, dataclasses, recursion", _GOOD, '{"x": 1, "fib": 610}\n'),
        _tries("connect to a port of this host", f"import socket\nsocket.create_connection({address!r}, 1)"),
        _tries("start a process", "import subprocess\nsubprocess.run(['/bin/true'], check=True)"),
        _Program("read the environment", _ENVIRONMENT),
        _Program("read other processes' environment", _PROC),
        _Program("signal every process", "import os\nos.kill(-1, 9)\n"),
        _Program("signal its parent", "import os\nos.kill(os.getppid() or 1, 9)\n"),
        _tries("leave a process behind", "import os, time\nif os.fork() == 0:\n    time.sleep(600)"),
        _Program("compute for ever", "while True: pass", outcomes=frozenset({time})),
        _Program("sleep for ever", "import time\ntime.sleep(600)", outcomes=frozenset({RunOutcome.IDLE})),
        _Program("take all memory", "x = []\nwhile True: x.append(bytearray(1 << 24))", outcomes=frozenset(memory)),
        _Program("write without end", "while True: print('x' * 65536)", outcomes=frozenset({RunOutcome.OUTPUT})),
        _Program("exit before its end", "import os\nos._exit(3)", outcomes=frozenset({RunOutcome.RUNTIME_ERROR})),
        _Program("a megabyte less one of output", "print('x' * (2**20 - 2))", "x" * (2**20 - 2) + "\n"),
    ]  # fmt: skip


_GOOD = """
import json, dataclasses, functools
@dataclasses.dataclass
class Point:
    x: int
@functools.cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(json.dumps({**dataclasses.asdict(Point(1)), "fib": fib(15)}))
"""
_ENVIRONMENT = f"""
import os
if {SECRET!r} in str(dict(os.environ)): print("ESCAPED")
"""
_PROC = f"""
import glob
for name in glob.glob("/proc/[0-9]*/environ"):
    try:
        if {SECRET!r} in open(name, errors="replace").read(): print("ESCAPED")
    except OSError:
        pass
"""


def self_test(level: Literal[2, 3]) -> list[Checked]:
    """Run every program at one level. Raises SandboxError where the host does not give it.

    Never at level 1: there the attacks do what they try.
    """
    os.environ["MARKSCHEME_SELF_TEST"] = SECRET
    try:
        with _bait() as bait, Sandbox(workers=1, level=level, limits=_LIMITS) as sandbox:
            checked = [_checked(sandbox, program) for program in programs(bait)]
            return [*checked, *_left_behind(level, bait)]
    finally:
        del os.environ["MARKSCHEME_SELF_TEST"]


@contextlib.contextmanager
def _bait() -> Iterator[_Bait]:
    with (
        tempfile.TemporaryDirectory(prefix="markscheme-check-") as made,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        folder = Path(made)
        (folder / "secret").write_text(SECRET, encoding="utf-8")
        (folder / "secret").chmod(0o644)
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)  # only the sandbox stands before it
        folder.chmod(0o755)
        yield _Bait(folder / "secret", folder / "open", server.getsockname()[1])


def _checked(sandbox: Sandbox, program: _Program) -> Checked:
    run = sandbox.run(program.code, "2 3\n")
    good = program.expected is not None
    if good:
        held = run.outcome is RunOutcome.FINISHED and run.stdout.decode("utf-8", "replace") == program.expected
    else:
        held = run.outcome in program.outcomes and b"ESCAPED" not in run.stdout
    return Checked(sandbox.level, "good" if good else "attack", program.name, held, run.outcome.value, _said(run))


def _said(run: Execution) -> str:
    last = run.stdout[-200:].decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
    return run.detail or (last if run.outcome is RunOutcome.FINISHED else "") or (
        f"ended by {signal.Signals(run.signal).name}" if run.signal else ""
    )  # fmt: skip


def _left_behind(level: int, bait: _Bait) -> list[Checked]:
    """What the attacks changed on the host."""
    kept = bait.secret.stat().st_mode & 0o777 == 0o644 and bait.secret.read_text(encoding="utf-8") == SECRET
    written = [one.name for one in bait.open_folder.iterdir()]
    held = kept and not written
    detail = "" if held else f"left on the host: {', '.join(written) or 'a changed file'}"
    return [Checked(level, "attack", "leave files on the host", held, "finished", detail)]
