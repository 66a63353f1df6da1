"""First-error credit against the loop, and each of its rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import credit_by_hand as by_hand
from credit_groups import Groups, groups, law

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from markscheme.trainer.credit import first_error_advantages, outcome_advantages  # noqa: E402
from markscheme.verifiers.errors import CreditError  # noqa: E402

SOME = st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0])


@law
@given(some=groups(), threshold=SOME, outcome_threshold=SOME, prefix_credit=SOME, flawed_weight=SOME)
def test_equals_the_loop(some: Groups, **options: float) -> None:
    rewards = torch.tensor([float("nan") if r is None else r for r in some.rewards], dtype=torch.float64)
    actual = first_error_advantages(rewards, *some.steps, **options)
    expected = torch.tensor(by_hand.first_error(some.rewards, *some.steps, **options), dtype=torch.float64)
    torch.testing.assert_close(actual, expected.view_as(actual), rtol=1e-6, atol=1e-12)


def credit(rewards: Any, steps: Any, **options: Any) -> Any:
    """Two tokens a step, and one token past the last."""
    ends = [[2 * k + 1 for k in range(len(row))] for row in steps]
    length = 2 * max(map(len, steps)) + 1
    return first_error_advantages(rewards, steps, ends, len(rewards), length, std="population", eps=0.0, **options)


def test_blame_begins_at_the_first_wrong_step() -> None:
    actual = credit([1, 0], [[1, 1, 1], [1, 0, 0]])
    assert actual.tolist() == [[1.0] * 7, [0, 0, -1, -1, -1, -1, -1]]


def test_a_step_without_a_claim_is_not_wrong_and_keeps_its_place() -> None:
    actual = credit([1, 0], [[1, 1, 1], [None, None, 0]])
    assert actual[1].tolist() == [0, 0, 0, 0, -1, -1, -1]


def test_a_wrong_first_step_leaves_nothing_to_spare() -> None:
    assert credit([1, 0], [[1], [0]], prefix_credit=0.5)[1].tolist() == [-1, -1, -1]


def test_prefix_credit_is_an_advantage() -> None:
    assert credit([1, 0], [[1, 1], [1, 0]], prefix_credit=0.25)[1].tolist() == [0.25, 0.25, -1, -1, -1]


def test_a_right_answer_with_a_wrong_step_gets_half_praise() -> None:
    actual = credit([1, 1, 0, 0], [[1, 1], [1, 0], [0, 1], [1, 1]])
    assert actual[:, 0].tolist() == [1, 0.5, -1, -1]
    assert (actual == actual[:, :1]).all()


def test_half_praise_is_not_half_blame() -> None:
    """A right answer below its group's mean: its wrong step does not make that better."""
    actual = credit([1.0, 3.0], [[0], [1]])
    assert actual.tolist() == [[-1.0] * 3, [1.0] * 3]


def test_a_wrong_answer_above_its_groups_mean_is_not_praised_from_its_error_on() -> None:
    actual = credit([0.2, 0.0], [[1, 0], [1, 1]])
    assert actual.tolist() == [[0.0] * 5, [-1.0] * 5]


def test_without_a_located_error_it_is_outcome_supervision() -> None:
    rewards = [1.0, 0.0, 0.0, 1.0]
    actual = first_error_advantages(rewards, [[1, 1], [None, 1], [], None], [[0, 3], [1, 2], [], None], 4, 4)
    assert torch.equal(actual, outcome_advantages(rewards, 4).unsqueeze(1).expand(4, 4))


@pytest.mark.parametrize("rewards", [[0.0, 0.0], [1.0, 1.0], [None, 0.0], [None, None]])
def test_a_group_where_nothing_differs_gets_exact_zero(rewards: list[float | None]) -> None:
    assert torch.equal(credit(rewards, [[1, 0], [0, 1]], prefix_credit=0.3), torch.zeros(2, 5))


def test_a_completion_without_a_reward_gets_zero() -> None:
    assert not credit([1, None, 0], [[1, 1], [1, 0], [1, 0]], prefix_credit=0.3)[1].any()


def test_the_threshold_itself_is_right() -> None:
    assert credit([1, 0], [[1, 1], [1, 0.5]])[1].tolist() == [-1] * 5
    assert credit([1, 0], [[1, 1], [1, 0.5]], threshold=0.6)[1].tolist() == [0, 0, -1, -1, -1]


def test_what_cannot_be() -> None:
    with pytest.raises(CreditError, match="2 outcome rewards and step rewards of 1 completions"):
        first_error_advantages([1, 0], [[1]], [[0]], 2, 3)
    with pytest.raises(CreditError, match="flawed_weight=nan: expected a finite number"):
        credit([1, 0], [[1], [0]], flawed_weight=float("nan"))
    with pytest.raises(CreditError, match="completion 1, step 0: ends at token 2, outside its 2 tokens"):
        first_error_advantages([1, 0], [[1], [0]], [[0], [2]], 2, 3, lengths=[3, 2])
