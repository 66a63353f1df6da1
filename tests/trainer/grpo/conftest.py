"""A policy on disk for the trainer's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tinymodels import save_policy  # noqa: PLC0415

    return save_policy(tmp_path_factory.mktemp("policy"), layers=1)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRL warns that rollout functions are experimental."""
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
