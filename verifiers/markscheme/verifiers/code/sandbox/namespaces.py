"""The zygote's own namespaces, and a root that shows nothing but the interpreter and its packages."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from markscheme.verifiers.code.sandbox import linux

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PLACE = "/proc"
"""Where the new root is mounted at first: a folder that is always there, and holds nothing that jobs may read."""
KEEP = "/keep"
"""An empty folder, where a job lays out its own /tmp before that covers the one that all see."""
_PLAIN = linux.MS_NOSUID | linux.MS_NODEV


def enter(*, root: bool) -> None:
    """New namespaces for this process, and a child that is pid 1 in them; this one waits for it and ends as it does."""
    rest = linux.CLONE_NEWPID | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP
    if not root:
        new_user(os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY))
    linux.unshare(linux.CLONE_NEWNS | rest)
    linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    socket.sethostname("jail")
    pid = os.fork()
    if pid:
        os.closerange(0, 1024)
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def new_user(proc: int) -> None:
    """A user namespace where this user is itself, with every capability. ``proc`` is /proc/self, opened before."""
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(name, os.O_WRONLY, dir_fd=proc)
        os.write(fd, text.encode())
        os.close(fd)
    os.close(proc)


def new_root(readable: Sequence[str]) -> None:
    """A root with these trees, a few devices, an empty /tmp and an empty /dev/shm; all read-only."""
    linux.mount("tmpfs", _PLACE, "tmpfs", _PLAIN, "size=1m,mode=0755")
    for path in readable:
        _bind(path, _PLAIN | linux.MS_RDONLY)
    for path in DEVICES:
        _bind(path, linux.MS_NOSUID | linux.MS_NOEXEC | linux.MS_RDONLY)
    for name in ("tmp", "dev/shm", KEEP[1:], "old"):
        os.makedirs(f"{_PLACE}/{name}", exist_ok=True)
    linux.pivot_root(_PLACE, f"{_PLACE}/old")
    os.chdir("/")
    linux.unmount("/old", linux.MNT_DETACH)
    os.rmdir("/old")
    linux.mount("none", "/", "", linux.MS_REMOUNT | linux.MS_RDONLY | _PLAIN)


def _bind(path: str, flags: int) -> None:
    if not os.path.exists(path):
        return
    target = _PLACE + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    linux.mount(path, target, "", linux.MS_BIND | linux.MS_REC)
    linux.protect_mounts(target, flags)
