"""The verifiers and judges over HTTP: answers graded, programs run, steps scored. Needs ``markscheme[serve]``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markscheme.serve.app import create_app
    from markscheme.serve.server import serve
    from markscheme.serve.settings import Settings
    from markscheme.serve.tokens import find_token

__all__ = ["Settings", "create_app", "find_token", "serve"]
# Loaded when asked for: `markscheme serve --help` and its checks of options need no FastAPI.
_HOMES = {"Settings": "settings", "create_app": "app", "find_token": "tokens", "serve": "server"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
