"""What reaches vLLM, by a stand-in for it; tests/vllm_cpu runs the real one."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from markscheme.benchmarks.rollouts import Prompt, Sampling
from markscheme.benchmarks.rollouts.vllm_backend import VllmBackend


class Engine:
    def __init__(self, **given: Any) -> None:
        self.given = given

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


@pytest.fixture(params=[False, True], ids=["gpu", "cpu"])
def on_cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    fake, platforms = ModuleType("vllm"), ModuleType("vllm.platforms")
    fake.LLM, fake.SamplingParams = Engine, SimpleNamespace  # type: ignore[attr-defined]
    platforms.current_platform = SimpleNamespace(is_cpu=lambda: request.param)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", fake)
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    return bool(request.param)


def test_a_cpu_takes_no_prompt_in_parts(*, on_cpu: bool) -> None:
    given = VllmBackend("model").engine.given
    assert given.get("enable_chunked_prefill") == (False if on_cpu else None)
    told = VllmBackend("model", engine={"enable_chunked_prefill": True}).engine.given
    assert told["enable_chunked_prefill"] is True


@pytest.mark.usefixtures("on_cpu")
def test_no_two_completions_are_drawn_by_one_seed() -> None:
    prompts = [Prompt(text="the same")] * 3
    found = VllmBackend("model").generate(prompts, Sampling(n=4, temperature=1.0), 100)
    assert [int(one.text) for group in found for one in group] == list(range(100, 112))
