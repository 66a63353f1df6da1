"""The zygote: a fresh interpreter in its own namespaces that forks one jail a job and never runs user code itself.

It is exec'd with an empty environment, has one thread, and ends when its control socket does. The payload of a job
never passes through its memory, which the next job's fork would inherit: a memfd carries it, that only the job reads.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import contextlib
import fcntl
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

from markscheme.verifiers.code.sandbox import job, landlock, linux, namespaces, seccomp

MESSAGE_BYTES = 1 << 17
_CONTROL_FD = 300
_COUNT_STEP, _MOST_COUNTED = 64, 1 << 17
_OOM_SCORE = 800  # of 1000: the kernel ends a job, or its zygote, before what started them


class RefusedStart(RuntimeError):
    """The zygote is not fit to fork jails."""


def main(fd: int) -> None:
    """Serve the control socket ``fd``."""
    # Out of the way of the numbers that jobs count on, whatever number the supervisor's process had free.
    control = socket.socket(fileno=fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _CONTROL_FD))
    os.close(fd)
    config = json.loads(control.recv(MESSAGE_BYTES))
    try:
        _forget_inheritance()
        if config["level"] == 3 and not config["wrapped"]:
            namespaces.enter(root=config["root"])
        _prepare(config)
    except Exception as error:  # noqa: BLE001 - a preloaded module may raise anything; the supervisor tells it on
        control.send(json.dumps({"error": f"{type(error).__name__}: {error}"[:2000]}).encode())
        return
    own = config["level"] == 3
    filters = {
        (many, files): seccomp.build(processes=many, writing=files or many, own_mounts=own, own_pids=own)
        for many in (False, True)
        for files in (False, True)
    }
    gc.collect()
    gc.freeze()
    control.send(json.dumps({"ready": os.getpid(), "rss": job.base_resident()}).encode())
    _serve(control, config, filters)


# Getting ready --------------------------------------------------------------------------------------------------


def _forget_inheritance() -> None:
    """Undo what an exec inherits: signals ignored or blocked, the umask; and offer this process to the killer first."""
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # the interpreter ignores these two
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o022)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write(str(_OOM_SCORE))


def _prepare(config: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in ("exit", "quit"):  # what `site` adds, which this interpreter starts without
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    for name in config["preload"]:
        importlib.import_module(name)
    readable = config["readable"]
    if config["wrapped"]:
        _prepare_wrapped(config)
        return
    _refuse_unfit()
    job.remember_size()
    _search_only(readable)
    proc = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY)
    if config["level"] == 3:
        namespaces.new_root(readable)
    if config["level"] > 1:
        _move(landlock.ruleset(job.rules(config), config["landlock"]), job.RULES_FD)
    config["trees"] = _open_trees(readable) if config["level"] < 3 and config["root"] else 0
    _drop_root(config)
    if config["root"] and config["level"] == 3:
        linux.prctl(linux.PR_SET_DUMPABLE, 1)  # changing uid cleared it, and with it the right to write the maps
        namespaces.new_user(proc)
    else:
        os.close(proc)
    if config["level"] == 3:  # the parent has one thread, which started this: the signal comes when that ends
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    elif config["level"] == 1:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)


def _prepare_wrapped(config: dict[str, Any]) -> None:
    """In a bubblewrap, as its first process and for one job: namespaces and root are made, and /proc is not there."""
    _search_only(config["readable"])
    for path in namespaces.DEVICES:
        linux.protect_mounts(path, linux.MS_NOSUID | linux.MS_NOEXEC | linux.MS_RDONLY)
    job.own_folders(config, config["limits"], config["uid"] if config["root"] else os.getuid())
    _move(landlock.ruleset(job.rules(config), config["landlock"]), job.RULES_FD)
    config["trees"] = 0
    _drop_root(config)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)


def _search_only(readable: list[str]) -> None:
    sys.path[:] = [one for one in sys.path if any(_under(one, path) for path in readable)]


def _drop_root(config: dict[str, Any]) -> None:
    if config["root"]:
        os.setgroups([])
        os.setresgid(config["gid"], config["gid"], config["gid"])
        os.setresuid(config["uid"], config["uid"], config["uid"])


def _refuse_unfit() -> None:
    """One thread, and no memory that a job's writes would share."""
    if len(os.listdir("/proc/self/task")) != 1:
        raise RefusedStart("a preloaded module started a thread, which a fork would not have")
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        shared = [line for line in maps if line.split()[1].startswith("rw") and line.split()[1].endswith("s")]
    if shared:
        raise RefusedStart(f"a preloaded module shares writable memory: {shared[0].split()[-1]}")


