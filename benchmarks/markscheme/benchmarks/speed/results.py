"""What hostile results cost the judge's own process: CPU milliseconds and memory, a row a result.

Run ``python -m markscheme.benchmarks.speed.results [--size SHARE] [--json OUT]``. A program gives a result that is made
to be dear to read: returned by a function, written into the results' descriptor as a value, or written there in place
of the frame around values. Each is judged by call cases, which are compared here, and by tests that run in a jail of
their own. CPU time and the peak of resident memory are of this process alone; the jail's own are bounded by its limits.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from markscheme.verifiers import Outcome
from markscheme.verifiers.code.cases import CallCase
from markscheme.verifiers.code.outcomes import Limits
from markscheme.verifiers.code.sandbox.supervisor import SandboxError
from markscheme.verifiers.code.verifier import CodeVerifier

MOST_CPU_MS, MOST_MIB = 50.0, 64.0
_LIMITS = Limits(
    cpu_seconds=60, wall_seconds=300, idle_seconds=30, memory_bytes=6 << 30, output_bytes=32 << 20
)  # generous, so that the result arrives
# name: (what a function returns, the bytes of its encoding); `size` is the share of the full size.
RESULTS = {
    "16 MB of []": ("[[] for _ in range(int(3355443 * size))]", "many(b'l', 3355443, b'l' + bytes(4))"),
    "set of multiples of 2^61 - 1": (
        "{n * (2**61 - 1) for n in range(int(40000 * size))}",
        "many(b'S', 40000, *(number(n * (2**61 - 1)) for n in range(int(40000 * size))))",
    ),
    "dict of multiples of 2^61 - 1": (
        "{n * (2**61 - 1): 0 for n in range(int(40000 * size))}",
        "many(b'd', 40000, *(number(n * (2**61 - 1)) + b'N' for n in range(int(40000 * size))))",
    ),
    "a million nested lists": (
        "functools.reduce(lambda inner, _: [inner], range(int(10**6 * size)), [])",
        "b'l\\0\\0\\0\\1' * int(10**6 * size) + b'N'",
    ),
    "NaN keys": (
        "{float('nan'): n for n in range(int(10**6 * size))}",
        "many(b'd', 10**6, b'f\\x7f\\xf8' + bytes(6) + b'N')",
    ),
    "16 MB of lone surrogates": (
        "'\\ud800' * int(5592405 * size)",
        "b's' + (3 * int(5592405 * size)).to_bytes(4, 'big') + b'\\xed\\xa0\\x80' * int(5592405 * size)",
    ),
    "16 MB of None": ("[None] * int(16777216 * size)", "many(b'l', 16777216, b'N')"),
    "an integer of 16 MB": ("1 << int(134217728 * size)", "number(1 << int(134217728 * size))"),
}  # fmt: skip
WAYS = ("returned", "written", "frame")
_PROGRAM = """
import functools, os, struct
size = {size!r}
def many(tag, count, *items):
    count = int(count * size)
    return tag + struct.pack('>I', count) + (items[0] * count if len(items) == 1 else b''.join(items))
def number(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, 'big', signed=True)
    return b'i' + struct.pack('>I', len(data)) + data
def send(data):
    while data:
        data = data[os.write(3, data):]
    os._exit(0)
def f(n):
    {body}
