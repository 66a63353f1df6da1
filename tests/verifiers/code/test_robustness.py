"""The sandbox keeps working, and says what failed, whatever befalls its parts or the host."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pytest

import jails
from markscheme.verifiers.code import sandbox as package
from markscheme.verifiers.code.outcomes import Limits, RunOutcome
from markscheme.verifiers.code.sandbox import Sandbox, SandboxError, capabilities, clocks, endings, levels, supervisor

SOURCE = Path(jails.__file__).parents[1] / "verifiers"
SLEEPER = "import time; time.sleep(30)"
Level = Literal[2, 3]
Backend = Literal["zygote", "bubblewrap"]


@pytest.fixture(params=[3, 2])
def level(request: pytest.FixtureRequest, highest: int) -> Level:
    if request.param > highest:
        pytest.skip(f"this host gives level {highest}")
    return request.param


@pytest.fixture
def fresh(level: Level) -> Sandbox:
    with Sandbox(workers=1, level=level, limits=Limits(idle_seconds=5)) as made:
        made.run("print(1)")
        yield made


def _tree(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_tree(int(child))]
    return found


def _wait_until(condition, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def _alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def _zygote(sandbox: Sandbox) -> int:
    held = sandbox._slots.get()
    sandbox._slots.put(held)
    return held.process.pid


def test_a_zygote_killed_between_runs(fresh: Sandbox) -> None:
    for pid in [_zygote(fresh), *_tree(_zygote(fresh))]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert fresh.run("print(2)").stdout == b"2\n"


def test_a_zygote_killed_while_a_job_runs(fresh: Sandbox) -> None:
    pid = _zygote(fresh)
    with ThreadPoolExecutor() as pool:
        job = pool.submit(fresh.run, "import time; time.sleep(1); print(3)")
        assert _wait_until(lambda: len(_tree(pid)) == (2 if fresh.level == 3 else 1))
        inner = _tree(pid)
        os.kill(inner[0] if fresh.level == 3 else pid, signal.SIGKILL)
        assert job.result().stdout == b"3\n"
    assert not any(map(_alive, inner))


def test_a_job_killed_from_outside_is_tried_again(level: Level) -> None:
    if level == 2:
        pytest.skip("a program may kill itself there")
    with Sandbox(workers=1, level=level) as sandbox, ThreadPoolExecutor() as pool:
        sandbox.run("1")
        pid = _zygote(sandbox)
        job = pool.submit(sandbox.run, "import time; time.sleep(0.7); print(3)")
        assert _wait_until(lambda: len(_tree(pid)) == 2)
        os.kill(_tree(pid)[1], signal.SIGKILL)
        assert job.result().stdout == b"3\n"


def test_what_breaks_its_jail_twice_is_its_own_fault(fresh: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    run = supervisor.Zygote.run

    def broken(zygote, job):
        if b"special" in job.payload:
            raise SandboxError("it broke")
        return run(zygote, job)

    monkeypatch.setattr(supervisor.Zygote, "run", broken)
    ran = fresh.run("special")
    assert (ran.outcome, ran.detail) == (
        RunOutcome.RESOURCE,
        "it broke its jail twice, where a known program passed: it broke",
    )
    assert fresh.run("print(1)").stdout == b"1\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOMEM, errno.EMFILE])
def test_no_space_memory_or_descriptors(fresh: Sandbox, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "memfd_create", refuse)
        ran = fresh.run("print(1)")
    assert ran.outcome is RunOutcome.BROKEN
    assert os.strerror(number) in ran.detail
    assert fresh.run("print(1)").stdout == b"1\n"


def test_refused_system_calls_are_told(level: Level) -> None:
    script = (
        "import jails; jails.container_filter()\nfrom markscheme.verifiers.code.sandbox import Sandbox, capabilities\n"
        f"print(capabilities())\nwith Sandbox(workers=1, level={level}) as s: print(s.run('print(1)'))"
    )
    environment = os.environ | {"PYTHONPATH": f"{SOURCE}:{SOURCE.parent / 'tests'}"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert "level=2, why_not_higher='the zygote did not start: PermissionError: [Errno 1] unshare" in done.stdout
    assert ("RunOutcome.BROKEN" if level == 3 else "RunOutcome.FINISHED") in done.stdout


def test_made_in_a_thread_that_has_ended(level: Level) -> None:
    made: list[Sandbox] = []

    def make() -> None:
        made.append(Sandbox(workers=1, level=level))
        made[0].run("print(1)")

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    with made[0] as sandbox:
        pid = _zygote(sandbox)
        assert sandbox.run("print(1)").stdout == b"1\n"
        assert _zygote(sandbox) == pid


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_worker_has_zygotes_of_its_own(fresh: Sandbox) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, fresh.run("print(5)").stdout + b"%d" % _zygote(fresh))
        finally:
            os._exit(0)
    os.close(writer)
    text = b"".join(iter(lambda: os.read(reader, 1000), b""))
    os.close(reader)
    os.waitpid(child, 0)
    assert text.startswith(b"5\n")
    assert int(text.split()[1]) != _zygote(fresh)
    assert _wait_until(lambda: not _alive(int(text.split()[1])))
    assert fresh.run("print(6)").stdout == b"6\n"


@pytest.mark.parametrize("running", [False, True])
def test_everything_ends_with_a_killed_supervisor(level: Level, *, running: bool) -> None:
    script = (
        "import sys, time\nfrom markscheme.verifiers.code.sandbox import Sandbox\n"
        f"s = Sandbox(workers=1, level={level})\ns.run('1')\nprint('up', flush=True)\n"
        + (f"s.run({SLEEPER!r})" if running else "time.sleep(60)")
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"up\n"
        wanted = level - 1 + running
        assert _wait_until(lambda: len(_tree(process.pid)) == wanted)
        below = _tree(process.pid)
        process.kill()
    assert _wait_until(lambda: not any(map(_alive, below)))


def test_sixteen_sandboxes_at_once(level: Level) -> None:
    def use(n: int) -> bytes:
        with Sandbox(workers=1, level=level) as sandbox:
            ran = sandbox.run(f"print({n})")
            assert ran.outcome is RunOutcome.FINISHED, ran
            return ran.stdout

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(use, range(16))) == [b"%d\n" % n for n in range(16)]


def test_modules_that_were_not_preloaded_import(fresh: Sandbox) -> None:
    code = "import sqlite3, xml.dom.minidom, json.tool, encodings.idna, numpy\nprint(1)"
    assert fresh.run(code).stdout == b"1\n"


@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_neither_umask_nor_ignored_signals_reach_the_jail(level: Level, umask: int) -> None:
    before, handler = os.umask(umask), signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with Sandbox(workers=1, level=level) as sandbox:
            assert sandbox.run("import numpy; print(1)").stdout == b"1\n"
    finally:
        os.umask(before)
        signal.signal(signal.SIGCHLD, handler)


def test_asyncio_and_cancelling(fresh: Sandbox) -> None:
    async def main() -> float:
        ran = await asyncio.gather(fresh.arun("print(1)"), fresh.acall("def f(): return 1", "f"))
        assert [one.outcome for one in ran] == [RunOutcome.FINISHED] * 2
        start = time.monotonic()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(fresh.arun(SLEEPER), 0.3)
        assert (await fresh.arun("print(2)")).stdout == b"2\n"
        return time.monotonic() - start

    assert asyncio.run(main()) < 2


def test_a_module_that_starts_threads_is_refused(level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()"
    (tmp_path / "threaded.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    with Sandbox(workers=1, level=level, preload=("threaded",)) as sandbox:
        ran = sandbox.run("print(1)")
    assert ran.outcome is RunOutcome.BROKEN
    assert "a preloaded module started a thread" in ran.detail


def test_level_1_is_had_by_name_only() -> None:
    with Sandbox(workers=1) as strongest, Sandbox(workers=1, level=1, limits=Limits(cpu_seconds=1)) as weakest:
        assert strongest.level > 1
        assert weakest.run("print(1)").stdout == b"1\n"
        assert weakest.run("while True: pass").outcome is RunOutcome.TIME
        pid = _zygote(weakest)
        weakest.run("import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)")
        assert _wait_until(lambda: _tree(pid) == [])


def test_a_program_that_ends_while_it_is_measured_has_ended(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy host holds the supervisor up anywhere, and so between the end of its wait and what it then reads."""
    measure, start, late = clocks.usage, [], []

    def usage(pid: int, *, tree: bool, base: int, most: int) -> clocks.Usage:
        start.append(time.monotonic())
        if time.monotonic() > start[0] + 1:
            late.append(pid)
            patient = time.monotonic() + 60
            while Path(f"/proc/{pid}").exists() and time.monotonic() < patient:
                time.sleep(0.01)
        return measure(pid, tree=tree, base=base, most=most)

    monkeypatch.setattr(clocks, "usage", usage)
    code = "import time\nwhile time.process_time() < 2: pass\nprint(1)"
    with Sandbox(workers=1, level=level, limits=Limits(idle_seconds=0.8, cpu_seconds=30)) as sandbox:
        ran = sandbox.run(code)
    assert (ran.outcome, ran.stdout, len(late)) == (RunOutcome.FINISHED, b"1\n", 1)


