"""Which level of isolation this host gives, proved by doing it."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass

_SYSTEM = (
    *("/usr", "/lib", "/lib64", "/lib32", "/bin"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/localtime", "/etc/alternatives"),
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
        why_no_bubblewrap: the reason that ``Sandbox(backend="bubblewrap")`` is not had; empty where it is.
    """

    level: int
    why_not_higher: str
    landlock: int
    root: bool
    why_no_bubblewrap: str = "it was not tried"


def readable_paths() -> list[str]:
    """What a job may read: the interpreter, its libraries and packages; nested paths left out."""
    prefixes = [sys.base_prefix, sys.prefix, os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))]
    packages = [path for path in sys.path if os.path.basename(path) in {"site-packages", "dist-packages"}]
    paths = [path for path in (*prefixes, *sysconfig.get_paths().values()) if not _holds_home(path)]
    # The interpreter's own folder, should its prefix be a home.
    paths += [*packages, os.path.dirname(sys.executable), os.path.dirname(os.path.realpath(sys.executable))]
    paths += [os.path.realpath(path) for path in paths]
    kept: list[str] = list(_SYSTEM)
    for path in sorted({os.path.abspath(path) for path in paths}, key=lambda one: one.count("/")):
        if os.path.exists(path) and path != "/" and not any(path == one or path.startswith(f"{one}/") for one in kept):
            kept.append(path)
    return [path for path in kept if os.path.lexists(path)]


def _holds_home(path: str) -> bool:
    """Whether a folder is the user's home, or holds it: then it holds more than an interpreter."""
    home = os.path.realpath(os.path.expanduser("~"))
    return os.path.realpath(path) == "/" or f"{home}/".startswith(f"{os.path.realpath(path)}/")


def is_root() -> bool:
    """Whether jobs can be given ids of their own."""
    return os.geteuid() == 0
