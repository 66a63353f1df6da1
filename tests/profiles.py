"""Hypothesis profiles: the default is quick and the same on every run; MARKSCHEME_HYPOTHESIS=deep draws anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}
settings.register_profile("quick", max_examples=100, derandomize=True, database=None, **_COMMON)
settings.register_profile("deep", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("MARKSCHEME_HYPOTHESIS", "quick"))


def scaled(share: float) -> Callable[[Any], Any]:
    """Draw that share of the profile's examples: for properties whose examples are slow, or many families of them."""
    profile = settings.get_profile(os.environ.get("MARKSCHEME_HYPOTHESIS", "quick"))
    return settings(max_examples=max(1, round(profile.max_examples * share)))
