"""Training judges of steps: ``PRMTrainer`` and its settings.

Names load on first use, and torch and transformers with them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.prm.training.config import PRMConfig
    from markscheme.prm.training.trainer import PRMTrainer

_HOMES = {"PRMConfig": "config", "PRMTrainer": "trainer"}

__all__ = ["PRMConfig", "PRMTrainer"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
