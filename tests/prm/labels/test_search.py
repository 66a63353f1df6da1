from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.prm.labels import MonteCarloLabeler, SearchLabeler
from markscheme.prm.labels.search import ANSWER_UNDECIDED, TOO_HARD, UNDECIDED
from rollout_fakes import Policy, check, solution, task


def search(policy: Policy, **more: object) -> SearchLabeler:
    return SearchLabeler(policy, check=check, **{"n": 4, **more})  # type: ignore[arg-type]


@given(st.integers(0, 12), st.integers(1, 12), st.sampled_from([0, 1]))
def test_it_finds_what_monte_carlo_finds_with_a_logarithm_of_the_rollouts(right: int, wrong: int, root: int) -> None:
    one = solution(right, wrong, "0")
    steps = len(one.steps)
    policy, other = Policy(chance=1), Policy(chance=1)
    (found,) = search(policy, root=bool(root), after="wrong").label([one])
    (full,) = MonteCarloLabeler(other, check=check, n=4).label([one])
    assert (found.first_error, found.labels) == (full.first_error, full.labels) == (right, found.labels)
    assert found.rollouts == policy.rollouts <= 4 * (math.ceil(math.log2(steps)) + root)
    assert other.rollouts == 4 * (steps - 1)


def test_solutions_are_searched_side_by_side() -> None:
    policy = Policy()
    found = search(policy).label([solution(3, 4, "0"), solution(0, 7, "0", row=1), solution(2, 0, "7", row=2)])
    assert [one.first_error for one in found] == [3, 0, -1]
    assert [len(prompts) for prompts in policy.calls] == [1, 2, 2, 2]  # the problem that both share, then rounds
    assert [one.rollouts for one in found] == [16, 12, 0]
    assert found[0].labels == (1, 1, 1, 0, None, None, None, None)
    assert found[2].labels == (1, 1, 1)


def test_only_what_was_looked_at_has_an_estimate() -> None:
    (one,) = search(Policy(), root=False).label([solution(1, 2, "0")])
    assert [None if e is None else (e.right, e.stated) for e in one.estimates] == [
        (2, False),
        (0, False),
        None,
        (0, True),
    ]


def test_a_policy_that_never_comes_right_can_tell_nothing() -> None:
    policy = Policy(chance=0)
    (one,) = search(policy).label([solution(2, 1, "0")])
    assert (one.first_error, one.labels, one.note, one.rollouts) == (None, (None,) * 4, TOO_HARD, 4)
    (blamed,) = search(Policy(chance=0), root=False).label([solution(2, 1, "0")])
    assert blamed.first_error == 0


def test_a_solution_without_an_answer_is_tried_whole_first() -> None:
    found = search(Policy()).label([task("r0", "r1"), task("r0", "w0", row=1)])
    assert [one.first_error for one in found] == [-1, 1]
    assert [one.final_answer_correct for one in found] == [None, None]


def test_what_nothing_decides() -> None:
    (one,) = search(Policy()).label([task("r0", "# ?")])
    assert (one.first_error, one.note, one.rollouts) == (None, ANSWER_UNDECIDED, 0)
    undecided = SearchLabeler(lambda prompts, n: [["# ?"] * n for _ in prompts], check=check, n=2)
    (other,) = undecided.label([solution(1, 1, "0")])
    assert (other.first_error, other.note) == (None, UNDECIDED)


def test_where_the_assumption_fails_it_ends_at_a_step_that_fails_after_one_that_does_not() -> None:
    class Recovers(Policy):
        def __call__(self, prompts: object, n: int) -> list[list[str]]:
            self.calls.append([str(one) for one in prompts])  # type: ignore[attr-defined]
            good = [str(one).count("s") not in (1, 4, 5) for one in prompts]  # type: ignore[attr-defined]
            return [["# 7" if one else "# 0"] * n for one in good]

    steps = [f"s{i}" for i in range(6)]
    (one,) = SearchLabeler(Recovers(), check=check, n=1, root=False).label([task(*steps, "# 0")])
    assert one.first_error == 3  # s0 failed as well: nobody looked


@pytest.mark.parametrize(("threshold", "first"), [(0.25, 1), (0.75, 0)])
def test_the_threshold(threshold: float, first: int) -> None:
    (one,) = search(Policy(chance=2), threshold=threshold, root=False).label([solution(1, 1, "0")])
    assert one.first_error == first
