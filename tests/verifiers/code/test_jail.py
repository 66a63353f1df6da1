"""The conformance suite that every level runs: one property that a hostile program would break, a test."""

# ruff: noqa: E501 - programs in one line each

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.outcomes import Limits, RunOutcome
from markscheme.verifiers.code.sandbox import Sandbox, SandboxError, capabilities


@pytest.fixture
def sandbox(any_sandbox: Sandbox) -> Sandbox:
    return any_sandbox


@pytest.fixture
def namespaces(any_namespaces: Sandbox) -> Sandbox:
    return any_namespaces


GOLDEN = Path(__file__).parent / "syscalls.json"
SECRET_PARTS = ("what the last", "job was given")


def test_the_level_is_proved_and_rides_on_every_result(sandbox: Sandbox, highest: int) -> None:
    found = capabilities()
    assert found.level == highest
    assert bool(found.why_not_higher) == (highest < 3)
    assert sandbox.run("print(1)").level == sandbox.level


@pytest.mark.parametrize(
    ("code", "limits", "outcome"),
    [
        ("while True: pass", Limits(cpu_seconds=0.3), RunOutcome.TIME),
        ("x = 9**(9**9)", Limits(cpu_seconds=0.3), RunOutcome.TIME),
        ("import threading\nfor _ in range(4): threading.Thread(target=lambda: sum(range(10**10))).start()",
         Limits(cpu_seconds=0.5), RunOutcome.TIME),
        ("import time; time.sleep(60)", Limits(idle_seconds=0.3), RunOutcome.IDLE),
        ("import os; r, w = os.pipe(); os.read(r, 1)", Limits(idle_seconds=0.3), RunOutcome.IDLE),
        ("import time\nwhile True: time.sleep(0.01)", Limits(wall_seconds=0.5, idle_seconds=9), RunOutcome.IDLE),
        ("x = bytearray(2 << 30)", Limits(), RunOutcome.MEMORY),
        ("x = []\nwhile True: x.append(bytearray(1 << 20))", Limits(), RunOutcome.MEMORY),
        ("while True: print('x' * 1000)", Limits(output_bytes=10**5), RunOutcome.OUTPUT),
        ("import os\nwhile True: os.write(2, b'x' * 10000)", Limits(output_bytes=10**5), RunOutcome.OUTPUT),
        ("import ctypes; ctypes.string_at(0)", Limits(), RunOutcome.RUNTIME_ERROR),
        ("import os; os.abort()", Limits(), RunOutcome.RUNTIME_ERROR),
        ("import os; os.write(2, b'the jail could not be closed'); os._exit(113)", Limits(), RunOutcome.RUNTIME_ERROR),
        ("import os; os._exit(0)", Limits(), RunOutcome.FINISHED),
    ],
)  # fmt: skip
def test_each_limit_has_its_outcome(sandbox: Sandbox, code: str, limits: Limits, outcome: RunOutcome) -> None:
    start = time.monotonic()
    ran = sandbox.run(code, limits=limits)
    assert ran.outcome is outcome, ran
    assert time.monotonic() - start < 5
    assert sandbox.run("print(1)").stdout == b"1\n"


def test_memory_is_of_all_processes(namespaces: Sandbox) -> None:
    code = "import os, time\nfor _ in range(6): os.fork()\nx = bytearray(b'x' * (100 << 20))\ntime.sleep(1)"
    ran = namespaces.run(code, limits=Limits(processes=70, memory_bytes=256 << 20))
    assert ran.outcome is RunOutcome.MEMORY


def test_time_is_of_all_processes(namespaces: Sandbox) -> None:
    code = (
        "import os\nwhile True:\n    if os.fork() == 0:\n        sum(range(10**6))\n        os._exit(0)\n    os.wait()"
    )
    ran = namespaces.run(code, limits=Limits(processes=4, cpu_seconds=0.5))
    assert ran.outcome is RunOutcome.TIME


