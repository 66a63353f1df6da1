from __future__ import annotations

import pytest

from markscheme.prm.labels import CheckerLabeler, LabelTask
from markscheme.verifiers.errors import DataError
from rollout_fakes import check, task


def by_letter(one: LabelTask) -> list[bool | None]:
    return [{"r": True, "w": False}.get(step[0]) for step in one.steps]


def test_a_checker_labels_step_by_step() -> None:
    found = CheckerLabeler(by_letter, check=check).label([task("r", "w", "r", "# 7"), task("r", "r", gold="")])
    assert [one.labels for one in found] == [(1, 0, 1, None), (1, 1)]
    assert [one.first_error for one in found] == [1, -1]
    assert [one.final_answer_correct for one in found] == [True, None]


def test_an_unknown_step_before_the_first_error_hides_it() -> None:
    (one,) = CheckerLabeler(by_letter).label([task("r", "?", "w")])
    assert (one.labels, one.first_error) == ((1, None, 0), None)


def test_a_checker_that_skips_a_step() -> None:
    with pytest.raises(DataError, match="row 5: the checker gave 1 answers for 2 steps"):
        CheckerLabeler(lambda one: [True]).label([task("a", "b", row=5)])


def test_equations() -> None:
    pytest.importorskip("markscheme.verifiers.steps")
    from markscheme.prm.labels import EquationLabeler  # noqa: PLC0415

    steps = task("16 - 3 - 4 = 9 eggs", "She is happy.", "9 * 2 = 19 dollars")
    (one,) = EquationLabeler().label([steps])
    assert (one.labels, one.first_error) == ((1, None, 0), None)
    (other,) = EquationLabeler(no_claim="right").label([steps])
    assert (other.labels, other.first_error) == ((1, 1, 0), 2)
    assert EquationLabeler().identity != EquationLabeler(no_claim="right").identity
