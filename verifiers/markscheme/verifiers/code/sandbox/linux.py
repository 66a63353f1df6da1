"""The Linux system calls that a jail is made of, by ctypes: no compiled extension.

x86-64 only: the numbers below are that architecture's.
"""

from __future__ import annotations

import ctypes
import os
import platform

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_PIDFD, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x00001000, 0x00200000, 0x01000000
SIGCHLD = 17

# The mount attributes of mount_setattr have the same values.
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 32, 4096, 8192, 16384, 1 << 18
MNT_DETACH, AT_FDCWD, AT_RECURSIVE = 2, -100, 0x8000

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_GET_TID_ADDRESS = 36, 38, 40
SECCOMP_MODE_FILTER = 2

_NUMBERS = {
    "clone": 56,
    "capset": 126,
    "pivot_root": 155,
    "pidfd_send_signal": 424,
    "close_range": 436,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
# PyDLL holds the interpreter's lock over the call: a clone must not leave the child without it.
_libc = ctypes.PyDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class UnsupportedHost(OSError):
    """The host is not Linux on x86-64."""


def require_host() -> None:
    """Raise UnsupportedHost where the system call numbers here do not hold."""
    if platform.system() != "Linux" or platform.machine() != "x86_64" or ctypes.sizeof(ctypes.c_void_p) != 8:
        found = f"{platform.system()} on {platform.machine()}"
        raise UnsupportedHost(f"the sandbox is for Linux on x86-64; this is {found}, which nobody has tested it on")


def syscall(name: str, *args: int | ctypes.c_char_p | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a system call. Raises OSError with the call's name."""
    result = int(_libc.syscall(ctypes.c_long(_NUMBERS[name]), *(_word(arg) for arg in args)))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def _word(arg: object) -> object:
    return ctypes.c_long(arg) if isinstance(arg, int) else arg


def _checked(name: str, result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Move this process into new namespaces."""
    _checked("unshare", _libc.unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount, bind or remount."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None
    )
    _checked(f"mount {target}", result)


def unmount(target: str, flags: int = 0) -> None:
    """Unmount."""
    _checked(f"umount {target}", _libc.umount2(target.encode(), ctypes.c_int(flags)))


def pivot_root(new: str, old: str) -> None:
    """Make ``new`` the root and put the old root at ``old``."""
    syscall("pivot_root", ctypes.c_char_p(new.encode()), ctypes.c_char_p(old.encode()))


def prctl(option: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
    """Process control."""
    words = [ctypes.c_ulong(value) for value in (a, b, c, d)]
    return _checked(f"prctl {option}", _libc.prctl(ctypes.c_int(option), *words))


def protect_mounts(target: str, flags: int) -> None:
    """Put flags on a mount and all below it; those that are there stay."""
    attributes = ctypes.create_string_buffer(flags.to_bytes(8, "little") + bytes(24), 32)
    syscall("mount_setattr", AT_FDCWD, ctypes.c_char_p(target.encode()), AT_RECURSIVE, attributes, 32)


def _tid_address() -> int:
    """Where the C library keeps this thread's id; 0 where the kernel does not tell."""
    address = ctypes.c_ulong(0)
    try:
        prctl(PR_GET_TID_ADDRESS, ctypes.addressof(address))
    except OSError:
        return 0
    return address.value


def fork_into(flags: int) -> tuple[int, int]:
    """Fork with namespace flags: (pid, pidfd) in the parent, (0, -1) in the child."""
    pidfd = ctypes.c_int(-1)
    number = ctypes.c_long(_NUMBERS["clone"])
    address = _tid_address()  # else the child's raise() and its recursive mutexes would use the parent's id
    if address:
        flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID
    word = ctypes.c_ulong(flags | CLONE_PIDFD | SIGCHLD)
    pid = int(_libc.syscall(number, word, None, ctypes.byref(pidfd), ctypes.c_ulong(address), None))
    _checked("clone", pid)
    return pid, pidfd.value if pid else -1


def kill_pidfd(pidfd: int, number: int) -> None:
    """Send a signal through a pidfd; a process that has ended is no error."""
    try:
        syscall("pidfd_send_signal", pidfd, number, None, 0)
    except ProcessLookupError:
        return


def close_range(first: int, last: int) -> None:
    """Close every descriptor from ``first`` to ``last``."""
    syscall("close_range", first, last, 0)


def drop_capabilities() -> None:
    """Give up every capability, also those that an exec could bring back."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one, or none to drop with
    header = ctypes.create_string_buffer((0x20080522).to_bytes(4, "little") + bytes(4), 8)
    syscall("capset", header, ctypes.create_string_buffer(24))