def test_waiting_for_a_processor_is_not_idling_when_the_thread_that_waited_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = iter([
        clocks.Usage(cpu=0.1, delay=0.0, threads=1),
        clocks.Usage(cpu=0.2, delay=2.0, threads=2),  # a thread that has waited, and was told of it
        clocks.Usage(cpu=0.3, delay=0.0, threads=1),  # it has ended, and takes that with it
        clocks.Usage(cpu=0.3, delay=0.0, threads=2, ready=True),  # another waits still
        clocks.Usage(cpu=0.3, delay=0.0, threads=1),  # and has ended before the next look
        clocks.Usage(cpu=0.3, delay=0.0, threads=1),
    ])  # fmt: skip
    monkeypatch.setattr(clocks, "usage", lambda *_, **__: next(seen))
    meter = clocks.Meter(1, tree=False, base=0, most=1)
    idle = [meter.look(wall)[1] for wall in (0.1, 2.2, 2.3, 5.3, 5.4, 9.4)]
    assert idle == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.1, 4.1])


def test_a_thread_that_is_not_the_first_is_seen_to_be_ready() -> None:
    code = "import threading\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            patient = time.monotonic() + 60
            main = Path(f"/proc/{process.pid}/task/{process.pid}/stat")
            while time.monotonic() < patient:
                used = clocks.usage(process.pid, tree=False, base=0, most=1)
                if used.threads == 2 and used.ready and main.read_text().rpartition(")")[2].split()[0] == "S":
                    break
                time.sleep(0.01)
            else:
                pytest.fail(f"not seen: {used}")
        finally:
            process.kill()