def test_time_is_of_processes_whose_parents_have_ended_too(namespaces: Sandbox) -> None:
    code = """
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        while True: pass
    os._exit(0)
os.wait()
time.sleep(60)
"""
    ran = namespaces.run(code, limits=Limits(processes=4, cpu_seconds=0.5, idle_seconds=30))
    assert ran.outcome is RunOutcome.TIME


@pytest.mark.parametrize(("children", "outcome"), [(3, RunOutcome.FINISHED), (4, RunOutcome.RUNTIME_ERROR)])
def test_processes_at_once(namespaces: Sandbox, children: int, outcome: RunOutcome) -> None:
    code = f"""
import os, time
for _ in range(2):  # those that have ended are not counted
    for _ in range({children}):
        if os.fork() == 0:
            time.sleep(0.5)
            os._exit(0)
    time.sleep(1)
"""
    ran = namespaces.run(code, limits=Limits(processes=4, idle_seconds=30))
    assert ran.outcome is outcome
    assert ran.detail == ("" if outcome is RunOutcome.FINISHED else "more than 4 processes, or 132 threads")


def test_no_process_outlives_the_run(namespaces: Sandbox) -> None:
    name = f"stray {os.getpid()}"  # no other test's
    code = f"""
import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b"{name}")
        time.sleep(60)
    os._exit(0)
time.sleep(2)
"""
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(namespaces.run, code, limits=Limits(processes=4, idle_seconds=30))
        while not (seen := name in _names()) and not running.done():
            time.sleep(0.02)
        assert running.result().outcome is RunOutcome.FINISHED
    assert seen
    assert name not in _names()


def _names() -> set[str]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # it has ended
            found.add(path.read_text().strip())
    return found


@pytest.mark.parametrize("limits", [Limits(processes=2), Limits(files=1000)])
def test_what_needs_level_3_is_refused_below(highest: int, limits: Limits) -> None:
    with Sandbox(workers=1, level=2) as sandbox, pytest.raises(SandboxError, match="needs level 3"):
        sandbox.run("print(1)", limits=limits)


def test_a_job_finds_nothing_of_the_last_one_in_memory(sandbox: Sandbox) -> None:
    secret = " ".join(SECRET_PARTS)
    sandbox.run(f"x = {secret!r}", stdin=secret, argv=[secret])
    sandbox.call(f"def f(*a): return a, {secret!r}", "f", [secret])
    code = f"""
import ctypes, gc, os
first, second = {SECRET_PARTS!r}
libc = ctypes.CDLL(None)
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
reader, writer = os.pipe()
first, second, looked = first.encode(), second.encode(), 0
for place in sorted({{id(x) >> 20 for x in gc.get_objects()}}):
    for page in range(256):
        if libc.write(writer, (place << 20) + page * 4096, 4096) == 4096:
            data = os.read(reader, 4096)
            looked += 1
            at = data.find(first)
            while at >= 0:
                if data[at + len(first) + 1 :].startswith(second):
                    print("FOUND", data[max(0, at - 60) : at + 60])
                at = data.find(first, at + 1)
print(looked > 100)
"""
    ran = sandbox.run(code, limits=Limits(cpu_seconds=10))
    assert ran.stdout == b"True\n", ran.stderr


def test_classes_methods_and_keywords(sandbox: Sandbox) -> None:
    code = "class Solution:\n    def f(self, a, *, k=0):\n        a.append(k)\n        return {'k': k}"
    ran = sandbox.call(code, "Solution.f", [[1]], {"k": 2})
    assert codec.decode(ran.result) == [codec.Unordered("d", (("k", 2),)), [[1, 2]]]


def test_arguments_keep_the_order_of_dictionaries(sandbox: Sandbox) -> None:
    ran = sandbox.call("def f(d): return list(d)", "f", [{"b": 1, "a": 2}])
    assert codec.decode(ran.result)[0] == ["b", "a"]


def test_a_called_program_is_imported_not_run(sandbox: Sandbox) -> None:
    ran = sandbox.call("def f(): return __name__\nif __name__ == '__main__':\n    input()", "f")
    assert codec.decode(ran.result)[0] == "solution"


