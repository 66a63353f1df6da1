"""The reading contracts: where a completion states its answer."""

from __future__ import annotations

import re

import pytest

from cases import Case, load_cases, named
from markscheme.verifiers import MathVerifier, Outcome, Reason, read_answer
from markscheme.verifiers.reading import READINGS

CASES = load_cases("reading")
STATED = [case for case in CASES if case["text"] is not None]
SILENT = [case for case in CASES if case["text"] is None]


def as_read(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("case", named(STATED, "rule", "reading", "completion"))
def test_stated(case: Case) -> None:
    found = read_answer(case["completion"], case["reading"], thinking=case.get("thinking", False))
    assert (found.text, found.reading) == (case["text"], case["via"])
    assert found.why == ""
    assert not found.cut_off


@pytest.mark.parametrize("case", named(STATED, "rule", "reading", "completion"))
def test_span_is_the_place_of_the_answer(case: Case) -> None:
    completion = case["completion"]
    found = read_answer(completion, case["reading"], thinking=case.get("thinking", False))
    assert found.span is not None
    start, end = found.span
    place = completion[start:end]
    if " , " in case["text"]:  # several boxes: from the first to the last
        parts = case["text"].split(" , ")
        assert place.startswith(parts[0])
        assert place.endswith(parts[-1])
    else:
        assert place == case["text"].removesuffix(r"\%") or place == case["text"]


@pytest.mark.parametrize("case", named(SILENT, "rule", "reading", "completion"))
def test_silent(case: Case) -> None:
    found = read_answer(case["completion"], case["reading"], thinking=case.get("thinking", False))
    assert found.text is None
    assert case["why"] in found.why
    assert found.cut_off == any(sign in found.why for sign in ("cut off", "never closed", "nothing follows"))


@pytest.mark.parametrize("case", named(SILENT, "rule", "reading", "completion"))
def test_silence_is_unreadable(case: Case) -> None:
    verifier = MathVerifier(reading=case["reading"], thinking=case.get("thinking", False))
    verdict = verifier.verify(case["completion"], "46")
    assert verdict.outcome is Outcome.UNREADABLE
    assert verdict.reason in (Reason.NO_ANSWER, Reason.CUT_OFF)
    assert case["why"] in verdict.detail
    assert verdict.answer is None


@pytest.mark.parametrize("reading", READINGS)
def test_every_contract_has_cases(reading: str) -> None:
    assert sum(case["reading"] == reading for case in STATED) >= 5
    assert sum(case["reading"] == reading for case in SILENT) >= 2


@pytest.mark.parametrize(
    ("completion", "gold", "right"),
    [
        (r"It is \boxed{6} or \boxed{7}.", "6, 7", True),
        (r"It is \boxed{6} or \boxed{7}.", "7", False),
        (r"It is \boxed{6} or \boxed{7}.", "6", False),
        (r"\boxed{6} and \boxed{6}", "6", True),
        (r"\boxed{\frac12} and \boxed{0.5}", r"\frac{1}{2}", True),
        ("The total cost is $29.00.", "29", True),
        ("The total cost is $29.00.", r"\$29", True),
        ("The total is certainly not 13.", "13", False),
        ("It could be 12, 13 or 14.", "13", False),
        ("<think>\\boxed{13}</think> \\boxed{12}", "13", False),
        ("\\boxed{13} and finally \\boxed{", "13", False),
        ("**Final Answer:** 10,455\n", "10455", True),
        ("We find\n\\[ x = 13 \\]", "13", True),
    ],
)
def test_judged_by_what_is_stated(completion: str, gold: str, right: bool) -> None:  # noqa: FBT001
    assert (MathVerifier().verify(completion, gold).outcome is Outcome.CORRECT) == right


def test_unknown_contract_is_refused() -> None:
    with pytest.raises(ValueError, match=r"reading must be one of auto, boxed, gsm8k, .*, not 'fancy'"):
        read_answer("46", "fancy")  # type: ignore[arg-type]
