"""A pytest plugin that puts our trainer (and settings) in the place of TRL's: MARKSCHEME_PEER names the arm."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import pytest

ARMS = {
    "trl": "TRL's trainer and settings",
    "trainer": "our trainer, TRL's settings",
    "both": "our trainer and settings",
}


def asked_of_another_release(name: str) -> Callable[[], bool]:
    """`is_<package>_available`, which the tests of a neighbouring release import from where it no longer is."""
    package = name.removeprefix("is_").removesuffix("_available")
    if name != f"is_{package}_available":
        raise AttributeError(name)
    return lambda: find_spec(package) is not None


def pytest_configure(config: pytest.Config) -> None:
    import trl  # noqa: PLC0415

    arm = os.environ["MARKSCHEME_PEER"]
    assert arm in ARMS
    import_module("trl.import_utils").__getattr__ = asked_of_another_release  # type: ignore[attr-defined]
    if arm == "trl":
        return
    from peersettings import PeerConfig  # noqa: PLC0415

    from markscheme.trainer import ProcessGRPOTrainer  # noqa: PLC0415

    trl.GRPOTrainer = ProcessGRPOTrainer
    if arm == "both":
        trl.GRPOConfig = PeerConfig
