"""Which level of isolation this host gives, proved by doing it."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from markscheme.verifiers.code.sandbox import linux

_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/lib32",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/localtime",
    "/etc/alternatives",
)
FIRST_UID = 61_184
"""The first of the ids that jobs run under when this process is root: one a worker, in a range that no user has."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this host gives.

    Attributes:
        level: 3 namespaces, Landlock, seccomp; 2 Landlock and seccomp; 0 none that is safe.
        why_not_higher: the reason that the next level is not had, in one sentence; empty at level 3.
        landlock: version of Landlock.
        root: this process is root, and jobs get ids of their own.
    """

    level: int
    why_not_higher: str
    landlock: int
    root: bool


def readable_paths() -> list[str]:
    """What a job may read: the interpreter, its libraries and packages; nested paths left out."""
    paths = {Path(sys.base_prefix), Path(sys.prefix), Path(os.path.realpath(sys.executable)).parent.parent}
    paths |= {Path(path) for path in sysconfig.get_paths().values()}
    paths |= {Path(os.path.realpath(path)) for path in (*paths, sys.executable)}
    kept: list[str] = list(_SYSTEM)
    for path in sorted(paths, key=lambda one: len(one.parts)):
        text = str(path)
        if path.exists() and len(path.parts) > 1 and not any(text == one or text.startswith(f"{one}/") for one in kept):
            kept.append(text)
    return [path for path in kept if os.path.lexists(path)]


def is_root() -> bool:
    """Whether jobs can be given ids of their own."""
    return os.geteuid() == 0


def require_supported() -> None:
    """Raise UnsupportedHost where the sandbox cannot run at all."""
    linux.require_host()
