"""The back end that needs bubblewrap: when it is had, why not, and what becomes of it. What it must hold: test_jail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import jails
from markscheme.verifiers.code import CodeVerifier, Limits, RunOutcome, Sandbox, SandboxError
from markscheme.verifiers.code.sandbox import bubblewrap, capabilities, landlock

SOURCE = Path(jails.__file__).parents[1] / "verifiers"


@pytest.fixture(scope="module")
def wrapped() -> Sandbox:
    if why := capabilities().why_no_bubblewrap:
        pytest.skip(f"this host gives no bubblewrap: {why}")
    with Sandbox(workers=2, backend="bubblewrap", limits=Limits(cpu_seconds=2, idle_seconds=2)) as made:
        yield made


def test_the_back_end_and_level_are_named(wrapped: Sandbox) -> None:
    assert (wrapped.backend, wrapped.level, wrapped.preload) == ("bubblewrap", 3, ())
    ran = wrapped.run("import os; print(os.getpid() < 9, os.environ.get('HOME'), os.getcwd(), len(os.environ))")
    assert (ran.outcome, ran.level) == (RunOutcome.FINISHED, 3)
    assert ran.stdout.split()[:3] == [b"True", b"/tmp", b"/tmp"]


def test_a_verifier_with_it(wrapped: Sandbox) -> None:
    with CodeVerifier(backend="bubblewrap", workers=1) as verifier:
        verdict = verifier.verify_program("def f(x): return x + 1", {"tests": "assert f(1) == 2\nassert f(2) == 3"})
        assert (verdict.score, verdict.level, verifier.sandbox.backend) == (1.0, 3, "bubblewrap")


def test_several_at_once(wrapped: Sandbox) -> None:
    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(lambda n: wrapped.run(f"print({n})").stdout, range(8)))
    assert ran == [b"%d\n" % n for n in range(8)]


def test_one_that_is_killed_is_tried_again(wrapped: Sandbox) -> None:
    with ThreadPoolExecutor() as pool:
        job = pool.submit(wrapped.run, "import time; time.sleep(0.7); print(3)")
        for _ in range(200):
            time.sleep(0.01)
            text = Path(f"/proc/{os.getpid()}/task")
            below = [int(pid) for task in text.iterdir() for pid in (task / "children").read_text().split()]
            found = [pid for pid in below if b"bwrap" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            if found:
                os.kill(found[0], signal.SIGKILL)
                break
        else:
            pytest.fail("no bubblewrap was seen")
        assert job.result().stdout == b"3\n"


def test_what_a_process_that_is_left_behind_writes_is_not_waited_for(wrapped: Sandbox) -> None:
    code = (
        "import os, time\nif os.fork():\n    print(1, flush=True)\n    os._exit(0)\ntime.sleep(1)\nprint(2, flush=True)"
    )
    ran = wrapped.run(code, limits=Limits(processes=4))
    assert ran.stdout == b"1\n" and ran.wall_seconds < 1


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match='backend must be "zygote" or "bubblewrap", not \'docker\''):
        Sandbox(backend="docker")  # type: ignore[arg-type]
    with pytest.raises(SandboxError, match="bubblewrap gives level 3, not 2"):
        Sandbox(backend="bubblewrap", level=2)
    with monkeypatch.context() as patched:
        patched.setattr(landlock, "abi", lambda: 1)
        with pytest.raises(SandboxError, match="Landlock of version 3 is needed; this kernel has 1"):
            Sandbox(backend="bubblewrap")
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda *_, **__: None)
    with pytest.raises(SandboxError, match="this host gives no bubblewrap: bwrap is not installed in /usr or /bin"):
        Sandbox(backend="bubblewrap")
    assert capabilities().why_no_bubblewrap.startswith("bwrap is not installed")


def test_a_host_that_forbids_namespaces_is_told(wrapped: Sandbox) -> None:
    script = (
        "import jails; jails.container_filter()\nfrom markscheme.verifiers.code import Sandbox\n"
        "Sandbox(backend='bubblewrap')"
    )
    environment = os.environ | {"PYTHONPATH": f"{SOURCE}:{SOURCE.parent / 'tests'}"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert "SandboxError: this host gives no bubblewrap: bubblewrap: bwrap: " in last
    assert "ermission" in last or "not permitted" in last or "namespace" in last
