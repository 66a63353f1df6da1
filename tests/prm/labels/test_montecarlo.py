from __future__ import annotations

import pytest

from markscheme.prm.labels import MonteCarloLabeler, PrefixPrompt
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.outcomes import Outcome
from markscheme.verifiers.statistics import wilson
from rollout_fakes import Policy, check, solution, task


def labeler(policy: Policy, **more: object) -> MonteCarloLabeler:
    return MonteCarloLabeler(policy, check=check, **{"n": 4, **more})  # type: ignore[arg-type]


def test_every_prefix_is_rolled_out_in_one_call() -> None:
    policy = Policy(chance=2)
    found = labeler(policy).label([solution(2, 1, "0"), solution(1, 0, "7", row=1)])
    assert policy.calls == [["P\n\nr0\n\n", "P\n\nr0\n\nr1\n\n", "P\n\nr0\n\nr1\n\nw0\n\n", "P\n\nr0\n\n"]]
    assert [one.labels for one in found] == [(1, 1, 0, 0), (1, 1)]
    assert [one.first_error for one in found] == [2, -1]
    assert [one.final_answer_correct for one in found] == [False, True]
    assert [one.rollouts for one in found] == [12, 4]
    assert policy.rollouts == 16


def test_shares_and_intervals_of_each_prefix() -> None:
    (one,) = labeler(Policy(chance=3)).label([solution(1, 1, "0")])
    first, second, last = one.estimates
    assert first is not None and second is not None and last is not None
    assert (first.right, first.judged, first.share) == (3, 4, 0.75)
    assert first.interval == pytest.approx(wilson(3, 4))
    assert (second.share, second.interval) == (0, pytest.approx(wilson(0, 4)))
    assert (last.stated, last.share, last.interval) == (True, 0, (0, 0))


@pytest.mark.parametrize(
    ("threshold", "chance", "label"),
    [(0.0, 1, 1), (0.0, 0, 0), (0.5, 1, 0), (0.5, 2, 1), (0.75, 2, 0), (1.0, 4, 1), (1.0, 3, 0)],
)
def test_the_threshold_is_a_share_and_0_means_any(threshold: float, chance: int, label: int) -> None:
    (one,) = labeler(Policy(chance=chance), threshold=threshold).label([task("r0", "# 7")])
    assert one.labels == (label, 1)


def test_soft_labels_are_the_shares_and_the_first_error_is_the_thresholds() -> None:
    (one,) = labeler(Policy(chance=3, luck=1), soft=True, threshold=0.5).label([solution(1, 1, "0")])
    assert one.labels == (0.75, 0.25, 0)
    assert one.first_error == 1
    assert one.sample().targets == (0.75, 0.25, 0)


def test_a_solution_without_an_answer_is_rolled_out_to_its_end() -> None:
    policy = Policy(chance=1)
    (one,) = labeler(policy).label([task("r0", "r1")])
    assert policy.calls == [["P\n\nr0\n\n", "P\n\nr0\n\nr1\n\n"]]
    assert (one.labels, one.final_answer_correct) == ((1, 1), None)


def test_what_is_not_decided_is_in_no_share() -> None:
    def generate(prompts: object, n: int) -> list[list[str]]:
        return [["# ?", "# 7", "# 0", "# ?"], ["# ?"] * 4]

    found = MonteCarloLabeler(generate, check=check, n=4).label([task("a", "b", "# ?")])  # type: ignore[arg-type]
    (one,) = found
    assert one.labels == (1, None, None)
    assert one.first_error is None
    first, second = one.estimates[:2]
    assert first is not None and second is not None
    assert (first.right, first.judged, first.undecided) == (1, 2, 2)
    assert (second.share, second.interval) == (None, (0, 1))


def test_the_answer_verifier_by_default() -> None:
    def generate(prompts: object, n: int) -> list[list[str]]:
        return [["so \\boxed{4}.", "so \\boxed{5}."]]

    (one,) = MonteCarloLabeler(generate, n=2).label([task("2 + 2 is next", "\\boxed{5}", gold="4")])  # type: ignore[arg-type]
    assert one.labels == (1, 0)
    with pytest.raises(DataError, match="row 0 has no gold answer, without which no rollout can be checked"):
        MonteCarloLabeler(generate, n=2).label([task("a", gold="")])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "message"),
    [([["a"]], "asked for 2 completions a prompt and gave 1 of prompt 0"), ([], "given 1 prompts and gave 0 lists")],
)
def test_a_generator_that_gives_too_little(found: list[list[str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        MonteCarloLabeler(lambda prompts, n: found, check=check, n=2).label([task("r0", "# 7")])


@pytest.mark.parametrize(
    ("options", "message"), [({"n": 0}, "at least one rollout"), ({"threshold": 1.5}, "in \\[0, 1\\]")]
)
def test_settings_without_sense(options: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        labeler(Policy(), **options)


def test_what_changes_the_labels_changes_the_identity() -> None:
    made = [
        labeler(Policy()),
        labeler(Policy(), n=5),
        labeler(Policy(), threshold=0.5),
        labeler(Policy(), soft=True),
        labeler(Policy(), name="other"),
        MonteCarloLabeler(Policy(), PrefixPrompt(separator="\n"), check=check, n=4),
    ]
    assert len({one.identity for one in made}) == len(made)


def test_prompts_go_on_behind_the_steps() -> None:
    prompt = PrefixPrompt("Q: {}\nA:".format, separator="\n", lead=" ")
    one = task("a", "b")
    assert [prompt(one, count) for count in range(3)] == ["Q: P\nA:", "Q: P\nA: a\n", "Q: P\nA: a\nb\n"]
    assert prompt.solution(one, 2) == "a\nb\n"
    assert check(one, prompt.solution(one, 2)) is Outcome.UNREADABLE