"""
_BODIES = {
    "returned": "return {value}",
    "written": """data = {encoding}
    one = b'l' + struct.pack('>I', 2) + b's' + struct.pack('>I', 5) + b'valueb' + struct.pack('>I', len(data)) + data
    send(b'l' + struct.pack('>I', 2) + b'l' + struct.pack('>I', 2) + one + one + b'l' + bytes(4))""",
    "frame": "send(b'l' + struct.pack('>I', 2) + {encoding} + b'l' + bytes(4))",
}


class Cost(NamedTuple):
    """What one result cost this process, and what the verdict was."""

    level: int
    name: str
    way: str
    judged: str
    cpu_ms: float
    mib: float
    outcome: str


def program(name: str, way: str, size: float = 1.0) -> str:
    """The program that gives a result."""
    value, encoding = RESULTS[name]
    return _PROGRAM.format(size=size, body=_BODIES[way].format(value=value, encoding=encoding))


def measure(judge: CodeVerifier, name: str, way: str, judged: Literal["calls", "tests"], size: float = 1.0) -> Cost:
    """Judge a program that gives a hostile result, and measure this process meanwhile."""
    code = program(name, way, size)
    given: Any = {"tests": "for n in range(2):\n    assert f(n) == n\n"}
    if judged == "calls":
        given = [CallCase(function="f", arguments=(n,), expected=n) for n in (0, 1)]
    gc.collect()
    gc.freeze()  # a collection that falls into the measurement looks through what the result made, not what was there
    try:
        before, start = _resident(reset=True), time.process_time()
        verdict = judge.verify_program(code, given)
        cpu = time.process_time() - start
        grown = _resident() - before
    finally:
        gc.unfreeze()
    return Cost(verdict.level, name, way, judged, round(1000 * cpu, 2), round(grown / 2**20, 2), str(verdict.outcome))


def _resident(*, reset: bool = False) -> int:
    """The peak of this process's resident memory in bytes; first set down to what it is now, where asked to."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status tells no peak of memory")


def judge_at(level: Literal[2, 3]) -> CodeVerifier:
    """A judge at a level, its zygote started and what it loads at first loaded. Raises SandboxError."""
    judge = CodeVerifier(level=level, workers=1, limits=_LIMITS, budget_seconds=None)
    for given in ({"tests": "for n in range(2):\n    assert f(n) == n\n"}, [CallCase(function="f", expected=0)]):
        verdict = judge.verify_program("def f(n=0): return n", given)
        if verdict.outcome is not Outcome.CORRECT:
            judge.close()
            raise SandboxError(f"level {level}: {verdict.detail}")
    return judge


def run(size: float) -> list[Cost]:
    """Measure every result at each level that this host gives."""
    found = []
    for level in (3, 2):
        try:
            judge = judge_at(level)
        except (SandboxError, OSError) as error:
            print(f"level {level} is missing: {error}", file=sys.stderr)
            continue
        with judge:
            for name in RESULTS:
                for way in WAYS:
                    found += [measure(judge, name, way, judged, size) for judged in ("calls", "tests")]
    return found


def print_table(costs: Sequence[Cost], console: Console | None = None) -> None:
    """Print one row a result, what is over the bounds marked."""
    console = console or Console()
    title = f"Hostile results: this process's CPU (at most {MOST_CPU_MS:g} ms) and memory (at most {MOST_MIB:g} MiB)"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("level", "result", "way", "judged by", "CPU ms", "MiB", "verdict", ""):
        table.add_column(column, justify="right" if column in ("CPU ms", "MiB") else "left")
    for one in costs:
        mark = "OVER" if over(one) else ""
        cells = [
            str(one.level),
            one.name,
            one.way,
            one.judged,
            f"{one.cpu_ms:.1f}",
            f"{one.mib:.1f}",
            one.outcome,
            mark,
        ]
        table.add_row(*map(Text, cells))
    console.print(table)
    console.print(f"{sum(map(over, costs))} of {len(costs)} over the bounds")


def over(one: Cost) -> bool:
    """Whether it cost too much, or was taken for right."""
    return one.cpu_ms >= MOST_CPU_MS or one.mib >= MOST_MIB or one.outcome != Outcome.INCORRECT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0; 1 where a bound is passed; 2 where nothing can be measured."""
    parser = argparse.ArgumentParser(prog="python -m markscheme.benchmarks.speed.results", description=__doc__)
    parser.add_argument("--size", type=float, default=1.0, metavar="SHARE", help="of the full sizes (default 1)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    chosen = parser.parse_args(arguments)
    if not 0 < chosen.size <= 1:
        parser.error(f"--size must be above 0 and at most 1, not {chosen.size:g}")
    costs = run(chosen.size)
    if not costs:
        return 2
    if chosen.json is not None:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps([one._asdict() for one in costs], indent=2) + "\n", encoding="utf-8")
    print_table(costs)
    return 1 if any(map(over, costs)) else 0


if __name__ == "__main__":
    sys.exit(main())