def _move(fd: int, to: int) -> None:
    os.dup2(fd, to, inheritable=False)
    os.close(fd)


def _under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _open_trees(readable: list[str]) -> int:
    """Reach the interpreter's folders through descriptors: jobs have another uid, to which a 0700 home is closed."""
    searched = [sys.path] + [
        module.__path__ for module in list(sys.modules.values()) if type(getattr(module, "__path__", None)) is list
    ]
    folders = [path for path in readable if any(_under(one, path) for one in sys.path)]
    for n, path in enumerate(folders):
        _move(os.open(path, os.O_PATH | os.O_DIRECTORY), job.TREES_FD + n)
        through = f"/proc/self/fd/{job.TREES_FD + n}"
        for places in searched:
            places[:] = [through + one[len(path) :] if _under(one, path) else one for one in places]
    sys.path_importer_cache.clear()
    return len(folders)


# Serving --------------------------------------------------------------------------------------------------------


def _serve(control: socket.socket, config: dict[str, Any], filters: dict[tuple[bool, bool], seccomp.Filter]) -> None:
    flags = linux.CLONE_NEWPID if config["level"] == 3 and not config["wrapped"] else 0
    own_count = config["root"] or config["level"] == 3
    counted = [0]
    while True:
        message, fds, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 8)
        if not message:
            return
        request = json.loads(message)
        try:
            pid, pidfd = linux.fork_into(flags) if own_count else _fork_counted(counted)
        except OSError as error:
            control.send(json.dumps({"error": str(error)}).encode())
            return
        if pid == 0:
            job.start(config, request, fds, filters, counted[0])
        for fd in fds:
            os.close(fd)
        with contextlib.suppress(OSError):
            socket.send_fds(control, [b'{"started":true}'], [pidfd])
        ended = _wait(control, pid, pidfd, wrapped=config["wrapped"])
        if config["level"] == 1:
            _end_strays()
        try:
            control.send(json.dumps(ended).encode())
        except OSError:
            return


def _fork_counted(counted: list[int]) -> tuple[int, int]:
    """Fork where jobs share a uid with strangers, and find by trying how many threads that has: ``counted``.

    The kernel refuses to fork above RLIMIT_NPROC, which is raised from a little below the last count until it does not.
    """
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = _MOST_COUNTED if hard == resource.RLIM_INFINITY else min(hard, _MOST_COUNTED)
    counted[0] = max(0, counted[0] - _COUNT_STEP)
    while True:
        resource.setrlimit(resource.RLIMIT_NPROC, (min(counted[0], most), hard))
        try:
            return linux.fork_into(0)
        except BlockingIOError:
            counted[0] += _COUNT_STEP
            if counted[0] > most + _COUNT_STEP:
                raise


def _wait(control: socket.socket, pid: int, pidfd: int, *, wrapped: bool) -> dict[str, float]:
    """Wait for the job and tell how it ended; end it when the control socket ends before."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(control, select.POLLHUP)
    while True:
        events = dict(poll.poll())
        if pidfd in events:
            break
        linux.kill_pidfd(pidfd, signal.SIGKILL)
        poll.unregister(control)
    if wrapped:  # a pid namespace of the job's own would have ended with it
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    os.close(pidfd)
    return {"status": status, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss * 1024}


def _end_strays() -> None:
    """End what a job of level 1 left behind: its orphans are this process's children."""
    with contextlib.suppress(OSError):
        while True:
            with open("/proc/thread-self/children", encoding="ascii") as children:
                for child in children.read().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(child), signal.SIGKILL)
            os.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
