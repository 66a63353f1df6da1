"""GRPO with outcome and per-step process supervision, on TRL.

Names load on first use. ``credit`` and ``kernel`` need torch alone; the trainer needs TRL.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from markscheme.verifiers.errors import MissingExtraError

if TYPE_CHECKING:
    from markscheme.trainer import credit, kernel
    from markscheme.trainer.callbacks import EarlyStoppingOnPlateau, RewardEMACallback, add_first
    from markscheme.trainer.config import ProcessGRPOConfig
    from markscheme.trainer.grpo import ProcessGRPOTrainer
    from markscheme.trainer.prm_reward import PRMStepReward
    from markscheme.trainer.similarity import SimilarityReward
    from markscheme.trainer.step_reward import StepReward
    from markscheme.trainer.watch import BrokenVerifierCallback

_HOMES = {
    "BrokenVerifierCallback": "watch",
    "EarlyStoppingOnPlateau": "callbacks",
    "PRMStepReward": "prm_reward",
    "ProcessGRPOConfig": "config",
    "ProcessGRPOTrainer": "grpo",
    "RewardEMACallback": "callbacks",
    "SimilarityReward": "similarity",
    "StepReward": "step_reward",
    "add_first": "callbacks",
}
_MODULES = {"credit", "kernel"}

__all__ = [
    "BrokenVerifierCallback",
    "EarlyStoppingOnPlateau",
    "PRMStepReward",
    "ProcessGRPOConfig",
    "ProcessGRPOTrainer",
    "RewardEMACallback",
    "SimilarityReward",
    "StepReward",
    "add_first",
    "credit",
    "kernel",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_HOMES.get(name, name)}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("markscheme"):
            raise
        raise MissingExtraError(f"{__name__}.{name} needs {error.name}: pip install 'markscheme[train]'") from error
    value = getattr(module, name) if name in _HOMES else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
