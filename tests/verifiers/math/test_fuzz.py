"""Random and mutated strings: no exception escapes, and none takes longer than its deadline allows."""

from __future__ import annotations

import random
import time

import pytest

import fuzz
from markscheme.verifiers import MathVerifier

DEADLINE = 0.05  # of algebra; four times as much of wall time
ROOM = 1.0  # seconds beyond it, for a loaded machine


def judge_all(count: int, seed: int) -> None:
    verifier = MathVerifier(deadline=DEADLINE)
    generator = random.Random(seed)
    for number, text in enumerate(fuzz.strings(count, seed)):
        gold = generator.choice(fuzz.SEEDS) if number % 3 else text[::-1]
        judge = verifier.verify if number % 2 else verifier.verify_answer
        begun, used = time.perf_counter(), time.thread_time()
        verdict = judge(text, gold)
        used, taken = time.thread_time() - used, time.perf_counter() - begun
        assert verdict.score in (1.0, 0.0, None)
        assert verdict.outcome != "broken", (text, gold, verdict.detail)
        assert used < 0.4 + ROOM, (text, gold)
        assert taken < 4 * DEADLINE + 2 + ROOM, (text, gold)


def test_two_thousand_strings() -> None:
    judge_all(2000, seed=20_260)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_strings(seed: int) -> None:
    judge_all(10_000, seed)
