"""Text that means harm: work stays linear in its length, whatever it holds."""

from __future__ import annotations

import sys
import time

import pytest

from markscheme.verifiers import EquationStepVerifier, StepVerdict

VERIFIER = EquationStepVerifier()
SIZE = 24_000  # characters; 100,000 in the soak

FLOODS = {
    "digits": "1", "brackets": "(", "open sums": "(1+", "claims": "1=2 ", "chain": "1=", "sum": "1+",
    "products": "99999999999*", "fractions": "1/3+", "towers": "9^9^9^9=5 ", "powers": "7^4000 = 5 ",
    "factorials": "3000! = 5 ", "annotations": "<<1+1=3>>", "open annotations": "<<", "signs": "=",
    "open fractions": '\\frac{', "latex": '\\frac{1}{2}+', "roots": '\\sqrt{2}+', "words": "apple ",
    "numbers and words": "3 apple ", "numbers": "1 2 ", "commas": "1,", "points": "1.", "spaces": " ", "lines": "\n",
    "percent": "%", "exclamations": "!", "minus": "-", "dollars": "$", "of": "1/2 of ", "times": "1x",
    "braces": "{1}", "empty": "()", "half of": "half of ", "mixed": "1 1/2 ", "quotes": "'", "backslashes": '\\',
    "subscripts": "_{", "tags": "<a ", "powers of two": "²", "not equal": "is not equal to ", "suppose": "suppose ",
    "unicode": "½+", "texts": '\\text{a', "clocks": "1:1+", "hyphens": "a-", "hours": "1 hour 2 ",
    "and": "1 and 1/2 ", "stars": "**", "dots": "...", "rounded": "rounded ", "is": "1 is 2 ",
}  # fmt: skip


def flood(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size] + "1 = 2"


def seconds(text: str) -> float:
    start = time.process_time()
    VERIFIER.verify_step(text)
    return time.process_time() - start


@pytest.mark.parametrize("piece", FLOODS.values(), ids=FLOODS)
def test_a_flood_is_judged_in_linear_time(piece: str) -> None:
    least = min(seconds(flood(piece, SIZE // 4)) for _ in range(2))
    most = min(seconds(flood(piece, SIZE)) for _ in range(2))
    assert most < 8 * least + 0.1, (least, most)  # 4 times where nothing else runs


@pytest.mark.soak
@pytest.mark.parametrize("piece", FLOODS.values(), ids=FLOODS)
def test_a_long_flood_is_judged_in_seconds(piece: str) -> None:
    assert seconds(flood(piece, 100_000)) < 5  # 0.5 s where nothing else runs


@pytest.mark.parametrize("depth", [39, 41, 1000, 20_000])
@pytest.mark.parametrize("brackets", ["()", "[]", "{}", (r"\frac{1}{", "}"), (r"\sqrt{", "}")])
def test_nesting_is_bounded(brackets: tuple[str, str], depth: int) -> None:
    verdict = VERIFIER.verify_step(brackets[0] * depth + "1 + 1" + brackets[1] * depth + " = 3")
    assert isinstance(verdict, StepVerdict)


def test_a_caller_near_the_end_of_its_stack_gets_a_verdict() -> None:
    def deeper(levels: int) -> StepVerdict:
        return deeper(levels - 1) if levels else VERIFIER.verify_step("(" * 30 + "1+1" + ")" * 30 + " = 3")

    for used in range(0, sys.getrecursionlimit() - 300, 50):
        try:
            verdict = deeper(used)
        except RecursionError:
            break
        assert verdict.outcome in ("wrong", "no_claim")
