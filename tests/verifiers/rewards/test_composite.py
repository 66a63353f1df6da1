from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from markscheme.verifiers.errors import DataError
from markscheme.verifiers.rewards import CompositeReward, MathReward


def part(name: str, rewards: list[float | None]) -> Any:
    def reward(completions: list[str], **_: Any) -> list[float | None]:
        assert len(completions) == len(rewards)
        return rewards

    reward.__name__ = name
    return reward


BATCH = {"prompts": ["q"] * 3, "completions": ["a", "b", "c"]}


def test_a_part_without_a_reward_takes_its_weight_with_it() -> None:
    reward = CompositeReward([(part("one", [1.0, None, None]), 3.0), (part("two", [0.0, 0.5, None]), 1.0)])
    assert reward(**BATCH) == [0.75, 0.5, None]
    total = CompositeReward(reward.parts, combine="sum")
    assert total(**BATCH) == [3.0, 0.5, None]


def test_a_negative_weight_is_a_penalty() -> None:
    reward = CompositeReward([(part("right", [1.0, 1.0, 0.0]), 1.0), (part("long", [0.0, 1.0, 1.0]), -0.25)])
    assert reward(**BATCH) == [0.8, 0.6, -0.2]


def test_coroutines_are_awaited_together_also_inside_a_loop() -> None:
    started: list[str] = []

    def slow(name: str) -> Any:
        async def reward(completions: list[str], **_: Any) -> list[float]:
            started.append(name)
            while len(started) < 2:  # ends only if the other starts too
                await asyncio.sleep(0.001)
            return [1.0] * len(completions)

        reward.__name__ = name
        return reward

    reward = CompositeReward([(slow("one"), 1.0), (slow("two"), 1.0)])
    assert reward(**BATCH) == [1.0, 1.0, 1.0]

    async def inside() -> list[float | None]:
        return reward(**BATCH)

    started.clear()
    assert asyncio.run(inside()) == [1.0, 1.0, 1.0]


def test_parts_are_logged_by_name() -> None:
    columns: dict[str, list[Any]] = {}
    metrics: dict[str, float] = {}
    reward = CompositeReward([(part("one", [1.0, None, 0.0]), 1.0), (part("two", [None] * 3), 1.0)], name="all")
    reward(**BATCH, log_extra=columns.__setitem__, log_metric=metrics.__setitem__)
    assert columns == {"all/one": [1.0, None, 0.0], "all/two": [None] * 3}
    assert metrics == {"all/one/scored": 2 / 3, "all/one/mean": 0.5, "all/two/scored": 0.0}


def test_real_parts_get_their_columns() -> None:
    reward = CompositeReward([(MathReward(alarm=False), 1.0), (part("other", [0.0, 0.0]), 1.0)])
    assert reward(prompts=["q"] * 2, completions=["\\boxed{4}", "\\boxed{5}"], answer=["4", "4"]) == [0.5, 0.0]


def test_what_cannot_be_a_composite_is_refused() -> None:
    one = part("one", [1.0])
    with pytest.raises(ValueError, match="needs parts"):
        CompositeReward([])
    with pytest.raises(ValueError, match="two parts are called 'one'"):
        CompositeReward([(one, 1.0), (one, 1.0)])
    for weight in (0.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="the weight of one must be finite and not 0"):
            CompositeReward([(one, weight)])
    with pytest.raises(TypeError, match="must be a reward function, not str"):
        CompositeReward([("math", 1.0)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"must come with its weight, as \(MathReward\(\), 1.0\), not function"):
        CompositeReward([one])  # type: ignore[list-item]
    with pytest.raises(ValueError, match='"mean" or "sum"'):
        CompositeReward([(one, 1.0)], combine="max")  # type: ignore[arg-type]


def test_what_a_part_gives_is_checked() -> None:
    def short(completions: list[str], **_: Any) -> list[float]:
        del completions
        return [1.0]

    with pytest.raises(DataError, match="short: expected one reward, or None, for each of 3 completions; it gave 1"):
        CompositeReward([(short, 1.0)])(**BATCH)
    for bad, shown in ((math.nan, "nan"), ("right", "'right'"), ([1.0], r"\[1.0\]")):
        with pytest.raises(DataError, match=f"bad: completion 1: reward {shown}; expected a finite number, and None"):
            CompositeReward([(part("bad", [1.0, bad, 0.0]), 1.0)])(**BATCH)  # type: ignore[list-item]
