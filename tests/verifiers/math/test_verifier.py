"""The verifier: its verdicts, its policies, many verdicts at once, and the messages of its errors."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic import ValidationError

from markscheme.verifiers import MathVerifier, Outcome, Policy, Reason, Verdict, Verifier
from markscheme.verifiers.verdict import SCORES

VERIFIER = MathVerifier()


def alike(verdict: Verdict) -> Verdict:
    """The verdict without the time it took."""
    return verdict.model_copy(update={"seconds": 0.0})


# Verdicts --------------------------------------------------------------------------------------------------------


def test_correct() -> None:
    verdict = VERIFIER.verify(r"Adding, we get $\boxed{\frac{3}{8}}$.", "0.375")
    assert verdict.outcome is Outcome.CORRECT
    assert verdict.score == 1.0
    assert verdict.answer == r"\frac{3}{8}"
    assert verdict.expected == "0.375"
    assert verdict.reason is Reason.EQUAL
    assert verdict.detail == "the same value"
    assert verdict.reading == "boxed"
    assert verdict.span == (23, 34)
    assert 0 < verdict.seconds < 5


def test_incorrect() -> None:
    verdict = VERIFIER.verify("The answer is 46.", "47")
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.INCORRECT, 0.0, Reason.DIFFERENT)
    assert (verdict.answer, verdict.expected, verdict.reading) == ("46", "47", "answer_line")
    assert verdict.detail == "different values"


def test_incorrect_by_type() -> None:
    verdict = VERIFIER.verify_answer("(4, 9)", "13")
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.INCORRECT, 0.0, Reason.TYPE_MISMATCH)
    assert verdict.detail == "answers of different types"


@pytest.mark.parametrize(
    ("completion", "reason", "detail"),
    [
        ("no idea at all, sorry about that, friend", Reason.NO_ANSWER, "no answer found"),
        (r"so \boxed{4", Reason.CUT_OFF, "the last box is cut off"),
        ("<think>so 4", Reason.CUT_OFF, "the think block is never closed"),
        ("<answer>4", Reason.CUT_OFF, "the answer tag is never closed"),
        ("so\n####", Reason.CUT_OFF, 'nothing follows "####"'),
        (r"so \boxed{4 +}", Reason.NOT_GRAMMATICAL, "a value is missing at the end"),
        ("", Reason.NO_ANSWER, "no answer found"),
    ],
    ids=["prose", "box", "think", "tag", "hashes", "grammar", "empty"],
)
def test_unreadable(completion: str, reason: Reason, detail: str) -> None:
    verdict = VERIFIER.verify(completion, "46")
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.UNREADABLE, 0.0, reason)
    assert verdict.detail == detail
    assert verdict.expected == "46"


@pytest.mark.parametrize(
    ("answer", "gold", "reason"),
    [
        (r"2, 4, 6, 8, \ldots", r"2, 4, 6, \ldots", Reason.BEYOND_KNOWLEDGE),
        ("7 p.m.", "7:00", Reason.TIME_AMBIGUOUS),
        ("1:05", "3:15", Reason.TIME_AMBIGUOUS),
        ("46", "", Reason.UNREADABLE_GOLD),
        ("46", "(5", Reason.UNREADABLE_GOLD),
        ("46", "4 = 5", Reason.UNREADABLE_GOLD),
        ("46", "9" * 10_001, Reason.UNREADABLE_GOLD),
    ],
    ids=["ellipsis", "half of the day", "ratio or time", "empty", "bracket", "false gold", "long gold"],
)
def test_undecided_has_no_score(answer: str, gold: str, reason: Reason) -> None:
    verdict = VERIFIER.verify_answer(answer, gold)
    assert (verdict.outcome, verdict.score, verdict.reason) == (Outcome.UNDECIDED, None, reason)
    assert verdict.detail


@pytest.mark.parametrize(
    ("gold", "detail"),
    [
        ("(5", "the gold answer cannot be read: an open bracket: expected its end, found ''"),
        ("", "the gold answer cannot be read: it is empty"),
        (r"\boxed{5", "the gold answer cannot be read: the last box is cut off"),
        ("####", 'the gold answer cannot be read: nothing follows "####"'),
    ],
    ids=["bracket", "empty", "box", "hashes"],
)
def test_unreadable_gold_says_why(gold: str, detail: str) -> None:
    for verdict in (VERIFIER.verify("The answer is 5.", gold), VERIFIER.verify_answer("5", gold)):
        assert (verdict.outcome, verdict.reason) == (Outcome.UNDECIDED, Reason.UNREADABLE_GOLD)
        assert verdict.detail == detail
        assert verdict.answer == "5"


def test_scores_of_all_outcomes() -> None:
    assert SCORES == {
        Outcome.CORRECT: 1.0,
        Outcome.INCORRECT: 0.0,
        Outcome.UNREADABLE: 0.0,
        Outcome.UNDECIDED: None,
        Outcome.BROKEN: None,
    }


@pytest.mark.parametrize(
    ("completion", "gold"),
    [(r"\boxed{4}", "4"), (r"\boxed{4}", "5"), ("", "5"), (r"\boxed{4}", ""), ("\\boxed{\x00\ud800}", "5")],
    ids=["correct", "incorrect", "unreadable", "undecided", "strange"],
)
def test_json_round_trip(completion: str, gold: str) -> None:
    verdict = VERIFIER.verify(completion, gold)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    assert list(json.loads(verdict.model_dump_json())) == list(Verdict.model_fields)


def test_verdict_is_frozen() -> None:
    verdict = VERIFIER.verify_answer("4", "4")
    with pytest.raises(ValidationError, match="Instance is frozen"):
        verdict.score = 0.0  # type: ignore[misc]
    assert verdict.score == 1.0
    assert hash(verdict) == hash(verdict.model_copy())


def test_equal_inputs_give_equal_verdicts() -> None:
    one, two = (alike(VERIFIER.verify(r"\boxed{\sin^2 x}", r"1-\cos^2 x")) for _ in range(2))
    assert one == two
    assert one.reason is Reason.SAMPLED_EQUAL


def test_a_long_answer_is_cut_in_the_verdict() -> None:
    verdict = VERIFIER.verify_answer("7" * 3000, "7")
    assert verdict.outcome is Outcome.INCORRECT
    assert verdict.answer == "7" * 2000


# The order of arguments, and the two ways to ask -------------------------------------------------------------------


def test_it_is_a_verifier() -> None:
    assert isinstance(VERIFIER, Verifier)


def test_the_completion_comes_first() -> None:
    completion, gold = r"Adding, we get \boxed{45}.", r"45\%"
    assert VERIFIER.verify(completion, gold).outcome is Outcome.CORRECT
    assert VERIFIER.verify(r"\boxed{45\%}", "45").outcome is Outcome.INCORRECT
    assert VERIFIER.verify_answer("45", r"45\%").outcome is Outcome.CORRECT
    assert VERIFIER.verify_answer(r"45\%", "45").outcome is Outcome.INCORRECT


def test_the_docstring_warns_of_the_reverse_order() -> None:
    assert "math-verify's ``verify(gold, target)`` has the reverse order" in (MathVerifier.verify.__doc__ or "")


def test_a_bare_answer_is_not_read_as_a_completion() -> None:
    assert VERIFIER.verify("The answer is 46.", "46").outcome is Outcome.CORRECT
    assert VERIFIER.verify_answer("The answer is 46.", "46").outcome is not Outcome.CORRECT
    bare = VERIFIER.verify_answer("46", "46")
    assert (bare.reading, bare.span) == (None, None)


def test_the_contract_is_kept() -> None:
    completion = "The answer is 46."
    assert MathVerifier(reading="boxed").verify(completion, "46").outcome is Outcome.UNREADABLE
    assert MathVerifier(reading="last_number").verify(completion, "46").outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    "gold",
    ["46", r"We add: $\boxed{46}$.", "40+6=<<40+6=46>>46\n#### 46", " 46 "],
    ids=["bare", "box", "hashes", "blanks"],
)
def test_a_gold_is_read_in_all_its_forms(gold: str) -> None:
    verdict = VERIFIER.verify(r"\boxed{46}", gold)
    assert (verdict.outcome, verdict.expected) == (Outcome.CORRECT, "46")


def test_thinking() -> None:
    assert MathVerifier(thinking=True).verify(r"\boxed{46}", "46").outcome is Outcome.UNREADABLE
    assert MathVerifier(thinking=True).verify(r"ok</think>\boxed{46}", "46").outcome is Outcome.CORRECT


# Policies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "bare_for_percent", "percent_for_bare"),
    [("lenient", True, False), ("strict", False, False), ("interchangeable", True, True)],
)
def test_percent(percent: str, bare_for_percent: bool, percent_for_bare: bool) -> None:  # noqa: FBT001
    verifier = MathVerifier(policy=Policy.model_validate({"percent": percent}))
    assert (verifier.verify_answer("45", r"45\%").outcome is Outcome.CORRECT) == bare_for_percent
    assert (verifier.verify_answer(r"45\%", "45").outcome is Outcome.CORRECT) == percent_for_bare
    for answer, gold, right in (("0.45", r"45\%", True), (r"45\%", "0.45", True), (r"46\%", r"45\%", False)):
        assert (verifier.verify_answer(answer, gold).outcome is Outcome.CORRECT) == right
    assert verifier.verify_answer("46", r"45\%").outcome is Outcome.INCORRECT
    assert verifier.verify_answer(r"46\%", "45").outcome is Outcome.INCORRECT


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        (r"\sqrt{23}", "4.80", True),
        (r"\sqrt{23}", "4.8", True),
        ("4.7958", "4.80", True),
        (r"\frac{2}{3}", "0.667", True),
        (r"\frac{2}{3}", "0.666", False),
        ("4.79", "4.80", False),
        (r"\sqrt{23}", "4.79", False),
        ("4.80", r"\sqrt{23}", False),
        ("5", "4.80", False),
        ("5", "5.2", False),
    ],
)
def test_precision_of_gold(answer: str, gold: str, right: bool) -> None:  # noqa: FBT001
    verdict = MathVerifier(policy=Policy(precision="gold")).verify_answer(answer, gold)
    assert (verdict.outcome is Outcome.CORRECT) == right, verdict.detail
    if answer != gold and right:
        assert VERIFIER.verify_answer(answer, gold).outcome is Outcome.INCORRECT


def test_precision_of_gold_says_so() -> None:
    verdict = MathVerifier(policy=Policy(precision="gold")).verify_answer(r"\sqrt{23}", "4.80")
    assert verdict.detail == "rounds to the gold answer's written digits"


def test_max_length() -> None:
    verifier = MathVerifier(policy=Policy(max_length=10))
    assert verifier.verify_answer("1234567890", "1234567890").outcome is Outcome.CORRECT
    long = verifier.verify_answer("1+1+1+1+1+1", "6")
    assert (long.outcome, long.score, long.reason) == (Outcome.INCORRECT, 0.0, Reason.TOO_LARGE)
    assert long.detail == "11 characters, more than 10"
    gold = verifier.verify_answer("6", "1+1+1+1+1+1")
    assert (gold.outcome, gold.reason) == (Outcome.UNDECIDED, Reason.UNREADABLE_GOLD)
    assert gold.detail == "the gold answer cannot be read: 11 characters, more than 10"


def test_policy_refuses_unknown_fields() -> None:
    with pytest.raises(ValidationError, match=r"precission\n  Extra inputs are not permitted"):
        Policy.model_validate({"precission": "gold"})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"percent": "loose"}, "Input should be 'lenient', 'strict' or 'interchangeable'"),
        ({"precision": "high"}, "Input should be 'exact' or 'gold'"),
        ({"max_length": 0}, "Input should be greater than or equal to 1"),
    ],
    ids=["percent", "precision", "max_length"],
)
def test_policy_refuses_unknown_values(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Policy.model_validate(fields)


def test_policy_is_frozen() -> None:
    policy = Policy()
    with pytest.raises(ValidationError, match="Instance is frozen"):
        policy.percent = "strict"  # type: ignore[misc]
    assert policy == Policy(percent="lenient", precision="exact", max_length=10_000)


# Many at once ----------------------------------------------------------------------------------------------------

COMPLETIONS = [rf"so \boxed{{{n}}}" if n % 3 else f"I give up on number {n}, for it is hard" for n in range(150)]
GOLDS = [str(n if n % 2 else n + 1) for n in range(150)]


@pytest.mark.parametrize("workers", [None, 0, 1, 2])
def test_many_verdicts_are_the_single_ones_in_order(workers: int | None) -> None:
    many = VERIFIER.verify_many(COMPLETIONS, GOLDS, workers)
    single = [VERIFIER.verify(completion, gold) for completion, gold in zip(COMPLETIONS, GOLDS, strict=True)]
    assert [alike(verdict) for verdict in many] == [alike(verdict) for verdict in single]
    assert len({verdict.outcome for verdict in many}) == 3


def test_workers_judge_under_the_verifiers_own_settings() -> None:
    verifier = MathVerifier(reading="last_number", policy=Policy(percent="interchangeable"))
    verdicts = verifier.verify_many(["it is 45%", "it is 46%"], ["45", "45"], workers=2)
    assert [verdict.outcome for verdict in verdicts] == [Outcome.CORRECT, Outcome.INCORRECT]


def test_none_is_none() -> None:
    assert VERIFIER.verify_many([], []) == []
    assert VERIFIER.verify_many([], [], workers=2) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_lengths_that_differ_are_refused(workers: int) -> None:
    with pytest.raises(ValueError, match=r"^one gold a completion is needed: 2 completions, 1 golds$"):
        VERIFIER.verify_many(["4", "5"], ["4"], workers)


def test_progress_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    verdicts = VERIFIER.verify_many(COMPLETIONS[:5], GOLDS[:5], progress=True)
    out, err = capfd.readouterr()
    assert len(verdicts) == 5
    assert out == ""
    assert "grading" in err


def test_no_progress_is_shown_unasked(capfd: pytest.CaptureFixture[str]) -> None:
    VERIFIER.verify_many(COMPLETIONS[:5], GOLDS[:5])
    assert capfd.readouterr() == ("", "")


def test_awaited() -> None:
    async def both() -> list[Verdict]:
        return await asyncio.gather(VERIFIER.averify(r"\boxed{4}", "4"), VERIFIER.averify(r"\boxed{4}", "5"))

    assert [verdict.outcome for verdict in asyncio.run(both())] == [Outcome.CORRECT, Outcome.INCORRECT]


# Settings --------------------------------------------------------------------------------------------------------


def test_an_unknown_reading_is_refused() -> None:
    message = "^reading must be one of auto, boxed, gsm8k, answer_line, tag, last_number, not 'fancy'$"
    with pytest.raises(ValueError, match=message):
        MathVerifier(reading="fancy")  # type: ignore[arg-type]


@pytest.mark.parametrize("deadline", [0, -1.5, float("nan")])
def test_a_deadline_must_be_positive(deadline: float) -> None:
    with pytest.raises(ValueError, match=rf"^deadline must be a positive number of seconds, not {deadline!r}$"):
        MathVerifier(deadline=deadline)


def test_defaults() -> None:
    verifier = MathVerifier()
    assert (verifier.reading, verifier.deadline, verifier.thinking) == ("auto", 5.0, False)
    assert verifier.policy == Policy()


@pytest.mark.parametrize(
    "completion", ["\x00", "\ud800", "\\" * 500, "{" * 500, "\\boxed{" * 300, "$" * 301, "😀", "\r\n\t"], ids=ascii
)
def test_odd_completions_are_data(completion: str) -> None:
    assert VERIFIER.verify(completion, "46").outcome in (Outcome.UNREADABLE, Outcome.INCORRECT)
    assert VERIFIER.verify_answer(completion, "46").outcome in (Outcome.UNREADABLE, Outcome.INCORRECT)
