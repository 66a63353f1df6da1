"""Grading hostile programs: canaries on the host, a container-like filter, and a judge of `add`.

Run as a program, it judges folders of programs and prints one JSON line a program: see ``Report``.
"""

# ruff: noqa: E501 - programs in one line each

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
from markscheme.verifiers.code.sandbox import Sandbox

LAB = Path("/tmp/attack-lab")  # the place that shared programs name
SECRETS = (b"EVIDENCE", b"CANARY_FILE", b"CANARY_ENV_991", b"CANARY_ARGV", b"CANARY_SOCK")
MARKERS = [Path(folder) for folder in ("/tmp", "/var/tmp", "/dev/shm")]
QUICK = Limits(cpu_seconds=0.6, idle_seconds=0.6, wall_seconds=20)
MANY = QUICK.model_copy(update={"processes": 8, "files": 1 << 20})
CALLS = (([1, 2], 3), ([1000, 13], 1013), ([5, 5], 10))
LINES = ((b"1 2\n", b"3"), (b"1000 13\n", b"1013"))
GOOD = [
    f"{head}\n\ndef add(a, b):\n{body}\n\nif __name__ == '__main__':\n    {main}\n"
    for head, body in (
        ("import math", "    return math.floor(a + b)"),
        ("from functools import lru_cache", "    return lru_cache(lambda x, y: x + y)(a, b)"),
        ("import numpy as np", "    return int(np.array([a, b]).sum())"),
        ("import threading", "    out = []\n    t = threading.Thread(target=lambda: out.append(a + b))\n"
         "    t.start()\n    t.join()\n    return out[0]"),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int",
         "    p = P(a, b)\n    return p.x + p.y"),
        ("import sys\nsys.setrecursionlimit(10**6)", "    return b if a == 0 else add(a - 1, b + 1)"),
        ("from decimal import Decimal", "    return int(Decimal(a) + Decimal(b))"),
        ("from fractions import Fraction", "    return int(Fraction(a) + Fraction(b))"),
        ("import itertools", "    return sum(1 for _ in itertools.chain(range(a), range(b)))"),
        ("import asyncio", "    async def f():\n        return a + b\n    return asyncio.run(f())"),
    )
    for main in ("print(add(*map(int, input().split())))",
                 "import sys; print(add(*(int(w) for w in sys.stdin.buffer.read().split())), flush=True)  # noqa: T201 - its interface")
]  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What came of one program.

    Attributes:
        name: of the program.
        mode: call or stdin.
        passed: graded as right.
        outcomes: of its runs, up to the first that failed.
        faults: what it did that it must not; empty when it was held.
        seconds: wall time.
    """

    name: str
    mode: str
    passed: bool
    outcomes: list[str]
    faults: list[str]
    seconds: float


def container_filter() -> None:
    """Refuse this process, for good, what a container's default filter refuses: namespaces and mounts."""
    load, equal, any_bit, stop = 0x20, 0x15, 0x45, 0x06
    allow, refuse, absent = 0x7FFF0000, 0x00050001, 0x00050026
    lines = [(load, 0, 0, 0)]
    for number in (155, 165, 166, 272, 308, 428, 429, 430, 432, 442):
        lines += [(equal, number, 0, 1), (stop, refuse, 0, 0)]
    lines += [(equal, 435, 0, 1), (stop, absent, 0, 0)]
    lines += [(equal, 56, 0, 3), (load, 16, 0, 0), (any_bit, 0x7E020000, 0, 1), (stop, refuse, 0, 0)]
    lines.append((stop, allow, 0, 0))
    program = b"".join(struct.pack("HBBI", code, true, false, k) for code, k, true, false in lines)
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(head, len(head))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(holder)), 0, 0) == 0


@contextlib.contextmanager
def canaries() -> Iterator[None]:
    """Secrets, a victim file, a variable and sockets for hostile programs to reach for."""
    shutil.rmtree(LAB, ignore_errors=True)
    for folder in (LAB, LAB / "evidence", LAB / "canary"):
        folder.mkdir(mode=0o777, parents=True)
        folder.chmod(0o777)
    (LAB / "canary" / "secret.txt").write_text("CANARY_FILE")
    victim = LAB / "canary" / "victim.txt"
    victim.write_text("as it was")
    victim.chmod(0o644)
    os.environ["SECRET_OF_THE_TRAINER"] = "CANARY_ENV_991"
    stop = threading.Event()
    server = threading.Thread(target=_serve, args=(stop,), daemon=True)
    server.start()
    try:
        yield
    finally:
        stop.set()
        server.join()
        del os.environ["SECRET_OF_THE_TRAINER"]
        shutil.rmtree(LAB, ignore_errors=True)


