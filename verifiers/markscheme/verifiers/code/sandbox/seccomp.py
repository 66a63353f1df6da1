"""Seccomp filters: allow-lists of x86-64 system calls, built once as bytes.

What is not listed fails with EPERM; a call in another instruction set's numbering ends the process.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass

from markscheme.verifiers.code.sandbox.linux import PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prctl

ARCH_X86_64 = 0xC000003E
X32_BIT = 0x40000000
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = 1, 38
_LOAD, _JEQ, _JGE, _JGT, _JSET, _RET = 0x20, 0x15, 0x35, 0x25, 0x45, 0x06
_PID_MARK = 0x7E57_1D00  # stands for the job's own pid until it is known

# What a Python program needs and what cannot reach past its own memory and descriptors.
COMMON = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
    "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
    "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23,
    "sched_yield": 24, "mremap": 25, "msync": 26, "madvise": 28, "dup": 32, "dup2": 33, "pause": 34, "nanosleep": 35,
    "getitimer": 36, "alarm": 37, "setitimer": 38, "getpid": 39, "sendfile": 40, "sendto": 44, "recvfrom": 45,
    "sendmsg": 46, "recvmsg": 47, "shutdown": 48, "getsockname": 51, "getpeername": 52, "getsockopt": 55, "exit": 60,
    "wait4": 61, "uname": 63, "getcwd": 79, "chdir": 80, "fchdir": 81, "readlink": 89, "umask": 95,
    "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104,
    "geteuid": 107, "getegid": 108, "getppid": 110, "getpgrp": 111, "getgroups": 115, "getresuid": 118,
    "getresgid": 120, "getpgid": 121, "getsid": 124, "capget": 125, "rt_sigpending": 127, "rt_sigtimedwait": 128,
    "rt_sigsuspend": 130, "sigaltstack": 131, "statfs": 137, "fstatfs": 138, "getpriority": 140,
    "sched_getparam": 143, "sched_getscheduler": 145, "sched_get_priority_max": 146, "sched_get_priority_min": 147,
    "arch_prctl": 158, "setrlimit": 160, "gettid": 186, "getxattr": 191, "lgetxattr": 192, "time": 201, "futex": 202,
    "sched_getaffinity": 204, "epoll_create": 213, "getdents64": 217, "set_tid_address": 218, "restart_syscall": 219,
    "timer_create": 222, "timer_settime": 223, "timer_gettime": 224, "timer_getoverrun": 225, "timer_delete": 226,
    "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "epoll_wait": 232,
    "epoll_ctl": 233, "waitid": 247, "openat": 257, "newfstatat": 262, "readlinkat": 267, "faccessat": 269,
    "pselect6": 270, "ppoll": 271, "set_robust_list": 273, "epoll_pwait": 281, "timerfd_create": 283,
    "timerfd_settime": 286, "timerfd_gettime": 287, "eventfd2": 290, "epoll_create1": 291, "dup3": 292, "pipe2": 293,
    "preadv": 295, "pwritev": 296, "getcpu": 309, "getrandom": 318, "membarrier": 324, "copy_file_range": 326,
    "preadv2": 327, "pwritev2": 328, "statx": 332, "rseq": 334, "close_range": 436, "faccessat2": 439,
    "futex_waitv": 449,
}  # fmt: skip
# Changing files, where the job has a place of its own to write.
WRITING = {
    "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "mkdirat": 258,
    "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266, "renameat2": 316, "flock": 73, "fsync": 74,
    "fdatasync": 75,
}  # fmt: skip
# What Landlock does not mediate: only where the mount namespace shows nothing of the host that can be changed.
CHANGING = {
    "truncate": 76, "ftruncate": 77, "chmod": 90, "fchmod": 91, "utime": 132, "utimes": 235, "futimesat": 261,
    "fchmodat": 268, "utimensat": 280, "fallocate": 285, "fchmodat2": 452,
}  # fmt: skip
# Making processes, from memory too: only where a pid namespace holds them.
PROCESSES = {
    "memfd_create": 319, "fork": 57, "vfork": 58, "execve": 59, "setpgid": 109, "setsid": 112,
    "execveat": 322, "pidfd_open": 434,
    "pidfd_send_signal": 424,
}  # fmt: skip
_CLONE, _CLONE3, _CLONE_THREAD = 56, 435, 0x00010000
_CLONE_NAMESPACES = 0x7E020000  # every CLONE_NEW* that clone takes
_KILL_CALLS = {"kill": 62, "tkill": 200, "tgkill": 234}
_STREAM = (1, 1 | 0o4000, 1 | 0o2000000, 1 | 0o2004000)  # SOCK_STREAM, with NONBLOCK and CLOEXEC
# What closing a jail takes, for the process that does it.
CLOSING = {
    "setgroups": 116, "setresuid": 117, "setresgid": 119, "capset": 126, "prctl": 157, "mount": 165,
    "mount_setattr": 442, "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
}  # fmt: skip
# System call -> number, and for some of its arguments the values that pass.
_CHECKED: dict[str, tuple[int, dict[int, tuple[int, ...]]]] = {
    # TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TIOCGWINSZ
    "ioctl": (16, {1: (0x5401, 0x541B, 0x5421, 0x5450, 0x5451, 0x5413)}),
    # Pairs of AF_UNIX streams; a datagram of a pair could be sent to any socket of the host that has a name.
    "socketpair": (53, {0: (1,), 1: _STREAM}),
    # Names of threads and of memory.
    "prctl": (157, {0: (15, 16, 0x53564D41)}),
    # Itself.
    "prlimit64": (302, {0: (0,)}),
    # Neither signals to owners, nor leases, nor sizes of pipes.
    "fcntl": (72, {1: (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1034)}),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A program of the kernel's packet-filter machine, and where the job's own pid is to be written into it."""

    program: bytes
    pid_offsets: tuple[int, ...]

    def install(self, pid: int) -> None:
        """Put the filter on this process, for good. ``PR_SET_NO_NEW_PRIVS`` must be set."""
        program = bytearray(self.program)
        for offset in self.pid_offsets:
            program[offset : offset + 4] = pid.to_bytes(4, "little")
        buffer = ctypes.create_string_buffer(bytes(program), len(program))
        head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
        holder = ctypes.create_string_buffer(head, len(head))
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(holder))


