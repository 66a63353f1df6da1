"""Why tests on a CPU need the plugin: without it vLLM says that it loaded new weights, and goes on with the old."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Script = Callable[..., dict[str, Any]]
PROMPTS = ["1+1=", "20+7=", "(3-1)*8="]


def greedy(folder: Path) -> list[list[int]]:
    """Completions of 16 tokens at most, by transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    found = []
    for prompt in PROMPTS:
        ids: Any = tokenizer(prompt, return_tensors="pt")
        output = model.generate(**ids, max_new_tokens=16, do_sample=False, pad_token_id=tokenizer.pad_token_id)
        found.append(output[0, ids["input_ids"].shape[1] :].tolist())
    return found


def reloaded(script: Script, policy: Path, other: Path, **variables: str) -> dict[str, Any]:
    found = script("reload", {"policy": str(policy), "other": str(other), "prompts": PROMPTS}, **variables)
    assert found["code"] == 0, found["output"]
    assert found["before"] == greedy(policy)
    return found


def test_with_it_new_weights_are_used(script: Script, policy: Path, other_policy: Path) -> None:
    found = reloaded(script, policy, other_policy)
    assert found["after"] == greedy(other_policy)
    assert found["after"] != found["before"]


def test_without_it_linear_layers_keep_the_old_ones_silently(script: Script, policy: Path, other_policy: Path) -> None:
    found = reloaded(script, policy, other_policy, VLLM_PLUGINS="")
    assert found["after"] != greedy(other_policy), "vLLM's CPU backend loads new weights by itself: drop the plugin"