def _state() -> dict[str, object]:
    return {
        "processes": len(_tree(os.getpid())),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "files": sorted(path.name for path in Path("/tmp").glob("markscheme*")),
        "memory": int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20,
    }


def _soak(level: Level, runs: int) -> None:
    programs = sorted((Path(__file__).parent / "hostile").glob("*.py"))
    quick = Limits(cpu_seconds=0.3, idle_seconds=0.3)
    times = []
    with Sandbox(workers=1, level=level) as sandbox:
        for n in range(200):
            sandbox.run(f"print({n})")
        before = _state()
        for n in range(runs):
            if n % 100 == 50:
                sandbox.run(programs[n // 100 % len(programs)].read_text(), limits=quick)
            start = time.thread_time()
            ran = sandbox.run(f"print({n})")
            assert ran.stdout == b"%d\n" % n
            times.append(time.thread_time() - start + ran.cpu_seconds)  # wall time would measure the host's other work
        after = _state()
    assert after.pop("memory") <= before.pop("memory") + 8
    assert after == before
    many = min(1000, runs // 3)
    first, last = (sorted(part)[many // 2] for part in (times[:many], times[-many:]))
    assert last < first * (1.1 if many == 1000 else 1.6)


def test_many_runs_leave_nothing(level: Level) -> None:
    _soak(level, 600)


@pytest.mark.soak
def test_twenty_thousand_runs_leave_nothing(level: Level) -> None:
    _soak(level, 20_000)


def test_what_the_package_exports() -> None:
    assert package.__all__ == sorted(package.__all__)
    assert all(getattr(package, name).__name__ == name for name in package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        package.nope  # noqa: B018
    script = "import sys, markscheme.verifiers.code.sandbox as s; print('pydantic' in sys.modules, s.Sandbox.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.dumps(done.stdout) == json.dumps("False Sandbox\n")


def test_descriptors_of_any_number_in_the_host(level: Level) -> None:
    held = {fd: os.open(os.devnull, os.O_RDONLY) for fd in range(80)}  # so that only chosen numbers are free
    taken = set(held.values())
    try:
        for number in (n for n in range(39, 50) if {n, n + 1} <= taken):
            os.close(number)
            os.close(number + 1)  # the control socket's two ends get these
            with Sandbox(workers=1, level=level) as sandbox:
                assert sandbox.run("print(1)").stdout == b"1\n"
            for again in (number, number + 1):
                assert os.dup2(max(taken), again) == again
    finally:
        for fd in taken:
            os.close(fd)


@pytest.fixture(params=["zygote", "bubblewrap"])
def backend(request: pytest.FixtureRequest, highest: int) -> Backend:
    if request.param == "bubblewrap" and (why := capabilities().why_no_bubblewrap):
        pytest.skip(f"this host gives no bubblewrap: {why}")
    if highest < 3:
        pytest.skip("files need level 3")
    return request.param


def test_packages_below_tmp_stay_in_sight_beside_a_tmp_of_ones_own(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "beside.py").write_text("VALUE = 7\n", encoding="utf-8")
    shown = [*levels.readable_paths(), str(tmp_path)]
    monkeypatch.setattr(levels, "readable_paths", lambda: shown)
    monkeypatch.syspath_prepend(str(tmp_path))
    code = (
        "import beside, os\nopen('/tmp/mine', 'w').write('x')\nprint(beside.VALUE, open('/tmp/mine').read())\n"
        f"try:\n    open({str(tmp_path / 'new')!r}, 'w')\nexcept OSError as error:\n    print(type(error).__name__)\n"
    )
    with Sandbox(workers=1, backend=backend) as sandbox:
        done = sandbox.run(code, limits=Limits(files=1 << 20))
    assert done.stdout == b"7 x\nOSError\n", done
    assert not (tmp_path / "new").exists() and not Path("/tmp/mine").exists()


def test_a_place_to_write_that_cannot_be_made_is_no_fault_of_the_program(
    highest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if highest < 3:
        pytest.skip("files need level 3")
    follow = supervisor.Zygote._follow

    def full(zygote: supervisor.Zygote, job: endings.Job, fds: tuple[int, ...]) -> endings.Ended:
        if job.limits.files:
            raise SandboxError("no space left")
        return follow(zygote, job, fds)

    monkeypatch.setattr(supervisor.Zygote, "_follow", full)
    with Sandbox(workers=1, level=3) as sandbox:
        done = sandbox.run("print(1)", limits=Limits(files=1 << 20))
        assert (done.outcome, done.detail) == (RunOutcome.BROKEN, "no space left; then: no space left")
        assert sandbox.run("print(1)").stdout == b"1\n"
