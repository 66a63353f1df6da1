"""Process advantages against float64 loops, and the laws that they keep."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import credit_by_hand as by_hand
from credit_groups import Groups, groups, law, orders_within_groups

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from markscheme.trainer.credit import outcome_advantages, process_advantages  # noqa: E402

FORMS = ["sum", "min", "delta", "clip"]
STDS = ["sample", "population", "none"]
form = pytest.mark.parametrize("credit", FORMS)


def table(some: Groups, **options: Any) -> Any:
    return process_advantages(*some.steps, dtype=torch.float64, **options)


def close(actual: Any, expected: Any, rel: float = 1e-6) -> None:
    """Within 1e-6 of each value, or of 1e-9 where sums cancel."""
    torch.testing.assert_close(actual, torch.as_tensor(expected, dtype=actual.dtype), rtol=rel, atol=1e-9)


# Against the loops -----------------------------------------------------------------------------------------------


@form
@law
@given(some=groups(exact=False), std=st.sampled_from(STDS), eps=st.sampled_from([1e-4, 0.0, 1.0]))
def test_equals_the_loop(credit: str, some: Groups, std: str, eps: float) -> None:
    actual = process_advantages(*some.steps, credit=credit, std=std, eps=eps)
    assert actual.dtype == torch.float32
    assert actual.shape == (len(some.rewards), some.length)
    expected = torch.tensor(by_hand.process(*some.steps, credit=credit, std=std, eps=eps), dtype=torch.float64)
    # Float32 is the result's type alone: what cancels does so in float64.
    torch.testing.assert_close(actual.double(), expected, rtol=1e-6, atol=1e-9)


@law
@given(some=groups(exact=False), tau=st.sampled_from([0.02, 0.1, 3.0]), eta=st.sampled_from([-0.5, 0.25, 0.9]))
def test_equals_the_loop_at_other_temperatures_and_thresholds(some: Groups, tau: float, eta: float) -> None:
    close(table(some, credit="min", tau=tau), by_hand.process(*some.steps, credit="min", tau=tau))
    close(table(some, credit="clip", eta=eta), by_hand.process(*some.steps, credit="clip", eta=eta))


# Laws ------------------------------------------------------------------------------------------------------------


@law
@given(credit=st.sampled_from(["sum", "delta"]), some=groups(), shift=st.integers(-8, 8))
def test_a_shift_of_all_rewards_changes_nothing(credit: str, some: Groups, shift: int) -> None:
    close(table(some.mapped(lambda r: r + shift), credit=credit), table(some, credit=credit))


@law
@given(some=groups(), shift=st.integers(-8, 8))
def test_a_shift_of_rewards_and_threshold_changes_nothing(some: Groups, shift: int) -> None:
    shifted = table(some.mapped(lambda r: r + shift), credit="clip", eta=0.5 + shift)
    close(shifted, table(some, credit="clip", eta=0.5))


@law
@given(credit=st.sampled_from(FORMS), some=groups(), scale=st.sampled_from([0.125, 3.0, 1024.0]))
def test_a_scale_changes_nothing_without_epsilon(credit: str, some: Groups, scale: float) -> None:
    scaled = table(some.mapped(lambda r: r * scale), credit=credit, eps=0.0, tau=0.1 * scale, eta=0.5 * scale)
    close(scaled, table(some, credit=credit, eps=0.0, tau=0.1, eta=0.5))


@law
@given(credit=st.sampled_from(FORMS), data=st.data(), some=groups())
def test_the_order_within_a_group_does_not_matter(credit: str, data: st.DataObject, some: Groups) -> None:
    order = data.draw(orders_within_groups(some))
    close(table(some.ordered(order), credit=credit), table(some, credit=credit)[order])


@law
@given(credit=st.sampled_from(FORMS), some=groups())
def test_groups_do_not_meet(credit: str, some: Groups) -> None:
    whole = table(some, credit=credit)
    for first in range(0, len(some.rewards), some.size):
        rows = list(range(first, first + some.size))
        close(whole[rows], table(some.ordered(rows), credit=credit))


@law
@given(credit=st.sampled_from(FORMS), some=groups(), std=st.sampled_from(STDS))
def test_one_step_at_the_last_token_is_outcome_supervision(credit: str, some: Groups, std: str) -> None:
    last = some.length - 1
    steps = [[reward] for reward in some.rewards]
    actual = process_advantages(steps, [[last]] * len(steps), some.size, some.length, credit=credit, std=std, eta=9.0)
    rewards = torch.tensor([float("nan") if r is None else r for r in some.rewards], dtype=torch.float64)
    close(actual, outcome_advantages(rewards, some.size, std=std).unsqueeze(1).expand(-1, some.length).float())


@law
@given(credit=st.sampled_from(FORMS), some=groups())
def test_steps_without_a_score_could_as_well_not_be_there(credit: str, some: Groups) -> None:
    kept = [
        [(r, end) for r, end in zip(row, ends, strict=True) if r is not None]
        for row, ends in zip(some.step_rewards, some.step_ends, strict=True)
    ]
    rewards, ends = [[r for r, _ in row] for row in kept], [[end for _, end in row] for row in kept]
    assert torch.equal(
        table(some, credit=credit),
        process_advantages(rewards, ends, some.size, some.length, credit=credit, dtype=torch.float64),
    )


@law
@given(credit=st.sampled_from(FORMS), some=groups())
def test_nothing_past_the_last_scored_step(credit: str, some: Groups) -> None:
    actual = table(some, credit=credit)
    for row, rewards, ends in zip(actual, some.step_rewards, some.step_ends, strict=True):
        last = max((end for r, end in zip(rewards, ends, strict=True) if r is not None), default=-1)
        assert not row[last + 1 :].any()


GOOD_AND_BAD = st.lists(st.integers(0, 64).map(lambda n: n / 64), min_size=1, max_size=4)


@law
@given(row=GOOD_AND_BAD, other=GOOD_AND_BAD, times=st.integers(1, 40), data=st.data())
def test_bounded_forms_do_not_grow_with_repeated_steps(
    row: list[float], other: list[float], times: int, data: st.DataObject
) -> None:
    """Whichever step is said again and again, the completion's first return stays below its best single reward."""
    at = data.draw(st.integers(0, len(row) - 1))
    padded = row[: at + 1] + [row[at]] * times + row[at + 1 :]
    rows = [padded, row, other, [0.0]]
    assume(len({reward for some in rows for reward in some}) > 1)
    ends = [list(range(len(some))) for some in rows]
    length = max(map(len, rows))

    def first_returns(credit: str) -> list[float]:
        """R_1, read off centred returns: the last completion's only step has the return 0, or -η under clip."""
        centred = process_advantages(rows, ends, 4, length, credit=credit, std="none", dtype=torch.float64)[:, 0]
        return (centred - centred[3] - (0.5 if credit == "clip" else 0.0)).tolist()

    long, short, *_ = first_returns("delta")
    assert long == pytest.approx(short, abs=1e-9)
    long, short, *_ = first_returns("clip")
    assert long <= min(short, 0.0) + 1e-9
    long, short, *_ = first_returns("min")
    assert min(row) - 1e-9 <= long <= max(row) + 1e-9


