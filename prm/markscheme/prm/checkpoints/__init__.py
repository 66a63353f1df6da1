"""Readers of judges of steps: those that `PRMTrainer` writes, and the public ones.

Names load on first use, and torch and transformers with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.prm.checkpoints.base import Checkpoint, ImplicitCheckpoint
    from markscheme.prm.checkpoints.detect import FORMATS, detect_format, load_checkpoint

_HOMES = {
    "FORMATS": "detect",
    "Checkpoint": "base",
    "ImplicitCheckpoint": "base",
    "detect_format": "detect",
    "load_checkpoint": "detect",
}

__all__ = ["FORMATS", "Checkpoint", "ImplicitCheckpoint", "detect_format", "load_checkpoint"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
