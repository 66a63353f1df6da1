"""Hypothesis profiles: the default is quick and the same on every run; MARKSCHEME_HYPOTHESIS=deep draws anew."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}
settings.register_profile("quick", max_examples=100, derandomize=True, database=None, **_COMMON)
settings.register_profile("deep", max_examples=1000, **_COMMON)
settings.load_profile(os.environ.get("MARKSCHEME_HYPOTHESIS", "quick"))
