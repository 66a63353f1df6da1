"""bubblewrap as another back end: each job in a fresh one, where the zygote's namespaces are refused or not wanted.

What runs first in the bubblewrap is a zygote for this one job: it puts the same limits, Landlock rules and filter
around the program, so that the job ends, is watched and is classified as at level 3. Around both lies a filter that
bubblewrap sets. A host that lets only bubblewrap make namespaces can have level 3 so; a run costs the start of an
interpreter.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.outcomes import Execution
from markscheme.verifiers.code.sandbox import landlock, levels, namespaces, seccomp
from markscheme.verifiers.code.sandbox.endings import Ended, Job
from markscheme.verifiers.code.sandbox.supervisor import SandboxError, Zygote, memfd

LEVEL = 3
_OOM_SCORE = "800"
_SOURCE = str(Path(codec.__file__).parents[1])  # the zygote's own modules: in sight, and out of the job's reach
_ROOT_KEEPS = ("CAP_SETUID", "CAP_SETGID", "CAP_DAC_OVERRIDE")  # the last to lay out a /tmp that is the job's user's
_ROOT = ("--cap-drop", "ALL", *(word for name in _ROOT_KEEPS for word in ("--cap-add", name)))


def tool() -> str:
    """The path of bubblewrap. Raises SandboxError where it cannot serve."""
    found = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if found is None:
        raise SandboxError("bwrap is not installed in /usr or /bin (Debian: apt install bubblewrap)")
    if landlock.abi() < landlock.MIN_ABI:
        raise SandboxError(
            f"Landlock of version {landlock.MIN_ABI} is needed; this kernel has {landlock.abi() or 'none'}"
        )
    return found


class Bubblewrap:
    """Runs each job in a bubblewrap of its own. Raises SandboxError where bwrap is not installed."""

    level = LEVEL

    def __init__(self, index: int, preload: tuple[str, ...]) -> None:
        self._tool, self._index, self._preload = tool(), index, preload

    def run(self, job: Job) -> Execution:
        """Run a job. Raises SandboxError when the sandbox fails, with what bubblewrap says of it."""
        started = _Wrapped(self._tool, self._index, self._preload, job)
        try:
            return started.run(job)
        finally:
            started.close()

    def close(self) -> None:
        """Nothing lives between jobs."""


class _Wrapped(Zygote):
    """The zygote of one job, as the first process of a bubblewrap."""

    def __init__(self, bwrap: str, index: int, preload: tuple[str, ...], job: Job) -> None:
        self._bwrap = bwrap
        self._limits = job.limits.model_dump()
        self._said = memfd("said")
        try:
            super().__init__(LEVEL, index, preload)
            self._measure()
        except SandboxError as error:
            said = os.pread(self._said, 500, 0).decode("utf-8", "replace").strip()
            raise SandboxError(f"bubblewrap: {said or error}") from error
        finally:
            os.close(self._said)

    def _config(self, index: int, preload: tuple[str, ...]) -> dict[str, Any]:
        return super()._config(index, preload) | {"wrapped": True, "limits": self._limits}

    def _launch(self, command: list[str], environment: dict[str, str], fds: tuple[int, ...]) -> None:
        filters = seccomp.build(processes=True, writing=True, own_mounts=True, own_pids=True, closing=True)
        program = memfd("filter", filters.program, read_only=True)
        try:
            self.process = subprocess.Popen(  # noqa: S603 - a tool of the system's, with our own interpreter
                [self._bwrap, *_arguments(environment), "--seccomp", str(program), "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                env={},
                cwd="/",
                pass_fds=(*fds, program),
                start_new_session=True,
            )
        finally:
            os.close(program)

    def _measure(self) -> None:
        """What the zygote takes, as it cannot see it itself; and offer it to the kernel's killer first."""
        outer = self.process.pid if self.process is not None else -1
        try:
            inner = Path(f"/proc/{outer}/task/{outer}/children").read_text(encoding="ascii").split()[0]
            address, resident = Path(f"/proc/{inner}/statm").read_text(encoding="ascii").split()[:2]
        except (OSError, IndexError, ValueError) as error:
            self.close()
            raise SandboxError(f"its process is not to be found: {error}") from error
        self._address, self._resident = (int(pages) * resource.getpagesize() for pages in (address, resident))
        with contextlib.suppress(OSError):
            Path(f"/proc/{inner}/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")

    def _follow(self, job: Job, fds: tuple[int, ...]) -> Ended:
        """Let the job run; all that it started has ended when this returns, before what it wrote is read."""
        ended = super()._follow(job, fds)
        self.close()
        return ended


def _arguments(environment: dict[str, str]) -> list[str]:
    """Everything new and nothing shared but the interpreter, its packages and a few devices, all read-only."""
    arguments = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += ["--as-pid-1", "--die-with-parent", "--hostname", "jail", "--clearenv"]
    arguments += [
        *(_ROOT if levels.is_root() else ("--unshare-user",)),
        "--cap-add",
        "CAP_SYS_ADMIN",
    ]  # to mount a /tmp
    for name, value in environment.items():
        arguments += ["--setenv", name, value]
    made, trees = {Path("/")}, levels.readable_paths()
    for path in map(Path, [*trees, _SOURCE]):
        if any(str(path).startswith(f"{one}/") for one in trees):
            continue
        arguments += _folders(path.parent, made)
        arguments += ["--symlink", str(path.readlink())] if path.is_symlink() else ["--ro-bind", str(path)]
        arguments.append(str(path))
    for device in namespaces.DEVICES:
        arguments += [*_folders(Path("/dev"), made), "--dev-bind", device, device]
    for folder in (namespaces.KEEP, "/tmp", "/dev/shm"):  # noqa: S108 - the jail's own
        arguments += _folders(Path(folder), made)
    return [*arguments, "--remount-ro", "/", "--chdir", "/"]


def _folders(path: Path, made: set[Path]) -> list[str]:
    """Make a folder and those above it, which bubblewrap itself would close to others."""
    if path in made:
        return []
    made.add(path)
    return [*_folders(path.parent, made), "--perms", "0755", "--dir", str(path)]
