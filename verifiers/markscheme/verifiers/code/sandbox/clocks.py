"""What a job has used so far, read from outside the jail: CPU time, waiting, threads and memory of its whole tree."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = resource.getpagesize()
# Fields of /proc/PID/stat after the name, which may itself hold anything.
_CHILDREN_USER, _CHILDREN_SYSTEM, _THREADS, _RESIDENT = 13, 14, 17, 21


@dataclass(slots=True)
class Usage:
    """What a job uses.

    Attributes:
        cpu: seconds, children that have ended included.
        delay: seconds ready to run, waiting for a processor.
        processes: that have not ended.
        threads: of all its processes.
        resident: bytes in memory beyond the zygote's own, summed over its processes.
        ready: a thread wants a processor, which ``delay`` only tells once it has had one.
    """

    cpu: float = 0.0
    delay: float = 0.0
    processes: int = 0
    threads: int = 0
    resident: int = 0
    ready: bool = False


class Meter:
    """Follows a job from its start, look by look.

    A thread's ``delay`` ends with it, so what each waited is added up here while it lives. Where one is ready at a
    look, the time before that which nothing explains is taken for waiting: the thread may end before the next look.

    Args:
        pid: as this process sees it.
        tree: with its children, and theirs.
        base: resident bytes that each process shares with the zygote.
        most: processes to look at; more are known to be more, and no further measured.
    """

    def __init__(self, pid: int, *, tree: bool, base: int, most: int) -> None:
        self._pid, self._tree, self._base, self._most = pid, tree, base, most
        self._last, self._wall, self._waited = Usage(), 0.0, 0.0

    def look(self, wall: float) -> tuple[Usage, float]:
        """What the job uses ``wall`` seconds after its start, and for how many of them it neither ran nor wanted to."""
        used = usage(self._pid, tree=self._tree, base=self._base, most=self._most)
        delay = max(0.0, used.delay - self._last.delay)
        unexplained = wall - self._wall - max(0.0, used.cpu - self._last.cpu) - delay
        self._waited += delay + (max(0.0, unexplained) if used.ready else 0.0)
        self._last, self._wall = used, wall
        return used, wall - used.cpu - self._waited


def host_pid(pidfd: int) -> int:
    """The process's id as this process sees it; -1 when it has ended."""
    for line in _read(f"/proc/self/fdinfo/{pidfd}").splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    return -1


def usage(pid: int, *, tree: bool, base: int, most: int) -> Usage:
    """Measure a process, or its whole tree (see ``Meter``). A process that ends meanwhile is left out."""
    total = Usage()
    waiting = [pid]
    while waiting and total.processes <= most:
        one = waiting.pop()
        if one <= 0:
            continue
        try:
            total.cpu += time.clock_gettime((~one << 3) | 2)
        except OSError:
            continue
        fields = _state(f"/proc/{one}/stat")
        threads = 1
        if len(fields) > _RESIDENT:
            threads = int(fields[_THREADS])
            total.processes += threads > 1 or fields[0] not in "ZX"  # its first thread may have ended before the others
            total.ready = total.ready or fields[0] == "R"
            total.cpu += (int(fields[_CHILDREN_USER]) + int(fields[_CHILDREN_SYSTEM])) / _TICK
            total.resident += max(0, int(fields[_RESIDENT]) * _PAGE - base)
        total.threads += threads
        tasks = [one] if threads == 1 else _tasks(one)
        for task in tasks:
            if threads > 1 and not total.ready:
                total.ready = _state(f"/proc/{one}/task/{task}/stat")[:1] == ["R"]
            words = _read(f"/proc/{one}/task/{task}/schedstat").split()
            if len(words) > 1:
                total.delay += int(words[1]) / 1e9
            if tree:
                waiting += [int(child) for child in _read(f"/proc/{one}/task/{task}/children").split()]
    return total


def _state(path: str) -> list[str]:
    """The fields of a stat file after the name: the state, and what it has used."""
    return _read(path).rpartition(")")[2].split()


def _tasks(pid: int) -> list[int]:
    try:
        return [int(task) for task in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - the same
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # read every 20 ms: no objects between
    except OSError:
        return ""
    try:
        return os.read(fd, 1 << 16).decode("ascii", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)
