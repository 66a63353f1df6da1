"""Bulk judging on an existing engine: resumable shards, judged by Ray Data. Names load on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.verifiers.bulk.engine import Account, RayOptions, run_shards
    from markscheme.verifiers.bulk.shards import Shards
    from markscheme.verifiers.bulk.work import Failure, GradeWork, ProgramWork, ShardWorker, Work

_HOMES = {
    "Account": "engine",
    "Failure": "work",
    "GradeWork": "work",
    "ProgramWork": "work",
    "RayOptions": "engine",
    "ShardWorker": "work",
    "Shards": "shards",
    "Work": "work",
    "run_shards": "engine",
}

__all__ = [
    "Account",
    "Failure",
    "GradeWork",
    "ProgramWork",
    "RayOptions",
    "ShardWorker",
    "Shards",
    "Work",
    "run_shards",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
