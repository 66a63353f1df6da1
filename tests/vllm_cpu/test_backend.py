"""``markscheme sample`` with vLLM's offline engine, held against transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Script = Callable[..., dict[str, Any]]
COUNT = 20


@pytest.fixture(scope="module")
def model(policy: Path) -> Path:
    """SmolLM2 where it lies in the cache, else a policy of a few thousand weights."""
    from markscheme.benchmarks.models.cache import cache_folder  # noqa: PLC0415

    cached = cache_folder() / "SmolLM2-135M-Instruct"
    return cached if cached.is_dir() else policy


@pytest.fixture(scope="module")
def sampled(
    script: Script, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., list[dict[str, Any]]]:
    """Rows of samples that a backend left for 20 problems."""
    folder = tmp_path_factory.mktemp("samples")
    sold = [
        {"question": f"A shop sells {i} pens at {i + 2} dollars each. What do they cost?"} for i in range(2, 2 + COUNT)
    ]
    rows = [{**row, "answer": f"{i} * {i + 2}\n#### {i * (i + 2)}"} for i, row in enumerate(sold, 2)]
    (folder / "problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def sample(backend: str, *more: str) -> list[dict[str, Any]]:
        out = folder / f"{backend}-{len(more)}.jsonl"
        fixed = ["--model", str(model), "--data", str(folder / "problems.jsonl"), "--dtype", "float32"]
        arguments = ["sample", "gsm8k", *fixed, "--max-tokens", "32", "--backend", backend, "-o", str(out), *more]
        found = script("command", {"arguments": arguments})
        assert found["code"] == 0, found["output"]
        return [json.loads(line) for line in out.read_text().splitlines()]

    return sample


ENGINE = ("--engine", "enforce_eager=true", "--engine", "max_model_len=512")


def test_greedy_completions_are_transformers(sampled: Callable[..., list[dict[str, Any]]]) -> None:
    ours, theirs = sampled("vllm", *ENGINE), sampled("transformers")
    assert len(ours) == len(theirs) == COUNT
    same = [one["completion"] == other["completion"] for one, other in zip(ours, theirs, strict=True)]
    # Two programs round in another order: where two tokens are equally likely, either may come first.
    assert sum(same) >= 18
    assert len({row["completion"][0] for row in ours}) > 1


def test_draws_of_more_prompts_than_a_batch_holds(sampled: Callable[..., list[dict[str, Any]]]) -> None:
    """The engine takes no prompt in parts: on a CPU a seeded one would end it."""
    rows = sampled("vllm", *ENGINE, "--engine", "max_num_batched_tokens=512", "-n", "3", "--preset", "focused")
    assert [len(row["completion"]) for row in rows] == [3] * COUNT


def test_draws_follow_the_seed(sampled: Callable[..., list[dict[str, Any]]]) -> None:
    drawn = ("-n", "2", "--preset", "focused", "--limit", "4", "--seed", "5")
    rows = sampled("vllm", *ENGINE, *drawn)
    assert [len(row["completion"]) for row in rows] == [2] * 4
    assert rows == sampled("vllm", *ENGINE, *drawn, "--fresh")
