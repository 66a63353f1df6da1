"""Landlock: what a process may reach of the file system, for good, without any privilege."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from markscheme.verifiers.code.sandbox.linux import syscall

MIN_ABI = 3
"""The first version that refuses to truncate files."""
READ = 0b1101
"""Execute, read files, list folders."""
DEVICE = 0b0110
"""Read and write a file."""
WRITE = (1 << 15) - 2
"""Everything but execute: make, write and remove."""
_FILE_RIGHTS = 0b0111 | (1 << 14)
_NETWORK_ABI, _IOCTL_ABI, _SCOPE_ABI, _LOG_ABI = 4, 5, 6, 7


def abi() -> int:
    """The version of Landlock that this kernel offers; 0 for none."""
    try:
        return syscall("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def ruleset(rules: Iterable[tuple[str, int]], version: int) -> int:
    """Make a ruleset: nothing of the file system but these paths, no TCP, and no signals or abstract sockets outside.

    Args:
        rules: (path, rights); a path that is not there is left out.
        version: as ``abi`` gave it; 3 or more.

    Returns:
        Its descriptor.
    """
    handled = (1 << 15) - 1 if version < _IOCTL_ABI else (1 << 16) - 1  # ioctl on devices
    network = 3 if version >= _NETWORK_ABI else 0  # bind and connect by TCP
    scoped = 3 if version >= _SCOPE_ABI else 0  # abstract sockets and signals outside the domain
    size = 24 if version >= _SCOPE_ABI else 16 if version >= _NETWORK_ABI else 8
    attributes = b"".join(value.to_bytes(8, "little") for value in (handled, network, scoped))[:size]
    made = syscall("landlock_create_ruleset", ctypes.create_string_buffer(attributes, size), size, 0)
    try:
        for path, rights in rules:
            _allow(made, path, rights)
    except OSError:
        os.close(made)
        raise
    return made


def restrict(made: int, version: int) -> None:
    """Put this process under a ruleset, for good. What it is refused does not fill the host's audit log."""
    syscall("landlock_restrict_self", made, 1 if version >= _LOG_ABI else 0)


def _allow(made: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = rights.to_bytes(8, "little") + fd.to_bytes(4, "little")
        syscall("landlock_add_rule", made, 1, ctypes.create_string_buffer(rule, 12), 0)
    finally:
        os.close(fd)
