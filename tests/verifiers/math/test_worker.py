"""The algebra worker: from everywhere, in time, and leaving nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import markscheme.verifiers
from markscheme.verifiers import MathVerifier, Outcome, Reason
from markscheme.verifiers.math import cas

EASY = (r"\frac{d}{dx} x^3", "3x^2")  # for the worker, and soon decided
ENDLESS = (r"\sum_{n=1}^{900000} \sin(n^2)\tan(n)", "5")
SLOW = 30.0  # a deadline that no test waits for


@pytest.fixture
def fresh_pool() -> Iterator[None]:
    cas.pool().close()
    yield
    cas.pool().close()


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def children() -> set[int]:
    """All child processes of this one, zombies too."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in (task / "children").read_text(encoding="utf-8").split()}
    return found


def wait_until(condition: object, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


def busy_pid() -> int:
    assert wait_until(lambda: any(worker.ready for worker in cas.pool().busy))
    (worker,) = cas.pool().busy
    return worker.process.pid


def run_script(body: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a script without a ``__main__`` guard in a fresh interpreter."""
    script = "from markscheme.verifiers import MathVerifier\n" + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60, check=False, **options
    )  # type: ignore[call-overload,no-any-return]


ORDINARY = [
    (r"\lim_{x\to0}\frac{\sin x}{x}", "1", "2"),
    (r"\lim_{n\to\infty}(1+\frac1n)^n", "e", "1"),
    (r"\lim_{x\to\infty} x", r"\infty", "0"),
    (r"\int_0^\infty e^{-x^2}dx", r"\frac{\sqrt{\pi}}{2}", r"\frac{\pi}{2}"),
    (r"\int_1^\infty \frac{1}{x^2} dx", "1", "2"),
    (r"\int_0^1 \frac{1}{\sqrt x} dx", "2", "1"),
    (r"\int_0^1 x^x dx", r"-\sum_{n=1}^\infty (-n)^{-n}", "0.78"),
    (r"\int_0^x t dt", r"\frac{x^2}{2}", "x^2"),
    (r"\int_0^1 x \int_0^1 x dx dx", r"\frac14", r"\frac16"),
    (r"\sum_{n=1}^\infty \frac1{n^2}", r"\frac{\pi^2}{6}", r"\frac{\pi^2}{7}"),
    (r"\sum_{n=0}^\infty \frac{x^n}{n!}", "e^x", "e^{2x}"),
    (r"\sum_{n=1}^{\infty} \frac{(-1)^{n+1}}{n}", r"\ln 2", r"\ln 3"),
    (r"\sum_{n=1}^{1000000} n", "500000500000", "500000500001"),
    (r"\prod_{n=2}^\infty (1-\frac{1}{n^2})", r"\frac12", r"\frac13"),
    (r"\frac{d}{dx} x^3", "3x^2", "2x^2"),
    (r"\frac{d^2}{dx^2} x^3", "6x", "3x"),
    (r"\frac{\partial}{\partial x} x^2y", "2xy", "x^2"),
    (r"\int 2x\,dx", "x^2+C", "x^3+C"),
    (r"\int \cos x dx", r"\sin x + K", r"\cos x + K"),
]


@pytest.mark.parametrize(("question", "value", "wrong"), ORDINARY, ids=[row[0] for row in ORDINARY])
def test_ordinary_calculus_is_decided_both_ways_round(question: str, value: str, wrong: str) -> None:
    verifier = MathVerifier()
    assert verifier.verify_answer(value, question).outcome == Outcome.CORRECT
    assert verifier.verify_answer(question, value).outcome == Outcome.CORRECT
    assert verifier.verify_answer(wrong, question).outcome == Outcome.INCORRECT
    assert verifier.verify_answer(question, wrong).outcome == Outcome.INCORRECT


UNTOLD = [
    (r"\sum_{n=0}^\infty (-1)^n", r"\frac12"),
    (r"\int_0^1 10^{30} dx", "10^{30}+1"),
    (r"\int_0^1 10^{-30} dx", r"2\cdot 10^{-30}"),
    (r"\int_0^1 (10^{60}+x-10^{60}) dx", "0"),
]


@pytest.mark.parametrize(("question", "value"), UNTOLD, ids=[row[0] for row in UNTOLD])
def test_numerical_agreement_that_tells_nothing_is_not_equality(question: str, value: str) -> None:
    assert MathVerifier().verify_answer(value, question).outcome != Outcome.CORRECT


def test_verdicts_are_deterministic() -> None:
    verifier = MathVerifier()
    verdicts = {verifier.verify_answer(*EASY).model_copy(update={"seconds": 0.0}) for _ in range(5)}
    assert len(verdicts) == 1


@pytest.mark.usefixtures("fresh_pool")
def test_the_deadline_ends_the_worker() -> None:
    verifier = MathVerifier(deadline=0.2)
    verifier.verify_answer(*EASY)
    (warm,) = cas.pool().idle
    begun = time.perf_counter()
    verdict = verifier.verify_answer(*ENDLESS)
    assert time.perf_counter() - begun < 3
    assert (verdict.outcome, verdict.reason, verdict.score) == (Outcome.UNDECIDED, Reason.TIMEOUT, None)
    assert warm.process.pid not in children()


@pytest.mark.usefixtures("fresh_pool")
def test_from_many_threads_at_once() -> None:
    verifier = MathVerifier()
    with ThreadPoolExecutor(8) as threads:
        verdicts = list(threads.map(lambda _: verifier.verify_answer(*EASY).outcome, range(24)))
    assert verdicts == [Outcome.CORRECT] * 24
    assert len(cas.pool().idle) <= cas.MAX_IDLE
    assert not cas.pool().busy


def test_from_asyncio() -> None:
    async def several() -> list[Outcome]:
        verifier = MathVerifier()
        found = await asyncio.gather(*(verifier.averify(f"\\boxed{{{EASY[0]}}}", EASY[1]) for _ in range(4)))
        return [verdict.outcome for verdict in found]

    assert asyncio.run(several()) == [Outcome.CORRECT] * 4


@pytest.mark.usefixtures("fresh_pool")
def test_in_a_forked_child_that_leaves_the_parents_worker_alone() -> None:
    verifier = MathVerifier()
    assert verifier.verify_answer(*EASY).outcome == Outcome.CORRECT
    (mine,) = cas.pool().idle
    child = os.fork()
    if not child:
        status = 1
        with contextlib.suppress(BaseException):  # nothing may get out of a forked copy of the test run
            status = 0 if verifier.verify_answer(*EASY).outcome == Outcome.CORRECT else 2
            cas.pool().close()
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert alive(mine.process.pid)
    assert verifier.verify_answer(*EASY).outcome == Outcome.CORRECT


def test_in_a_daemonic_worker() -> None:
    script = f"""
        import multiprocessing, sys
        def judge(results):
            results.put(str(MathVerifier().verify_answer({EASY[0]!r}, {EASY[1]!r}).outcome))
        context = multiprocessing.get_context("fork")
        results = context.Queue()
        process = context.Process(target=judge, args=(results,), daemon=True)
        process.start()
        print(results.get(timeout=40))
        process.join()
    """
    done = run_script(script)
    assert done.stdout.strip() == "correct", done.stderr


HOSTS = {
    "no guard": "",
    "SIGCHLD ignored": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "streams closed": "import os; out = os.dup(1); [os.close(fd) for fd in (0, 1, 2)]",
    "working directory deleted": "import os, shutil; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])",
    "working directory left": "import os; os.chdir('/')",
    "little recursion": "sys.setrecursionlimit(400)",
    "few digits": "sys.set_int_max_str_digits(640)",
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
def test_under_an_odd_host(host: str, tmp_path: Path) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    script = f"""
        import os, sys
        out = 1
        {host}
        outcome = MathVerifier().verify_answer({EASY[0]!r}, {EASY[1]!r}).outcome
        os.write(out, str(outcome).encode())
    """
    done = run_script(script, str(place))
    assert done.stdout == "correct", done.stderr
    assert not done.stderr


def test_with_nothing_but_a_python_path(tmp_path: Path) -> None:
    """Found by PYTHONPATH alone, relative to the directory where the host began, and not installed."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "markscheme").symlink_to(Path(markscheme.verifiers.__file__).parents[1])
    paths = [path for path in sys.path if path.endswith("site-packages")]
    script = f"""
        import os, sys
        verifier = MathVerifier()
        os.chdir("/")
        print(verifier.verify_answer({EASY[0]!r}, {EASY[1]!r}).outcome)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["lib", *paths])}
    done = run_script(script, cwd=tmp_path, env=environment)
    assert done.stdout.strip() == "correct", done.stderr


def test_the_hosts_alarm_fires_at_its_time() -> None:
    fired: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: fired.append(time.monotonic()))
    try:
        begun = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        verdict = MathVerifier(deadline=0.6).verify_answer(*ENDLESS)
        assert verdict.reason == Reason.TIMEOUT
        assert len(fired) == 1
        assert 0.3 <= fired[0] - begun < 0.6
        assert signal.getsignal(signal.SIGALRM) is not before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("fresh_pool")
def test_a_worker_killed_in_mid_question_is_replaced_once_then_it_is_broken() -> None:
    verifier = MathVerifier(deadline=SLOW)
    verdicts: list[object] = []
    thread = threading.Thread(target=lambda: verdicts.append(verifier.verify_answer(*ENDLESS)))
    thread.start()
    first = busy_pid()
    os.kill(first, signal.SIGKILL)
    assert wait_until(lambda: any(w.ready and w.process.pid != first for w in cas.pool().busy))
    os.kill(busy_pid(), signal.SIGKILL)
    thread.join(20)
    (verdict,) = verdicts
    assert (verdict.outcome, verdict.reason, verdict.score) == (Outcome.BROKEN, Reason.WORKER_FAILED, None)  # type: ignore[attr-defined]
    assert "died" in verdict.detail  # type: ignore[attr-defined]
    assert MathVerifier().verify_answer(*EASY).outcome == Outcome.CORRECT


@pytest.mark.usefixtures("fresh_pool")
def test_an_idle_worker_that_was_killed_is_replaced() -> None:
    verifier = MathVerifier()
    verifier.verify_answer(*EASY)
    (idle,) = cas.pool().idle
    os.kill(idle.process.pid, signal.SIGKILL)
    assert wait_until(lambda: not alive(idle.process.pid))
    assert verifier.verify_answer(*EASY).outcome == Outcome.CORRECT


@pytest.mark.usefixtures("fresh_pool")
def test_a_worker_that_cannot_start_is_broken_with_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    verdict = MathVerifier().verify_answer(*EASY)
    assert (verdict.outcome, verdict.reason) == (Outcome.BROKEN, Reason.WORKER_FAILED)
    assert "/no/such/python" in verdict.detail


@pytest.mark.usefixtures("fresh_pool")
def test_a_worker_that_ends_at_once_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cas, "_BOOT", "raise SystemExit(3)")
    verdict = MathVerifier().verify_answer(*EASY)
    assert (verdict.outcome, verdict.reason) == (Outcome.BROKEN, Reason.WORKER_FAILED)


@pytest.mark.usefixtures("fresh_pool")
def test_a_memory_bomb_stays_in_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    boot = cas._BOOT.replace(
        "main;main()",
        "main\nimport markscheme.verifiers.math.cas_worker as w\nw._by_latex = lambda *_: bytearray(2**34)\nmain()",
    )
    monkeypatch.setattr(cas, "_BOOT", boot)
    verdict = MathVerifier().verify_answer(*EASY)
    assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.BUDGET)
    assert "MemoryError" in verdict.detail


@pytest.mark.parametrize("ending", ["sys.exit(0)", "raise RuntimeError", "os.kill(os.getpid(), 9)", "os._exit(0)"])
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_no_process_outlives_its_host(state: str, ending: str) -> None:
    question = EASY if state == "idle" else ENDLESS
    script = f"""
        import os, sys, threading, time
        from markscheme.verifiers.math import cas
        verifier = MathVerifier(deadline={SLOW})
        threading.Thread(target=verifier.verify_answer, args={question!r}, daemon=True).start()
        wanted = cas.pool().{state}
        while not any(worker.ready for worker in list(cas.pool().{state})):
            time.sleep(0.02)
        time.sleep(0.1)
        print(*(worker.process.pid for worker in cas.pool().{state}), flush=True)
        {ending}
    """
    done = run_script(script)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 1, done.stderr
    assert wait_until(lambda: not alive(pids[0]), 4)


def resident_kib() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0])


def hostile_calls(count: int) -> None:
    from test_hostile import PAIRS  # noqa: PLC0415 - a neighbour, found by the path that the test adds

    verifier = MathVerifier(deadline=0.05)
    pairs = [pair for pair in PAIRS.values() if len(pair[0]) < 20_000]
    for number in range(count):
        assert verifier.verify_answer(*pairs[number % len(pairs)]).outcome != Outcome.CORRECT


def assert_nothing_is_left(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    before = children()
    hostile_calls(70)  # what is loaded once is loaded
    memory, descriptors = resident_kib(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    hostile_calls(count)
    assert resident_kib() - memory < 30_000
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2  # noqa: PTH208 - a warm worker has two
    cas.pool().close()
    assert children() <= before


@pytest.mark.usefixtures("fresh_pool")
def test_two_hundred_hostile_calls_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_nothing_is_left(130, monkeypatch)


@pytest.mark.soak
@pytest.mark.usefixtures("fresh_pool")
def test_ten_thousand_hostile_calls_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_nothing_is_left(10_000, monkeypatch)
