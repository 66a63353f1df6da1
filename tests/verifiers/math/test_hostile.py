"""Answers written to hang, to crash, to be run, or to pass: none is CORRECT, and each verdict comes in time."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from markscheme.verifiers import GoldError, MathVerifier, Outcome, Reason, load_golds, read_answer
from markscheme.verifiers.math.answers import parse_answer
from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.reading import READINGS

WALL_SECONDS = 5.0  # generous: no timing test, but no hang passes it


def rows(size: int, entry: str) -> str:
    return r"\\".join("&".join([entry] * size) for _ in range(size))


PAIRS = {  # name: (answer, gold)
    "tower": ("7^{7^{7^{7}}}", "3"),
    "tower in code": ("7**7**7**7**7", "3"),
    "tower against itself and one": ("8^{8^{8^{8}}}", "8^{8^{8^{8}}}+1"),
    "factorial of a factorial": ("((8!)!)!", "3"),
    "double factorial": ("99999999!!", "3"),
    "binomial": (r"\binom{999999999}{444444444}", "3"),
    "scientific exponent": ("2e888888888", "3"),
    "tiny power": ("3^{-88888888888}", "0"),
    "a million digits": ("7" * 1_000_000, "3"),
    "long digits, one off": ("8" * 1999, "8" * 1998 + "9"),
    "open brackets": ("[" * 300_000, "3"),
    "open braces": ("{" * 9_000, "3"),
    "long product": ("y*" * 200_000 + "y", "3"),
    "long slash chain": ("/".join(["2"] * 3000), "3"),
    "long mod chain": (r"\mod ".join(["9"] * 2000), "3"),
    "postfix factorials": ("x" + "!" * 5000, "3"),
    "postfix percent": ("4" + "%" * 5000, "3"),
    "powers of powers": ("x" + "^2" * 3000, "x"),
    "bare fraction commands": (r"\frac" * 1500, "3"),
    "bare roots": (r"\sqrt" * 1800 + "2", "3"),
    "functions of functions": (r"\sin" * 1800 + "x", "3"),
    "minus signs": ("-" * 7001 + "1", "1"),
    "negative exponents": ("2^" + "-" * 5000 + "1", "3"),
    "arrows": (r"\Rightarrow" * 800 + "4", "3"),
    "nested fractions": (r"\frac{1}{1+" * 900 + "1" + "}" * 900, "3"),
    "nested subscripts": ("a" + "_{a" * 2500 + "}" * 2500, "3"),
    "bars": ("|x" * 4000, "3"),
    "primes": ("f" + "'" * 9000 + "(x)", "3"),
    "unions": (r"\cup".join(f"({n},{n}.5)" for n in range(700)), r"\cup".join(f"({n},{n}.4)" for n in range(700))),
    "alternatives": (
        " or ".join(f"x<{n}" for n in range(600)) + " or x<601",
        " or ".join(f"x<{n}" for n in range(600)) + " or x<602",
    ),
    "a big set": (
        r"\{" + ",".join(map(str, range(2000))) + r"\}",
        r"\{" + ",".join(map(str, range(1, 2001))) + r"\}",
    ),
    "a set of formulas": (
        r"\{" + ",".join(rf"(x+{n})^2\sin x" for n in range(40)) + r"\}",
        r"\{" + ",".join(rf"(x-{n})^2\sin x" for n in range(40)) + r"\}",
    ),
    "plus-minus": ("2" + r"\pm 3" * 30, "3"),
    "plus-minus list": (",".join([r"\pm x"] * 3000), "3"),
    "sum of sines": (r"\sum_{k=1}^{999999999}\cos(k)", "3"),
    "sums in sums": (r"\sum_{a=1}^{300}\sum_{b=1}^{300}\sum_{c=1}^{300} abc", "3"),
    "product of sums": (r"\prod_{a=1}^{400}\sum_{b=1}^{400} \ln(a+b)", "3"),
    "sum of factorials": (r"\sum_{n=1}^{490} \frac{2900!}{n}", "3"),
    "integral in integral": (r"\int_0^1\int_0^1\int_0^1 \sin(e^{xyz}) dx dy dz", "3"),
    "wild integral": (r"\int_0^1 x^{x^{x}}\cos(x^{x}) dx", "3"),
    "gamma at high precision": (r"x^{400}\cdot 10^{700}+\Gamma(x+250)", r"x^{400}\cdot 10^{700}+\Gamma(x+250)+1"),
    "sine of the huge": (r"\sin(10^{41}) + \sin(10^{39})", "3"),
    "exponentials": ("e^{e^{e^{e^{e^{x}}}}}", "x"),
    "determinant": (r"\det\begin{pmatrix}" + rows(12, r"\cos x") + r"\end{pmatrix}", "3"),
    "product of matrices": ((r"\begin{pmatrix}" + rows(4, "a+b") + r"\end{pmatrix}") * 30, "3"),
    "expansion": ("(a+b)^{90000}+1", "(a+b)^{90000}"),
    "many names": ("+".join(rf"\sin a_{{{n}}}" for n in range(500)), "3"),
    "long chain of equalities": ("x=" + "=".join(rf"\sqrt{{{n}}}" for n in range(500)), "x=3"),
    "cancellation in an integral": (r"\int_0^1 (10^{60}+x-10^{60}) dx", "0"),
    "one beside a large integral": (r"\int_0^1 10^{30} dx", "10^{30}+1"),
    "no sum": (r"\sum_{n=0}^\infty (-1)^n", r"\frac12"),
    "NUL and bidi": ("3\x00\u202e\u2066", "\u202e4"),
    "surrogates": ("\ud800\udfff4", "3"),
    "combining marks": ("4" + "\u0301" * 5000, "3"),
    "powers in superscript": ("9" + "⁹" * 3000, "3"),
    "call": ("exit(3)", "3"),
    "attribute": ("(3).__class__.__bases__", "3"),
    "lambda": ("(lambda: 3)()", "3"),
    "generator": ("[3 for _ in range(1)][0]", "3"),
    "format": ("{3!r}", "3"),
}


@pytest.mark.parametrize(("answer", "gold"), PAIRS.values(), ids=PAIRS.keys())
def test_a_hostile_answer_is_not_correct_and_does_not_hang(answer: str, gold: str) -> None:
    verifier = MathVerifier(deadline=0.1)
    boxed = f"So it is \\boxed{{{answer}}}."
    for judge, given, wanted in (
        (verifier.verify_answer, answer, gold),
        (verifier.verify_answer, gold, answer),
        (verifier.verify, boxed, gold),
    ):
        begun = time.perf_counter()
        verdict = judge(given, wanted)
        assert time.perf_counter() - begun < WALL_SECONDS
        assert verdict.outcome not in (Outcome.CORRECT, Outcome.BROKEN), verdict.detail


CODE = [
    "open('{}','w')",
    "__import__('pathlib').Path('{}').touch()",
    r"\pi*exec(\"open('{}','w')\")",
    "1 if open('{}','w') else 3",
]


@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize(
    "wrap", ["{}", "${}$", r"\boxed{{{}}}", r"\lim_{{x\to 0}} {}", r"\int {} dx", "[{}]", r"\text{{{}}}"]
)
def test_no_answer_is_run(code: str, wrap: str, tmp_path: Path) -> None:
    mark = tmp_path / "evidence"
    hostile = wrap.format(code.format(mark))
    for gold in ("3", hostile, r"\lim_{x\to 0} x"):
        verdict = MathVerifier(deadline=1).verify_answer(hostile, gold)
        assert verdict.outcome != Outcome.CORRECT or gold == hostile
        MathVerifier(deadline=1).verify(hostile, gold)
    assert not mark.exists()


TOKENS = [
    " ",
    "\n",
    "\\(",
    "\\[",
    "$",
    "$ ",
    "$1 ",
    "####",
    "</think>",
    "<think>",
    "<answer>",
    r"\boxed{",
    r"\boxed{1} ",
    "answer is ",
    "Answer:",
    "A:",
    "\nA: ",
    "final answer ",
    "{",
    "(",
    "=",
    "is ",
    "1,",
    "1 ",
    "a_",
    r"\text{",
    "x^",
    r"\frac",
    "|",
    ":",
    "and ",
    "%",
    '"',
    "'",
    "x. ",
    "\u0301",
    "\x00",
    "<|im_end|>",
    "I hope this helps",
    "*_",
]


@pytest.mark.parametrize("token", TOKENS, ids=ascii)
def test_reading_a_megabyte_is_linear(token: str) -> None:
    begun = time.thread_time()
    for reading in READINGS:
        read_answer("x. " + token * (1_000_000 // len(token)), reading)
    assert time.thread_time() - begun < WALL_SECONDS * len(READINGS) / 2


@pytest.mark.parametrize("token", TOKENS, ids=ascii)
def test_parsing_what_the_caps_allow_is_quick(token: str) -> None:
    begun = time.thread_time()
    for text in (token * (9_900 // len(token)), "x+" + token * (3_000 // len(token)) + "1"):
        try:
            parse_answer(text)
        except TooLarge as refused:
            assert str(refused)
    assert time.thread_time() - begun < WALL_SECONDS


def test_a_work_budget_is_no_matter_of_time() -> None:
    gold, answer = PAIRS["a set of formulas"]
    verdicts = {MathVerifier().verify_answer(answer, gold).model_copy(update={"seconds": 0.0}) for _ in range(3)}
    assert len(verdicts) == 1
    assert verdicts.pop().reason == Reason.BUDGET


def test_a_stack_that_is_nearly_full_is_undecided_and_no_crash() -> None:
    deep = r"\frac{1}{1+" * 18 + "1" + "}" * 18

    def under(frames: int) -> Outcome:
        return under(frames - 1) if frames else MathVerifier().verify_answer(deep, "0.61803").outcome

    assert under(100) == Outcome.INCORRECT
    assert under(sys.getrecursionlimit() - 160) in (Outcome.UNDECIDED, Outcome.INCORRECT)


@pytest.mark.parametrize("value", [None, 3, b"3", ["3"]], ids=repr)
def test_what_is_no_string_is_refused_by_name(value: object) -> None:
    verifier = MathVerifier()
    kind = type(value).__name__
    with pytest.raises(TypeError, match=f"completion must be a string, not {kind}"):
        verifier.verify(value, "3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=f"gold must be a string, not {kind}"):
        verifier.verify("3", value)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=f"answer must be a string, not {kind}"):
        verifier.verify_answer(value, "3")  # type: ignore[arg-type]


def test_hostile_golds_are_listed_and_not_run_into() -> None:
    hostile = ["(" * 5000, "1/" * 4000 + "1", "\ud800", "", "9" * 20_000, r"\frac" * 1500]
    with pytest.raises(GoldError) as caught:
        load_golds(["3", *hostile])
    assert [row for row, _, _ in caught.value.rows] == [1, 2, 3, 4, 5, 6]


def test_a_verdict_on_surrogates_can_be_written() -> None:
    verdict = MathVerifier().verify_answer("\ud800 3", "3")
    assert verdict.outcome == Outcome.UNREADABLE
    assert "3" in verdict.model_dump_json()