def test_a_function_that_is_not_there_is_an_error_of_the_program(sandbox: Sandbox) -> None:
    ran = sandbox.call("x = 1", "f")
    assert (ran.outcome, ran.detail) == (RunOutcome.RUNTIME_ERROR, "NameError: the program defines no f")


def test_a_result_over_the_limit_is_not_read_and_is_no_encoding(sandbox: Sandbox) -> None:
    ran = sandbox.call("def f(): return [0] * 10**7", "f", result_bytes=1000)
    assert (ran.outcome, ran.detail, ran.result) == (RunOutcome.FINISHED, "returned more than 1000 bytes", b"?")
    with pytest.raises(codec.Damaged):
        codec.decode(ran.result)


HOSTILE_RESULTS = {
    "many lists": "[[] for _ in range(16 * 2**20 // 5)]",
    "colliding set": "{n * (2**61 - 1) for n in range(2000)}",
    "colliding dict": "{n * (2**61 - 1): 0 for n in range(2000)}",
    "deep": "__import__('functools').reduce(lambda x, _: [x], range(10**6), [])",
    "nan keys": "{float('nan'): n for n in range(5000)}",
    "surrogates": "'\\ud800' * 5000",
    "by hand": "__import__('os').write(3, b'S' + (40000).to_bytes(4, 'big') + b'N' * 40000) and __import__('os')._exit(0)",
}


@pytest.mark.parametrize("name", HOSTILE_RESULTS)
def test_hostile_results_cost_the_supervisor_little(sandbox: Sandbox, name: str) -> None:
    script = f"""
import json, resource, sys, time
from markscheme.verifiers.code import codec
from markscheme.verifiers.code.outcomes import Limits
from markscheme.verifiers.code.sandbox import Sandbox
with Sandbox(workers=1, level={sandbox.level}, backend={sandbox.backend!r}) as sandbox:
    sandbox.call("def f(): return 1", "f")
    limits = Limits(cpu_seconds=20, memory_bytes=4 << 30, output_bytes=32 << 20)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    ran = sandbox.call("def f(): return " + {HOSTILE_RESULTS[name]!r}, "f", limits=limits)
    try:
        codec.decode(ran.result)
    except codec.Damaged:
        pass
    cpu = time.process_time() - start
    print(json.dumps([ran.outcome, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    outcome, cpu, kilobytes = json.loads(done.stdout)
    assert outcome != "broken"
    assert cpu < 0.05
    assert kilobytes < 64 * 1024


def test_only_the_golden_calls_pass_the_filter(sandbox: Sandbox) -> None:
    """Every number is tried with arguments that no call likes; EPERM and ENOSYS are the filter's or the kernel's no.

    Numbers 335 and 336 belong to the kernel's own probes, which newer kernels let through any filter.
    """
    code = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
bad = ctypes.c_long(-1)
passed = []
for number in json.loads(input()):
    ctypes.set_errno(0)
    result = libc.syscall(number, bad, bad, bad, bad, bad, bad)
    if result != -1 or ctypes.get_errno() not in (1, 38):
        passed.append(number)
print("passed", json.dumps(passed), flush=True)
__import__("os")._exit(0)
"""
    passed, waiting = [], [list(range(n, min(n + 64, 512))) for n in range(0, 512, 64)]
    quick = Limits(idle_seconds=0.5, cpu_seconds=2)
    while waiting:
        numbers = waiting.pop()
        ran = sandbox.run(code, json.dumps(numbers), limits=quick)
        if ran.stdout.startswith(b"passed"):
            passed += json.loads(ran.stdout.split(b" ", 1)[1])
        elif len(numbers) == 1:  # it ended the job, or held it: it passed
            passed += numbers
        else:
            half = len(numbers) // 2
            waiting += [numbers[:half], numbers[half:]]
    assert sorted(set(passed) - {335, 336}) == json.loads(GOLDEN.read_text())[f"level {sandbox.level}"]
