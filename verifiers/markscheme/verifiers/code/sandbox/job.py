"""The last steps of the jail, in the process that becomes the job."""

from __future__ import annotations

import os
import resource
import signal
from typing import Any

from markscheme.verifiers.code.sandbox import landlock, linux, namespaces, program, seccomp

EXIT_JAIL_FAILED = 113
"""The jail could not be closed around the program, which was not started."""
MORE_THREADS = 128
"""Threads that a job may have beyond one a process."""
READY = b"+"
"""Written where the supervisor alone reads, once the jail is closed: whatever comes later is the program's doing."""
RULES_FD = 40
"""The Landlock rules that the zygote made, until the job is under them."""
TREES_FD = 41
"""The first of the folders that the interpreter's search path is reached through, where their parents are closed."""
_READY_FD = 5
_STRANGERS = 256  # threads that others with the job's uid may start while it runs
_PROC_BYTES = 1 << 20  # room for semaphores and small shared memory among a job's processes
_STACK_BYTES = 120 << 20  # the least that the kernel leaves below a main thread's stack is 128 MiB
_size = {"address": 0, "resident": 0}


def remember_size() -> None:
    """Measure, before /proc goes out of sight, what the interpreter and its modules take."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        pages = [int(word) for word in statm.read().split()]
    _size["address"], _size["resident"] = (count * resource.getpagesize() for count in pages[:2])


def base_resident() -> int:
    """Bytes that the zygote itself has in memory."""
    return _size["resident"]


def rules(config: dict[str, Any], *writable: str) -> list[tuple[str, int]]:
    """What Landlock lets a job reach."""
    trees = [(path, landlock.READ) for path in config["readable"]]
    devices = [(path, landlock.DEVICE) for path in namespaces.DEVICES]
    return trees + devices + [(path, landlock.WRITE) for path in writable]


def place_descriptors(fds: list[int], trees: int) -> None:
    """Put the job's files where it expects them and close everything else."""
    payload, stdin, stdout, stderr, result, ready = fds
    high = [os.dup2(fd, 200 + n) for n, fd in enumerate((stdin, stdout, stderr, result, payload, ready))]
    for n, fd in enumerate(high):
        os.dup2(fd, n)
    linux.close_range(_READY_FD + 1, RULES_FD - 1)
    linux.close_range(TREES_FD + trees, 0x7FFFFFFF)


def limit(limits: dict[str, Any], counted: int) -> None:
    """Set the resource limits, soft and hard alike: pid 1 of a namespace ignores the soft ones' signals.

    The kernel counts threads by uid and user namespace; ``counted`` are there already, of strangers, and may grow.
    """
    size = max(limits["output_bytes"], limits["files"], limits["result_bytes"]) + 1
    pairs = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, size),
        (resource.RLIMIT_NOFILE, 128),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 1024),
        (resource.RLIMIT_STACK, _STACK_BYTES),
        (resource.RLIMIT_CPU, int(limits["cpu_seconds"]) + 2),
        (resource.RLIMIT_AS, (limits["address"] or _size["address"]) + limits["memory_bytes"]),
        (resource.RLIMIT_NPROC, limits["processes"] + MORE_THREADS + (counted + _STRANGERS if counted else 0)),
    ]
    for kind, value in pairs:
        hard = resource.getrlimit(kind)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (least, least))


def enclose(
    config: dict[str, Any], limits: dict[str, Any], filters: dict[tuple[bool, bool], seccomp.Filter], counted: int
) -> None:
    """Close the jail: own /tmp, limits, no capabilities, Landlock, seccomp."""
    level, writable = config["level"], _writable(limits)
    if writable and not config["wrapped"]:
        linux.unshare(linux.CLONE_NEWNS)
        own_folders(config, limits, os.getuid())
    os.chdir("/tmp" if level == 3 else "/")
    limit(limits, counted)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    if level == 1:
        return
    linux.drop_capabilities()
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)  # whoever's parent has ended stays in the tree that is measured
    if level == 2:  # pid namespaces end with their first process; here the zygote's end must reach the job
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    made = RULES_FD
    if writable:  # places of its own, which the zygote's rules do not know
        made = landlock.ruleset(rules(config, *(path for path, _ in writable)), config["landlock"])
    landlock.restrict(made, config["landlock"])
    for fd in {made, RULES_FD}:
        os.close(fd)
    filters[limits["processes"] > 1, limits["files"] > 0].install(os.getpid())


def _writable(limits: dict[str, Any]) -> list[tuple[str, int]]:
    """Folders that a job may write in, and how much."""
    files, found = limits["files"], []
    if files:
        found.append(("/tmp", files))
    if limits["processes"] > 1:
        found.append(("/dev/shm", _PROC_BYTES + files))
    return found


def own_folders(config: dict[str, Any], limits: dict[str, Any], uid: int) -> None:
    """Mount what a job may write in, as that user's."""
    for path, size in _writable(limits):
        _own_folder(path, f"size={size},nr_inodes=4096,mode=0700,uid={uid}", config["readable"])


def _own_folder(path: str, options: str, readable: list[str]) -> None:
    """Cover a folder with one of the job's own; an interpreter or packages that live below it stay in sight."""
    kept = [one for one in readable if one.startswith(f"{path}/")]
    place = namespaces.KEEP if kept else path
    linux.mount("tmpfs", place, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, options)
    for one in kept:
        target = place + one[len(path) :]
        os.makedirs(target, exist_ok=True)
        linux.mount(one, target, "", linux.MS_BIND | linux.MS_REC)
    if kept:
        linux.mount(place, path, "", linux.MS_MOVE)


def start(
    config: dict[str, Any],
    job: dict[str, Any],
    fds: list[int],
    filters: dict[tuple[bool, bool], seccomp.Filter],
    counted: int,
) -> None:
    """Become the job. Never returns."""
    status = EXIT_JAIL_FAILED
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        place_descriptors(fds, config["trees"])
        try:
            enclose(config, job["limits"], filters, counted)
        except OSError as error:
            os.write(2, f"{error}\n".encode())
            return
        os.write(_READY_FD, READY)
        os.close(_READY_FD)
        status = program.run(job["limits"]["result_bytes"])
    finally:
        os._exit(status)
