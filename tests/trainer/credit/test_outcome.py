"""Outcome advantages against the float64 loop; groups without variance."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import credit_by_hand as by_hand
from credit_groups import HUNDREDTHS, RIGHT_OR_WRONG, SCORES, Groups, groups, law, orders_within_groups

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from markscheme.trainer.credit import outcome_advantages, zero_variance_groups  # noqa: E402

STDS = ["sample", "population", "none"]
REWARD = st.one_of(SCORES, RIGHT_OR_WRONG, HUNDREDTHS, st.none())


def doubles(rewards: list[float | None]) -> Any:
    return torch.tensor([math.nan if r is None else r for r in rewards], dtype=torch.float64)


@law
@given(
    rewards=st.integers(1, 3).flatmap(lambda groups: st.lists(REWARD, min_size=4 * groups, max_size=4 * groups)),
    size=st.sampled_from([1, 2, 4]),
    std=st.sampled_from(STDS),
    eps=st.sampled_from([1e-4, 0.0, 1.0]),
)
def test_equals_the_loop(rewards: list[float | None], size: int, std: str, eps: float) -> None:
    actual = outcome_advantages(doubles(rewards), size, std=std, eps=eps)
    expected = torch.tensor(by_hand.outcome(rewards, size, std, eps), dtype=torch.float64)
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-12)


@law
@given(some=groups(), shift=st.integers(-8, 8), scale=st.sampled_from([0.125, 3.0, 1024.0]))
def test_neither_shift_nor_scale_changes_it_without_epsilon(some: Groups, shift: int, scale: float) -> None:
    moved = outcome_advantages(doubles(some.mapped(lambda r: (r + shift) * scale).rewards), some.size, eps=0.0)
    torch.testing.assert_close(moved, outcome_advantages(doubles(some.rewards), some.size, eps=0.0), rtol=1e-9, atol=0)


@law
@given(data=st.data(), some=groups())
def test_the_order_within_a_group_does_not_matter(data: st.DataObject, some: Groups) -> None:
    order = data.draw(orders_within_groups(some))
    moved = outcome_advantages(doubles(some.ordered(order).rewards), some.size)
    straight = outcome_advantages(doubles(some.rewards), some.size)
    torch.testing.assert_close(moved, straight[order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("std", STDS)
@pytest.mark.parametrize("rewards", [[0.7] * 8, [0.1] * 8, [0.7, None] * 4, [None] * 7 + [1.0], [None] * 8])
def test_exact_zero_where_max_is_min(rewards: list[float | None], std: str) -> None:
    """Constant 0.7 has, in float32, a mean of another value and a standard deviation above 0."""
    assert torch.equal(outcome_advantages(rewards, 8, std=std), torch.zeros(8))
    assert torch.equal(outcome_advantages(rewards, 8, std=std, eps=0.0), torch.zeros(8))
    assert zero_variance_groups(rewards, 8).tolist() == [True]


def test_zero_variance_is_told_group_by_group() -> None:
    rewards = [0.7, 0.7, 0.7, 0.70000005, None, 0.2, None, None, -1.0, 1.0]
    assert zero_variance_groups(rewards, 2).tolist() == [True, False, True, True, False]
    assert zero_variance_groups([], 2).tolist() == []


def test_a_completion_without_reward_gets_zero_and_leaves_the_others_alone() -> None:
    three = outcome_advantages([1.0, 0.0, 1.0], 3)
    four = outcome_advantages([1.0, None, 0.0, 1.0], 4)
    assert four[1] == 0
    assert torch.equal(four[[0, 2, 3]], three)


def test_types() -> None:
    assert outcome_advantages([1, 0], 2).dtype == torch.float32
    assert outcome_advantages(torch.tensor([1, 0]), 2).dtype == torch.float32
    assert outcome_advantages(torch.tensor([1.0, 0.0], dtype=torch.bfloat16), 2).dtype == torch.float32
    assert outcome_advantages(torch.tensor([1.0, 0.0], dtype=torch.float64), 2).dtype == torch.float64
    assert outcome_advantages([], 2).shape == (0,)
    rewards = torch.tensor([1.0, 0.0], requires_grad=True)
    assert not outcome_advantages(rewards, 2).requires_grad
