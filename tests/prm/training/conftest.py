"""A backbone of a few thousand weights, and what every test of training sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def backbone_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import tiny_judges as tiny  # noqa: PLC0415 - torch is known to be there when a test asks

    return tiny.save_causal(tmp_path_factory.mktemp("backbone") / "small", "small")


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Any]:
    """Settings for a few quick steps on the CPU."""
    from markscheme.prm.training import PRMConfig  # noqa: PLC0415

    def make(**changes: Any) -> PRMConfig:
        fields: dict[str, Any] = {
            "output_dir": str(tmp_path / "judge"),
            "max_steps": 4,
            "per_device_train_batch_size": 4,
            "learning_rate": 1e-3,
            "lr_scheduler_type": "constant",
            "save_strategy": "no",
            "use_cpu": True,
            "report_to": "none",
            "disable_tqdm": True,
            "max_length": 256,
        }
        return PRMConfig(**{**fields, **changes})

    return make
