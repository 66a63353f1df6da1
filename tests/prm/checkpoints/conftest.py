"""Checkpoints laid out as the public ones, written once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def makers() -> dict[str, Callable[[Path], Path]]:
    import tiny_judges as tiny  # noqa: PLC0415 - torch is known to be there when a test asks

    return {
        "qwen2.5-math-prm": tiny.save_qwen_prm,
        "skywork-o1": tiny.save_skywork,
        "PURE-PRM-7B": tiny.save_pure,
        "math-shepherd-mistral-7b-prm": lambda folder: tiny.save_causal(folder, "mistral"),
        "RLHFlow-Llama3.1-8B-PRM": lambda folder: tiny.save_causal(folder, "llama"),
        "RLHFlow-Mistral-PRM": lambda folder: tiny.save_causal(folder, "mistral-turns"),
        "EurusPRM-Stage2": lambda folder: tiny.save_causal(folder, "small", seed=1),
        "reference": lambda folder: tiny.save_causal(folder, "small", seed=2),
    }


class Checkpoints:
    """Writes a checkpoint when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str) -> Path:
        folder = self._folder / name
        if not folder.exists():
            makers()[name](folder)
        return folder


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Checkpoints:
    return Checkpoints(tmp_path_factory.mktemp("checkpoints"))
