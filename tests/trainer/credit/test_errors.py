"""Bad input is named with its row and its fix."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from markscheme.trainer.credit import outcome_advantages, process_advantages, zero_variance_groups  # noqa: E402
from markscheme.verifiers.errors import CreditError, MarkschemeError  # noqa: E402

NAN, INF = float("nan"), float("inf")
GOOD: list[Any] = [[0.5, 1.0], [1.0]]
ENDS: list[Any] = [[1, 3], [2]]


@pytest.mark.parametrize(
    ("rewards", "ends", "message"),
    [
        ([[0.5, NAN], [1]], ENDS, "completion 0, step 1: reward nan; a step without a reward is None"),
        ([[0.5, 1], [-INF]], ENDS, "completion 1, step 0: reward -inf; a step without"),
        ([[0.5, "good"], [1]], ENDS, "completion 0, step 1: reward 'good' is no number"),
        ([[0.5, [1]], [1]], ENDS, r"completion 0, step 1: reward \[1\] is no number"),
        ([[0.5], [1]], ENDS, "completion 0: 1 step rewards and 2 step ends; give each step both, and None"),
        (GOOD, [[1, 3], None], "completion 1: 1 step rewards and 0 step ends"),
        (GOOD, [[1, 3]], "step_rewards has 2 completions and step_ends 1"),
        (
            GOOD,
            [[1, 4], [2]],
            "completion 0, step 1: ends at token 4, outside its 4 tokens; an end is the 0-based index",
        ),
        (GOOD, [[1, 3], [-1]], "completion 1, step 0: ends at token -1, outside"),
        (
            GOOD,
            [[3, 1], [2]],
            "completion 0, step 1: ends at token 1, the step before it at 3; ends must rise strictly",
        ),
        (GOOD, [[3, 3], [2]], "completion 0, step 1: ends at token 3, the step before it at 3"),
        (GOOD, [[1, 2.0], [2]], "completion 0, step 1: end 2.0 is no token index"),
        (GOOD, [[1, None], [2]], "completion 0, step 1: end None is no token index"),
    ],
)
def test_steps(rewards: Any, ends: Any, message: str) -> None:
    with pytest.raises(CreditError, match=message):
        process_advantages(rewards, ends, 2, 4)


def test_a_step_may_not_end_in_its_completions_padding() -> None:
    process_advantages(GOOD, ENDS, 2, 4, lengths=[4, 3])
    with pytest.raises(CreditError, match="completion 1, step 0: ends at token 2, outside its 2 tokens"):
        process_advantages(GOOD, ENDS, 2, 4, lengths=torch.tensor([4, 2]))
    with pytest.raises(CreditError, match="lengths has 1 completions and step_ends 2"):
        process_advantages(GOOD, ENDS, 2, 4, lengths=[4])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"credit": "first_error"}, r'expected one of "sum", "min", "delta", "clip"; .* first_error_advantages\(\)'),
        ({"std": "biased"}, r'std=\'biased\': expected "sample" \(N-1, as TRL\), "population" \(N\) or "none"'),
        ({"eps": -1e-4}, "eps=-0.0001: expected a finite number of at least 0"),
        ({"eps": NAN}, "eps=nan: expected"),
        ({"tau": 0.0}, "tau=0.0: expected a finite temperature above 0"),
        ({"tau": INF}, "tau=inf: expected"),
        ({"eta": NAN}, "eta=nan: expected a finite reward"),
    ],
)
def test_options(options: Any, message: str) -> None:
    with pytest.raises(CreditError, match=message):
        process_advantages(GOOD, ENDS, 2, 4, **options)


@pytest.mark.parametrize("size", [0, -2, 2.0, True])
def test_group_size(size: Any) -> None:
    with pytest.raises(CreditError, match=rf"group_size={size}: expected a whole number of at least 1"):
        process_advantages(GOOD, ENDS, size, 4)


def test_a_group_that_is_not_whole() -> None:
    message = r"5 completions do not divide into groups of 3: the last group, from row 3, has 2\. .*gather first"
    with pytest.raises(CreditError, match=message):
        outcome_advantages([1, 0, 1, 0, 1], 3)
    with pytest.raises(CreditError, match=message):
        zero_variance_groups([1, 0, 1, 0, 1], 3)
    with pytest.raises(CreditError, match=message):
        process_advantages([[]] * 5, [[]] * 5, 3, 4)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([1.0, NAN], "completion 1: reward nan; a completion without a reward is None"),
        ([1.0, INF], "completion 1: reward inf; expected a finite number, or none"),
        (torch.tensor([-INF, 1.0]), "completion 0: reward -inf; expected a finite number"),
        ([1.0, "right"], "completion 1: reward 'right' is no number"),
        (torch.zeros(2, 2), r"rewards of shape \(2, 2\): expected one reward a completion, shape \(B,\)"),
    ],
)
def test_rewards(rewards: Any, message: str) -> None:
    for function in (outcome_advantages, zero_variance_groups):
        with pytest.raises(CreditError, match=message):
            function(rewards, 2)


def test_the_error_is_ours_and_a_value_error() -> None:
    assert issubclass(CreditError, MarkschemeError)
    assert issubclass(CreditError, ValueError)
