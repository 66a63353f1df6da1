"""What this host gives, proved by running a program under it."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.outcomes import Limits
from markscheme.verifiers.code.sandbox import bubblewrap, landlock, levels, linux
from markscheme.verifiers.code.sandbox.endings import Job
from markscheme.verifiers.code.sandbox.levels import Capabilities
from markscheme.verifiers.code.sandbox.supervisor import SandboxError, Zygote

_counter = itertools.count()
CANARY = Job(codec.encode(["print(6 * 7)", [], None]), b"", Limits(cpu_seconds=5, wall_seconds=30, idle_seconds=10))


def capabilities() -> Capabilities:
    """The strongest level that this host gives, proved by running a program under it, and why not a higher one.

    Whether it gives bubblewrap as well is proved likewise.
    """
    return replace(strongest(), why_no_bubblewrap=why_no_bubblewrap())


def why_no_bubblewrap() -> str:
    """Why bubblewrap is not to be had; empty where a program ran in one."""
    try:
        ran = bubblewrap.Bubblewrap(worker_index(), ()).run(CANARY)
    except SandboxError as error:
        return str(error)
    return "" if ran.stdout == b"42\n" else f"a program in it did not run: {ran.detail}"


def strongest() -> Capabilities:
    """The strongest level, and why not a higher one."""
    linux.require_host()
    abi, root = landlock.abi(), levels.is_root()
    why = ""
    for level in (3, 2):
        if abi < landlock.MIN_ABI:
            why = f"Landlock of version {landlock.MIN_ABI} is needed; this kernel has {abi or 'none'}"
            break
        try:
            zygote = Zygote(level, worker_index(), ())
        except SandboxError as error:
            why = why or str(error)
            continue
        try:
            if zygote.run(CANARY).stdout == b"42\n":
                return Capabilities(level, why, abi, root)
            why = why or f"a program at level {level} did not run"
        except SandboxError as error:
            why = why or str(error)
        finally:
            zygote.close()
    return Capabilities(0, why, abi, root)


def worker_index() -> int:
    """A number for the next worker's uid."""
    # One uid a worker where this process is root: spread by process, so that two trainers rarely share one.
    return (os.getpid() * 64 + next(_counter)) % 4096
