"""Small real models for examples, tests and benchmarks, from the Hub or, where there is none, from packages."""

from __future__ import annotations

from markscheme.benchmarks.models.cache import cache_folder, wheel_files
from markscheme.benchmarks.models.smollm import smollm2

__all__ = ["cache_folder", "smollm2", "wheel_files"]