def _serve(stop: threading.Event) -> None:
    with contextlib.ExitStack() as stack:
        listening = []
        for family, address in (
            (socket.AF_INET, ("127.0.0.1", 47999)),
            (socket.AF_UNIX, "\0lab_canary"),
            (socket.AF_UNIX, str(LAB / "canary" / "sock")),
        ):
            one = stack.enter_context(socket.socket(family))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):  # another run on this host has the name: it answers as well
                one.bind(address)
                one.listen()
                one.settimeout(0.05)
                listening.append(one)
        letters = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        letters.bind(str(LAB / "canary" / "letters"))
        letters.settimeout(0)
        for name in ("sock", "letters"):
            (LAB / "canary" / name).chmod(0o666)
        while not stop.is_set():
            for one in listening:
                with contextlib.suppress(OSError), one.accept()[0] as peer:
                    peer.send(b"CANARY_SOCK")
            with contextlib.suppress(OSError):
                letters.recv(100)
                (LAB / "evidence" / "letter").touch()


def passes_calls(sandbox: Sandbox, code: str, limits: Limits | None = None) -> tuple[bool, list[Execution]]:
    """Grade ``add``: decoded results, compared out here."""
    ran = []
    for arguments, expected in CALLS:
        ran.append(sandbox.call(code, "add", arguments, limits=limits))
        try:
            result = codec.decode(ran[-1].result)
        except codec.Damaged:
            return False, ran
        right = type(result) is list and len(result) == 2 and type(result[0]) is int and result[0] == expected
        if not right or ran[-1].outcome is not RunOutcome.FINISHED:
            return False, ran
    return True, ran


def passes_lines(sandbox: Sandbox, code: str, limits: Limits | None = None) -> tuple[bool, list[Execution]]:
    """Grade standard output."""
    ran = []
    for given, expected in LINES:
        ran.append(sandbox.run(code, given, limits=limits))
        if ran[-1].outcome is not RunOutcome.FINISHED or ran[-1].stdout.split() != expected.split():
            return False, ran
    return True, ran


def _victim() -> tuple[bytes, int, int]:
    path = LAB / "canary" / "victim.txt"
    state = path.stat()
    return path.read_bytes(), state.st_mode, state.st_mtime_ns


def judge(sandbox: Sandbox, name: str, code: str, mode: str, limits: Limits = QUICK) -> Report:
    """Grade one program in one mode and look for what it broke."""
    start = time.monotonic()
    before = _victim()
    passed, ran = (passes_calls if mode == "call" else passes_lines)(sandbox, code, limits)
    seconds = time.monotonic() - start
    text = b"".join(one.stdout + one.stderr + one.result for one in ran)
    faults = [secret.decode() for secret in SECRETS if secret in text]
    faults += [f"left {path}" for folder in MARKERS for path in folder.glob("lab_*")]
    faults += [f"evidence {path.name}" for path in (LAB / "evidence").iterdir()]
    if _victim() != before:
        faults.append("changed the victim file")
    if any(one.outcome is RunOutcome.BROKEN for one in ran):
        faults.append(f"broken: {ran[-1].detail}")
    if seconds > 30:
        faults.append(f"held the judge for {seconds:.0f} s")
    return Report(name, mode, passed, [str(one.outcome) for one in ran], faults, seconds)


def children_left() -> list[int]:
    """Processes below this one, zygotes included."""
    found, waiting = [], [os.getpid()]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += [int(word) for word in (task / "children").read_text().split()]
        found.append(one)
    return found[1:]


def main(level: int, place: str, *folders: str) -> None:
    """Judge every program of the folders, a good one between each two.

    Args:
        level: of the sandbox.
        place: "host"; "container", which refuses namespaces; "many", with processes and files allowed; "bubblewrap" and
            "bubblewrap many", with that back end.
        folders: with programs.
    """
    backend = "bubblewrap" if place.startswith("bubblewrap") else "zygote"
    limits = MANY if place.endswith("many") else QUICK
    programs = [(path.stem, path.read_text()) for folder in folders for path in sorted(Path(folder).glob("*.py"))]
    mixed = []
    for n, program in enumerate(programs):
        mixed += [program, (f"good {n % len(GOOD)}", GOOD[n % len(GOOD)])]
    with canaries():
        if place == "container":
            container_filter()
        with Sandbox(workers=4, level=level, backend=backend) as sandbox, ThreadPoolExecutor(4) as pool:  # type: ignore[arg-type]
            jobs = [
                pool.submit(judge, sandbox, *program, mode, limits) for program in mixed for mode in ("call", "stdin")
            ]
            for job in jobs:
                print(json.dumps(asdict(job.result())), flush=True)  # noqa: T201 - its interface
    print(json.dumps({"left": children_left()}))  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
