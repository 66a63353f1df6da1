"""What is repaired before an answer is read: the same on both sides."""

from __future__ import annotations

import pytest

from cases import Case, load_cases, named
from markscheme.verifiers import MathVerifier, Outcome
from markscheme.verifiers.math.notation import repair, resolve_dollars, strip_blanks, unwrap

VERIFIER = MathVerifier()
CASES = named(load_cases("notation"), "kind", "gold", "answer")


@pytest.mark.parametrize("case", CASES)
def test_in_the_answer(case: Case) -> None:
    verdict = VERIFIER.verify_answer(case["answer"], case["gold"])
    assert (verdict.outcome is Outcome.CORRECT) == case["expected"], verdict.detail


@pytest.mark.parametrize("case", CASES)
def test_in_the_gold(case: Case) -> None:
    verdict = VERIFIER.verify_answer(case["gold"], case["answer"])
    assert (verdict.outcome is Outcome.CORRECT) == case["expected"], verdict.detail


@pytest.mark.parametrize(
    "text",
    [
        "46",
        r"\frac{3}{8}",
        r"\left( 5, \frac{\pi}{6} \right)",
        r"\begin{pmatrix}1&5\\2&6\end{pmatrix}",
        r"\text{Tuesday}",
        r"(-\infty,1)\cup(4,\infty)",
        "x^2+y^2=25",
        r"\$75",
    ],
)
def test_clean_latex_is_left_alone(text: str) -> None:
    assert repair(text) == text
    assert unwrap(text) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("$46$", " 46 "),
        ("$46", r"\$46"),
        ("46$", r"46\$"),
        ("$5 and $6", r"\$5 and \$6"),
        (r"\$46", r"\$46"),
        ("$x$ and $y$", " x  and  y "),
        ("no money", "no money"),
    ],
)
def test_dollars(text: str, plain: str) -> None:
    assert resolve_dollars(text) == plain


@pytest.mark.parametrize(
    ("text", "stripped"),
    [(" 46 \n", "46"), ("\x0crac12 ", "\x0crac12"), (" \text{a}", "\text{a}"), ("\t46", "46"), (" \f ", "")],
    ids=ascii,
)
def test_blanks_are_stripped_but_eaten_escapes_stay(text: str, stripped: str) -> None:
    assert strip_blanks(text) == stripped
