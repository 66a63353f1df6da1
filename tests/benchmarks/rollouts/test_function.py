from __future__ import annotations

from collections.abc import Sequence

import pytest

from markscheme.benchmarks.rollouts import BackendGenerate, Generated, Prompt, Sampling
from markscheme.verifiers.errors import DataError


class Seeded:
    """Writes its seed."""

    chats = True
    identity = "seeded"

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling, seed: int) -> list[list[Generated]]:
        return [
            [Generated(f"{p.text or p.messages[0]['content']} {seed} {i}", 1, "stop") for i in range(sampling.n)]
            for p in prompts
        ]


def test_completions_follow_from_prompts_and_seed_alone() -> None:
    made = [BackendGenerate(Seeded(), Sampling(temperature=1, seed=seed)) for seed in (1, 1, 2)]
    first, second, other = (one(["a", "b"], 2) for one in made)
    assert first == second != other
    assert [len(group) for group in first] == [2, 2]
    assert made[0](["a", "b"], 2) != first  # asked again, it draws again
    assert made[1](["c"], 1) == made[0](["c"], 1)
    assert made[0].identity == made[1].identity != made[2].identity


def test_messages() -> None:
    found = BackendGenerate(Seeded(), Sampling())([[{"role": "user", "content": "hi"}]], 1)
    assert found[0][0].startswith("hi ")


def test_no_prompts_and_prompts_of_two_styles() -> None:
    generate = BackendGenerate(Seeded(), Sampling())
    assert generate([], 3) == []
    with pytest.raises(DataError, match="texts and messages in one call"):
        generate(["a", [{"role": "user", "content": "hi"}]], 1)
