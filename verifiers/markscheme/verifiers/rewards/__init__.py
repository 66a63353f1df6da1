"""Reward functions for TRL, verl and OpenRLHF, and the alarm that they share.

Names load on first use; neither torch nor a trainer is imported until a function needs it. verl and OpenRLHF load a
function from a file: see the modules ``verl`` and ``openrlhf``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.verifiers.rewards.ahead import Ahead
    from markscheme.verifiers.rewards.alarm import BrokenVerifierAlarm, RewardAlarm
    from markscheme.verifiers.rewards.code import CodeReward, OpenRLHFCodeReward
    from markscheme.verifiers.rewards.code import compute_score as verl_code_compute_score
    from markscheme.verifiers.rewards.code import reward_func as openrlhf_code_reward_func
    from markscheme.verifiers.rewards.composite import CompositeReward
    from markscheme.verifiers.rewards.openrlhf import OpenRLHFReward
    from markscheme.verifiers.rewards.openrlhf import reward_func as openrlhf_reward_func
    from markscheme.verifiers.rewards.trl import MathReward
    from markscheme.verifiers.rewards.verl import compute_score as verl_compute_score

_HOMES = {
    "Ahead": ("ahead", "Ahead"),
    "BrokenVerifierAlarm": ("alarm", "BrokenVerifierAlarm"),
    "CodeReward": ("code", "CodeReward"),
    "CompositeReward": ("composite", "CompositeReward"),
    "MathReward": ("trl", "MathReward"),
    "OpenRLHFCodeReward": ("code", "OpenRLHFCodeReward"),
    "OpenRLHFReward": ("openrlhf", "OpenRLHFReward"),
    "RewardAlarm": ("alarm", "RewardAlarm"),
    "openrlhf_code_reward_func": ("code", "reward_func"),
    "openrlhf_reward_func": ("openrlhf", "reward_func"),
    "verl_code_compute_score": ("code", "compute_score"),
    "verl_compute_score": ("verl", "compute_score"),
}

__all__ = [
    "Ahead",
    "BrokenVerifierAlarm",
    "CodeReward",
    "CompositeReward",
    "MathReward",
    "OpenRLHFCodeReward",
    "OpenRLHFReward",
    "RewardAlarm",
    "openrlhf_code_reward_func",
    "openrlhf_reward_func",
    "verl_code_compute_score",
    "verl_compute_score",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
