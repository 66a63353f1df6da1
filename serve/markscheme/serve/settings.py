"""What a server is told when it starts."""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import PurePath
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from markscheme.verifiers.code.outcomes import Limits
from markscheme.verifiers.code.sandbox.pool import Level

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Settings(BaseModel):
    """How a server is bound, guarded and bounded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    """The address that it listens on."""
    port: int = Field(default=8377, ge=0, le=65535)
    """0: any free one."""
    token: str | None = Field(default=None, repr=False)
    """What each request must bear; None, for no token, only where ``host`` is a loopback address."""
    allowed_hosts: frozenset[str] = frozenset()
    """Names that the Host header may hold beside the address itself."""
    workers: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    """Requests that are worked on at once."""
    queue: int = Field(default=64, ge=0)
    """Requests that may wait; more are answered with 429."""
    level: Level = "strongest"
    """The sandbox's level."""
    limits: Limits = Limits(cpu_seconds=10, wall_seconds=60, idle_seconds=10, memory_bytes=2**30, files=16 * 2**20)
    """The most that a client may ask for, and what it gets where it asks for nothing (``files`` apart: 0)."""
    deadline: float = Field(default=5.0, gt=0)
    """The most seconds of computer algebra that a client may ask for."""
    body_bytes: int = Field(default=8 * 2**20, ge=1024)
    """The longest body of a request; a longer one is answered with 413."""
    body_seconds: float = Field(default=30.0, gt=0)
    """How long a body may take to arrive."""
    files: int = Field(default=64, ge=0)
    """Files that one request may bring, and that it may fetch."""
    cases: int = Field(default=1000, ge=1)
    """Cases that one request may bring."""
    judge: str | None = None
    """A judge of steps for ``/score``: a checkpoint's folder or name on the Hub."""
    judge_format: str = "auto"
    """The checkpoint's format."""
    judge_dtype: str = "auto"
    """Of its weights."""
    steps: int = Field(default=4096, ge=1)
    """Steps that one request may bring to the judge."""

    @model_validator(mode="after")
    def _guarded(self) -> Self:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(f"without a token only a loopback address may be bound, and {self.host} is none")
        return self

    @property
    def judge_name(self) -> str:
        """What clients are told of the judge: its name, not where its folder lies."""
        return "" if self.judge is None else PurePath(self.judge).name

    def allows_host(self, header: str) -> bool:
        """Whether a Host header names this server: a page that rebinds its own name to our address does not.

        An address in figures cannot be rebound, so where all addresses are bound any of them passes.
        """
        name = host_name(header)
        if name is None:
            return False
        if name in {self.host.lower(), *(one.lower() for one in self.allowed_hosts)}:
            return True
        if is_loopback(self.host):
            return name in LOOPBACK_NAMES
        if self.host in {"0.0.0.0", "::", ""}:  # noqa: S104 - a comparison
            return is_address(name) or name in {"localhost", socket.gethostname().lower()}
        return False


def host_name(header: str) -> str | None:
    """The name in a Host header, without its port; None where it is not well-formed."""
    text = header.strip().lower()
    if text.startswith("["):
        name, closed, port = text[1:].partition("]")
        if not closed or (port and not port.startswith(":")):
            return None
        port = port[1:]
    else:
        name, _, port = text.partition(":")
    return name if name and (not port or port.isdigit()) else None


def is_address(name: str) -> bool:
    """Whether a name is an IP address in figures."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address. Of names only ``localhost`` counts."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)
