"""The jail: levels, filters, the zygote and its supervisor."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markscheme.verifiers.code.sandbox.hosts import capabilities
    from markscheme.verifiers.code.sandbox.levels import Capabilities
    from markscheme.verifiers.code.sandbox.pool import Sandbox
    from markscheme.verifiers.code.sandbox.supervisor import SandboxError

__all__ = ["Capabilities", "Sandbox", "SandboxError", "capabilities"]
# Loaded when asked for: the zygote imports this package too, and needs none of the trusted side.
_HOMES = {"Capabilities": "levels", "Sandbox": "pool", "SandboxError": "supervisor", "capabilities": "hosts"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
