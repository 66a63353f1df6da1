"""The bias of the sum towards more steps, and the baseline that takes it away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import credit_by_hand as by_hand
from credit_groups import Groups, groups, law

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from markscheme.trainer.credit import process_advantages, step_count_baseline  # noqa: E402
from markscheme.verifiers.errors import CreditError  # noqa: E402

# Twelve good steps, three good steps, and two completions that begin well and go wrong.
REWARDS = [[0.9] * 12, [0.9] * 3, [0.9, 0.1, 0.1], [0.9, 0.1, 0.1]]
ENDS = [list(range(12)), [3, 7, 11], [3, 7, 11], [3, 7, 11]]


def with_baseline(rewards: Any, ends: Any, size: int, length: int, **options: Any) -> Any:
    process = process_advantages(rewards, ends, size, length, **options)
    return process - step_count_baseline(process, rewards, ends)


def test_the_sum_pays_four_times_as_much_for_four_times_as_many_steps() -> None:
    first = process_advantages(REWARDS, ENDS, 4, 12)[:, 0]
    assert first[0].item() == pytest.approx(5.7, abs=0.05)
    assert first[1].item() == pytest.approx(1.4, abs=0.05)


def test_with_the_baseline_twelve_good_steps_are_worth_three() -> None:
    first = with_baseline(REWARDS, ENDS, 4, 12)[:, 0]
    assert first[0].item() == pytest.approx(first[1].item(), rel=1e-6)
    assert first[0].item() == pytest.approx(0.473, abs=1e-3)
    assert first[2] < 0 < first[0]


@pytest.mark.parametrize("shared", ["step index", "token position", "leave-one-out"])
def test_no_baseline_that_completions_share_does_it(shared: str) -> None:
    """A shared baseline leaves the difference of two completions as it was, leave-one-out makes it larger."""
    first = process_advantages(REWARDS, ENDS, 4, 12)[:, 0]  # the first step, the first token: the same for all
    others = first.mean() if shared != "leave-one-out" else (first.sum() - first) / 3
    difference = first - others
    assert difference[0] - difference[1] >= first[0] - first[1] - 1e-6


@law
@given(some=groups(exact=False), std=st.sampled_from(["sample", "population", "none"]))
def test_equals_the_mean_of_the_steps_to_come(some: Groups, std: str) -> None:
    actual = with_baseline(*some.steps, std=std, dtype=torch.float64)
    expected = torch.tensor(by_hand.mean_to_go(*some.steps, std, 1e-4), dtype=torch.float64)
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=1e-9)


@law
@given(some=groups(), times=st.integers(1, 5))
def test_saying_every_step_again_changes_nothing(some: Groups, times: int) -> None:
    """Each step of each completion is said so many times over; population statistics do not see it either."""
    rewards = [[r for r in row for _ in range(times)] for row in some.step_rewards]
    ends = [[end * times + k for end in row for k in range(times)] for row in some.step_ends]
    repeated = with_baseline(rewards, ends, some.size, some.length * times, std="population", dtype=torch.float64)
    once = with_baseline(*some.steps, std="population", dtype=torch.float64)
    for row, (more, less) in enumerate(zip(repeated, once, strict=True)):
        for end in some.step_ends[row]:  # at the first token of each repeated step
            torch.testing.assert_close(more[end * times], less[end], rtol=1e-9, atol=1e-9)


@law
@given(some=groups())
def test_bounded_by_the_best_and_the_worst_step(some: Groups) -> None:
    alone = process_advantages(*some.steps, credit="delta", dtype=torch.float64)  # a step's own normalised reward
    actual = with_baseline(*some.steps, dtype=torch.float64)
    assert (actual <= alone.amax(dim=1, keepdim=True).clamp(min=0) + 1e-9).all()
    assert (actual >= alone.amin(dim=1, keepdim=True).clamp(max=0) - 1e-9).all()


def test_one_step_has_no_baseline() -> None:
    rewards, ends = [[1.0], [None, 0.0], []], [[2], [0, 2], []]
    process = process_advantages(rewards, ends, 3, 4)
    assert torch.equal(step_count_baseline(process, rewards, ends), torch.zeros(3, 4))


def test_the_tensor_must_fit_the_lists() -> None:
    with pytest.raises(CreditError, match=r"process of shape \(2, 4\): expected \(1, T\)"):
        step_count_baseline(torch.zeros(2, 4), [[1.0]], [[0]])
    with pytest.raises(CreditError, match="completion 0, step 0: ends at token 4, outside its 4 tokens"):
        step_count_baseline(torch.zeros(1, 4), [[1.0]], [[4]])
