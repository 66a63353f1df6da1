"""The zygote: a fresh interpreter in its own namespaces that forks one jail a job and never runs user code itself.

It is exec'd with an empty environment, has one thread, and ends when its control socket does. The payload of a job never
passes through its memory, which the next job's fork would inherit: it travels in a memfd that only the job reads.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
from typing import Any

from markscheme.verifiers.code.sandbox import job, linux, seccomp

MESSAGE_BYTES = 1 << 17
_READ_ONLY = linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV
_DEVICES = ("null", "zero", "full", "random", "urandom")


class RefusedStart(RuntimeError):
    """The zygote is not fit to fork jails."""


def main(fd: int) -> None:
    """Serve the control socket ``fd``."""
    control = socket.socket(fileno=fd)
    config = json.loads(control.recv(MESSAGE_BYTES))
    try:
        if config["level"] == 3:
            _enter_namespaces(config)
        _prepare(config)
    except (OSError, RefusedStart, ImportError) as error:
        control.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        return
    filters = {
        many: seccomp.build(
            processes=many, writing=True, own_mounts=config["level"] == 3, own_pids=config["level"] == 3
        )
        for many in (False, True)
    }
    gc.collect()
    gc.freeze()
    control.send(json.dumps({"ready": os.getpid()}).encode())
    _serve(control, config, filters)


# Getting ready --------------------------------------------------------------------------------------------------


def _enter_namespaces(config: dict[str, Any]) -> None:
    """New namespaces for this process, and a child that is pid 1 in them; this one waits for it and ends as it does."""
    rest = linux.CLONE_NEWPID | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWCGROUP
    if not config["root"]:
        _new_user(os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY))
    linux.unshare(linux.CLONE_NEWNS | rest)
    linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    pid = os.fork()
    if pid:
        os.closerange(0, 256)
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _new_user(proc: int) -> None:
    """A user namespace where this user is itself, with every capability. ``proc`` is /proc/self, opened before."""
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(name, os.O_WRONLY, dir_fd=proc)
        os.write(fd, text.encode())
        os.close(fd)
    os.close(proc)


def _prepare(config: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in config["preload"]:
        importlib.import_module(name)
    job.remember_address_space()
    _refuse_unfit()
    proc = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY)
    if config["level"] == 3:
        _new_root(config["root_folder"], config["readable"])
    if config["level"] > 1:
        _move(linux.landlock_ruleset(config["readable"], [], config["landlock"]), job.RULES_FD)
    config["trees"] = _open_trees(config["readable"]) if config["level"] == 2 and config["root"] else 0
    if config["root"]:
        os.setgroups([])
        os.setresgid(config["gid"], config["gid"], config["gid"])
        os.setresuid(config["uid"], config["uid"], config["uid"])
        if config["level"] == 3:
            linux.prctl(linux.PR_SET_DUMPABLE, 1)  # changing uid cleared it, and with it the right to write the maps
            _new_user(proc)
            return
    os.close(proc)


def _refuse_unfit() -> None:
    """One thread, and no memory that a job's writes would share."""
    if len(os.listdir("/proc/self/task")) != 1:
        raise RefusedStart("a preloaded module started a thread, which a fork would not have")
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123
        shared = [line for line in maps if line.split()[1].startswith("rw") and line.split()[1].endswith("s")]
    if shared:
        raise RefusedStart(f"a preloaded module shares writable memory: {shared[0].split()[-1]}")


def _move(fd: int, to: int) -> None:
    os.dup2(fd, to, inheritable=False)
    os.close(fd)


def _open_trees(readable: list[str]) -> int:
    """Reach the interpreter's folders through descriptors: jobs have another uid, to which a 0700 home is closed."""
    folders = [path for path in readable if any(one.startswith(path) for one in sys.path)]
    for n, path in enumerate(folders):
        _move(os.open(path, os.O_PATH | os.O_DIRECTORY), job.TREES_FD + n)
        sys.path[:] = [
            f"/proc/self/fd/{job.TREES_FD + n}{one[len(path) :]}" if one.startswith(path) else one for one in sys.path
        ]
    sys.path_importer_cache.clear()
    return len(folders)


def _new_root(folder: str, readable: list[str]) -> None:
    """A root with nothing but the interpreter, its packages, a few devices and an empty /tmp; all read-only."""
    linux.mount("tmpfs", folder, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,mode=0755")
    for path in readable:
        _bind(path, folder)
    os.makedirs(f"{folder}/dev", exist_ok=True)
    for name in _DEVICES:
        _bind(f"/dev/{name}", folder, device=True)
    for name in ("tmp", "old"):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    linux.pivot_root(folder, f"{folder}/old")
    os.chdir("/")
    linux.unmount("/old", linux.MNT_DETACH)
    os.rmdir("/old")
    linux.mount("none", "/", "", linux.MS_REMOUNT | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV)


def _bind(path: str, folder: str, *, device: bool = False) -> None:
    if not os.path.exists(path):  # noqa: PTH110
        return
    target = folder + path
    if os.path.islink(path):  # noqa: PTH114
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        os.symlink(os.readlink(path), target)  # noqa: PTH115
        return
    if os.path.isdir(path):  # noqa: PTH112
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    linux.mount(path, target, "", linux.MS_BIND)
    linux.mount("none", target, "", _READ_ONLY & ~(linux.MS_NODEV | linux.MS_RDONLY) if device else _READ_ONLY)


# Serving --------------------------------------------------------------------------------------------------------


def _serve(control: socket.socket, config: dict[str, Any], filters: dict[bool, seccomp.Filter]) -> None:
    flags = linux.CLONE_NEWPID if config["level"] == 3 else 0
    while True:
        message, fds, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 8)
        if not message:
            return
        request = json.loads(message)
        try:
            pid, pidfd = linux.fork_into(flags)
        except OSError as error:
            control.send(json.dumps({"error": str(error)}).encode())
            continue
        if pid == 0:
            job.start(config, request, fds, filters)
        for fd in fds:
            os.close(fd)
        socket.send_fds(control, [b'{"started":true}'], [pidfd])
        if not _wait(control, pid, pidfd):
            return


def _wait(control: socket.socket, pid: int, pidfd: int) -> bool:
    """Wait for the job and tell how it ended; False when the control socket ended before."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(control, select.POLLHUP)
    alive = True
    while True:
        events = dict(poll.poll())
        if events.get(control.fileno(), 0) & (select.POLLHUP | select.POLLERR) and alive:
            os.kill(pid, signal.SIGKILL)
            alive = False
            poll.unregister(control)
        if pidfd in events:
            break
    _, status, usage = os.wait4(pid, 0)
    os.close(pidfd)
    if alive:
        ended = {"status": status, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss * 1024}
        control.send(json.dumps(ended).encode())
    return alive


if __name__ == "__main__":
    main(int(sys.argv[1]))
