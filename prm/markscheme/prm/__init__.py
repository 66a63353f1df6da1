"""The judge of steps.

Names load on first use: finding a completion's steps needs neither torch nor transformers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.prm.alignment import Alignment, align
    from markscheme.prm.segment import StepSpan, StepSplitter, token_steps

_HOMES = {
    "Alignment": "alignment",
    "StepSpan": "segment",
    "StepSplitter": "segment",
    "align": "alignment",
    "token_steps": "segment",
}

__all__ = ["Alignment", "StepSpan", "StepSplitter", "align", "token_steps"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
