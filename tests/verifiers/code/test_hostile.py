"""Hostile programs, with good ones between them: at each level, as whoever runs the tests and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jails
from markscheme.verifiers.code.sandbox import capabilities

HOSTILE = Path(__file__).parent / "hostile"
MANY = HOSTILE / "many"
SOURCE = Path(jails.__file__).parents[1] / "verifiers"
NOBODY = "65534"


def _as_ordinary_user() -> list[str]:
    """A command that runs Python as an ordinary user; skips where there is none that such a user may run."""
    if os.geteuid() != 0:
        return [sys.executable]
    python = os.environ.get("MARKSCHEME_OTHER_PYTHON", sys.executable)
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", python]
    # Once more from within: what started it may have been let through a closed home by the rights it then gave up.
    script = (
        "import subprocess, sys; sys.path[:0] = sys.argv[1:]; import markscheme.verifiers.code.sandbox.pool, jails;"
        " subprocess.run([sys.executable, '-S', '-c', ''], check=True)"
    )
    tried = subprocess.run(
        [*command, "-c", script, str(SOURCE), str(SOURCE.parent / "tests")], capture_output=True, cwd="/", check=False
    )
    if tried.returncode:
        pytest.skip(f"an ordinary user cannot run {python}: set MARKSCHEME_OTHER_PYTHON to one that it can")
    return command


@pytest.mark.parametrize("user", ["same", "ordinary"])
@pytest.mark.parametrize(("level", "where"), [(3, "host"), (2, "container")])
def test_nothing_of_ours_breaks_out_or_passes(level: int, where: str, user: str, highest: int) -> None:
    _judge(HOSTILE, level, where, user, highest)


@pytest.mark.parametrize("user", ["same", "ordinary"])
def test_nothing_with_processes_and_files_breaks_out_or_passes(user: str, highest: int) -> None:
    _judge(MANY, 3, "many", user, highest)


@pytest.mark.parametrize("user", ["same", "ordinary"])
@pytest.mark.parametrize(("folder", "where"), [(HOSTILE, "bubblewrap"), (MANY, "bubblewrap many")])
def test_nothing_breaks_out_of_bubblewrap_or_passes(folder: Path, where: str, user: str, highest: int) -> None:
    if why := capabilities().why_no_bubblewrap:
        pytest.skip(f"this host gives no bubblewrap: {why}")
    _judge(folder, 3, where, user, highest)


@pytest.mark.parametrize("user", ["same", "ordinary"])
@pytest.mark.parametrize(("level", "where"), [(3, "host"), (2, "container")])
def test_nothing_shared_breaks_out_or_passes(level: int, where: str, user: str, highest: int, attacks: Path) -> None:
    _judge(attacks, level, where, user, highest)


def _judge(folder: Path, level: int, where: str, user: str, highest: int) -> None:
    if level > highest:
        pytest.skip(f"this host gives level {highest}")
    if user == "ordinary" and os.geteuid() != 0:
        pytest.skip("this is an ordinary user already")
    python = [sys.executable] if user == "same" else _as_ordinary_user()
    done = subprocess.run(
        [*python, jails.__file__, str(level), where, str(folder)],
        capture_output=True,
        cwd="/",
        env=os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=240,  # a bubblewrap a run, on a busy host
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    *rows, last = map(json.loads, done.stdout.splitlines())
    assert len(rows) == 4 * len(list(folder.glob("*.py")))
    faulty = [row for row in rows if row["faults"]]
    if where == "bubblewrap many":
        # A bubblewrap ends its strays, before anything is read, but not in the instant in which the program ends: what
        # they write in between is the program's output, which gives no verdict that it could not give itself.
        faulty = [row for row in faulty if (row["name"], row["faults"]) != ("late_result", ["EVIDENCE"])]
    assert faulty == []
    hostile_passed = [row for row in rows if row["passed"] and not row["name"].startswith("good")]
    good_failed = [row for row in rows if not row["passed"] and row["name"].startswith("good")]
    assert (hostile_passed, good_failed) == ([], [])
    assert last == {"left": []}
