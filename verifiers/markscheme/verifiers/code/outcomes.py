"""What running a program comes to, and the limits that it runs under."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class RunOutcome(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    """Exit status 0, no signal, within the limits."""
    RUNTIME_ERROR = "runtime_error"
    """An exception, an exit status other than 0, or a signal."""
    TIME = "time"
    """The CPU limit was reached."""
    IDLE = "idle"
    """It waited for longer than ``idle_seconds`` or ran past the wall limit."""
    MEMORY = "memory"
    """It ran out of memory."""
    OUTPUT = "output"
    """It wrote more than it may."""
    RESOURCE = "resource"
    """It broke its jail twice, beside another program that passed in a fresh one."""
    BROKEN = "broken"
    """The sandbox itself failed."""


class Limits(BaseModel):
    """What a run may use. CPU time is the limit that counts; wall time is a backstop against a loaded host."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpu_seconds: float = Field(default=5.0, gt=0)
    """CPU time of the run and all its processes, in seconds."""
    wall_seconds: float = Field(default=60.0, gt=0)
    """Wall time, in seconds."""
    idle_seconds: float = Field(default=3.0, gt=0)
    """Seconds of neither computing nor waiting for a processor (sleeping, reading what never comes)."""
    memory_bytes: int = Field(default=512 * 2**20, ge=64 * 2**20)
    """Address space beyond what the interpreter and its preloaded modules take, in bytes."""
    output_bytes: int = Field(default=4 * 2**20, ge=0)
    """Bytes that it may write to each of standard output and standard error."""
    processes: int = Field(default=1, ge=1, le=256)
    """Processes at once, looked at every 20 ms: one that is seen with more is ended. More than 1 needs level 3."""
    files: int = Field(default=0, ge=0)
    """Bytes of files that it may write in its own /tmp; 0: no place to write."""


class Execution(BaseModel):
    """A run, as it ended.

    Attributes:
        outcome: how it ended.
        exit_code: exit status, or None when a signal ended it.
        signal: number of the signal that ended it, or None.
        stdout: what it wrote, cut at the limit.
        stderr: likewise.
        cpu_seconds: CPU time used.
        wall_seconds: wall time from its start to its end.
        peak_memory_bytes: largest resident size.
        level: the sandbox's level: 3 namespaces, 2 Landlock and seccomp, 1 limits only.
        detail: one sentence for a person, where there is more to say.
        result: what a call returned, as the jail encoded it, or no encoding where that is too long; hostile until
            decoded.
    """

    model_config = ConfigDict(frozen=True)

    outcome: RunOutcome
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_memory_bytes: int = 0
    level: int = 0
    detail: str = ""
    result: bytes = b""