@pytest.mark.parametrize("times", [2, 12, 100])
def test_the_sum_grows_with_repeated_steps(times: int) -> None:
    first = process_advantages([[1.0] * times, [1.0], [0.0]], [list(range(times)), [0], [0]], 3, times)[:, 0]
    assert first[0].item() == pytest.approx(times * first[1].item(), rel=1e-6)


# Edges -----------------------------------------------------------------------------------------------------------


@form
@pytest.mark.parametrize("std", STDS)
@pytest.mark.parametrize(
    "rewards",
    [
        pytest.param([[0.7], [None]], id="one scored step"),
        pytest.param([[0.7, 0.7, 0.7], [0.7]], id="max is min"),
        pytest.param([[None], []], id="no scored step"),
        pytest.param([[0.1], [None, 0.1, None, 0.1]], id="max is min beside None"),
    ],
)
def test_exact_zero_where_nothing_differs(credit: str, std: str, rewards: list[list[float | None]]) -> None:
    ends = [list(range(len(row))) for row in rewards]
    assert torch.equal(process_advantages(rewards, ends, 2, 5, credit=credit, std=std, eps=0.0), torch.zeros(2, 5))


def test_clip_gives_exact_zero_where_every_step_is_good_enough() -> None:
    rewards, ends = [[0.6, 0.9], [0.7]], [[0, 1], [1]]
    assert torch.equal(process_advantages(rewards, ends, 2, 2, credit="clip", eta=0.5), torch.zeros(2, 2))


@form
def test_completions_without_steps_get_zero_and_leave_the_rest_alone(credit: str) -> None:
    rewards, ends = [[0.2, 0.9], [0.4]], [[1, 3], [2]]
    alone = process_advantages(rewards, ends, 2, 4, credit=credit)
    beside = process_advantages([*rewards, [], None], [*ends, [], None], 4, 4, credit=credit)
    assert torch.equal(beside[:2], alone)
    assert torch.equal(beside[2:], torch.zeros(2, 4))


@form
def test_no_completions_no_tokens(credit: str) -> None:
    assert process_advantages([], [], 4, 7, credit=credit).shape == (0, 7)
    assert process_advantages([[], []], [[], []], 2, 0, credit=credit).shape == (2, 0)


def test_type_of_the_result() -> None:
    steps: Any = ([[1, False], [True]], [[0, 1], [1]], 2, 2)
    assert process_advantages(*steps).dtype == torch.float32
    assert process_advantages(*steps, dtype=torch.bfloat16).dtype == torch.bfloat16
    assert process_advantages(*steps, device="meta").device.type == "meta"


def test_numbers_of_other_libraries_are_read() -> None:
    rows = [torch.tensor([0.25, 0.5]), torch.tensor([1.0])]
    ends = [torch.tensor([0, 2]), torch.tensor([2])]
    plain = process_advantages([[0.25, 0.5], [1.0]], [[0, 2], [2]], 2, 3)
    assert torch.equal(process_advantages(rows, ends, 2, 3), plain)
