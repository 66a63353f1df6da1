"""What reaches vLLM, by a stand-in for it; tests/vllm_cpu runs the real one."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from markscheme.benchmarks.rollouts import Prompt, Sampling
from markscheme.benchmarks.rollouts.vllm_backend import VllmBackend


class Engine:
    def __init__(self, **_: Any) -> None: ...

    def generate(self, prompts: list[str], params: list[Any], *, use_tqdm: bool) -> list[Any]:
        """Each completion says its seed, as vLLM makes it: the request's, plus the completion's place."""
        return [
            SimpleNamespace(
                outputs=[
                    SimpleNamespace(text=str(one.seed + place), token_ids=[1], finish_reason="stop")
                    for place in range(one.n)
                ]
            )
            for one in params
        ]


def test_no_two_completions_are_drawn_by_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("vllm")
    fake.LLM, fake.SamplingParams = Engine, SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", fake)
    prompts = [Prompt(text="the same")] * 3
    found = VllmBackend("model").generate(prompts, Sampling(n=4, temperature=1.0), 100)
    assert [int(one.text) for group in found for one in group] == list(range(100, 112))
