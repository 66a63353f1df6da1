"""Which markscheme this is."""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError, version


@functools.cache
def release() -> str:
    """The version that is installed, or "source" where sources are on the path and nothing is installed."""
    try:
        return version("markscheme")
    except PackageNotFoundError:
        return "source"