def _statement(code: int, k: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("HBBI", code, true, false, k)


def build(*, processes: bool, writing: bool, own_mounts: bool, own_pids: bool, closing: bool = False) -> Filter:
    """Build a filter.

    Args:
        processes: programs may make processes and run other programs.
        writing: there is a place to write files.
        own_mounts: the mount namespace is the job's, so that calls which Landlock does not mediate reach nothing else.
        own_pids: the pid namespace is the job's, so that signals reach nothing else.
        closing: it goes on before the process that closes the jail, which needs more than the program.
    """
    allowed = set(COMMON.values())
    if writing:
        allowed |= set(WRITING.values())
    if own_mounts:
        allowed |= set(CHANGING.values())
    if processes:
        allowed |= set(PROCESSES.values())
    if own_pids:
        allowed |= set(_KILL_CALLS.values())
    lines = [
        _statement(_LOAD, 4),
        _statement(_JEQ, ARCH_X86_64, 1, 0),
        _statement(_RET, _KILL),
        _statement(_LOAD, 0),
        _statement(_JGE, X32_BIT, 0, 1),
        _statement(_RET, _KILL),
        _statement(_JEQ, _CLONE3, 0, 1),  # glibc then falls back to clone, whose flags can be checked
        _statement(_RET, _ERRNO | ENOSYS),
    ]
    if closing:
        allowed |= set(CLOSING.values())
    for number, arguments in _CHECKED.values():
        if number not in allowed:
            lines += _checked(number, arguments)
    lines += _clone(processes=processes)
    if not own_pids:
        for name in ("kill", "tgkill"):
            lines += _checked(_KILL_CALLS[name], {0: (_PID_MARK,)})
    for low, high in _ranges(allowed):
        lines += [_statement(_JGE, low, 0, 2), _statement(_JGT, high, 1, 0), _statement(_RET, _ALLOW)]
    lines.append(_statement(_RET, _ERRNO | EPERM))
    marks = tuple(n * 8 + 4 for n, line in enumerate(lines) if line[4:] == _PID_MARK.to_bytes(4, "little"))
    return Filter(b"".join(lines), marks)


def _clone(*, processes: bool) -> list[bytes]:
    """Threads pass, processes where they may be made, new namespaces never."""
    return [
        _statement(_JEQ, _CLONE, 0, 6),
        _statement(_LOAD, 16),
        _statement(_JSET, _CLONE_NAMESPACES, 0, 1),
        _statement(_RET, _ERRNO | EPERM),
        _statement(_JSET, 0xFFFFFFFF if processes else _CLONE_THREAD, 0, 1),
        _statement(_RET, _ALLOW),
        _statement(_RET, _ERRNO | EPERM),
    ]


def _checked(number: int, arguments: dict[int, tuple[int, ...]]) -> list[bytes]:
    """Allow a call when the low word of each of these arguments has one of its values."""
    block: list[bytes] = []
    for argument, values in arguments.items():
        tests = [_statement(_JEQ, value, len(values) - n, 0) for n, value in enumerate(values)]
        block += [_statement(_LOAD, 16 + 8 * argument), *tests, _statement(_RET, _ERRNO | EPERM)]
    block.append(_statement(_RET, _ALLOW))
    return [_statement(_JEQ, number, 0, len(block)), *block]


def _ranges(numbers: set[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges
