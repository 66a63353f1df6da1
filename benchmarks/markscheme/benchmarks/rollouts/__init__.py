"""Rollouts: completions for a suite's problems, from transformers, vLLM or any server that speaks OpenAI's protocol."""

from __future__ import annotations

from markscheme.benchmarks.rollouts.backend import BACKENDS, Backend, Generated, open_backend
from markscheme.benchmarks.rollouts.collect import SampleFile, collect
from markscheme.benchmarks.rollouts.function import BackendGenerate
from markscheme.benchmarks.rollouts.prompts import Prompt, Prompter
from markscheme.benchmarks.rollouts.sampling import PRESETS, Sampling

__all__ = [
    "BACKENDS",
    "PRESETS",
    "Backend",
    "BackendGenerate",
    "Generated",
    "Prompt",
    "Prompter",
    "SampleFile",
    "Sampling",
    "collect",
    "open_backend",
]
