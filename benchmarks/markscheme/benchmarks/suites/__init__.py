"""Suites: public data sets as problems with gold answers."""

from __future__ import annotations

from markscheme.benchmarks.suites.gsm8k import Gsm8k
from markscheme.benchmarks.suites.math500 import Math500
from markscheme.benchmarks.suites.suite import Problem, Suite

SUITES: dict[str, Suite] = {suite.name: suite for suite in (Gsm8k(), Math500())}
"""Every suite, by the name that ``markscheme eval`` takes."""

__all__ = ["SUITES", "Gsm8k", "Math500", "Problem", "Suite"]
