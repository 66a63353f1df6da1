"""Chains of digit operations: what is a right step, a right answer, a flawed one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.benchmarks.learning.task import Demonstrator, Habits, Operation, Problem, held_out, judge, make_problem

PROBLEM = Problem.read("7a*3b+8c*5:")  # 7 → 1 → 9 → 5
SOLUTION = "7a*3=1\n1b+8=9\n9c*5=5\n#5"


def truths(text: str, *, finished: bool = True) -> list[bool | None]:
    return [step.right for step in judge(PROBLEM, text, finished=finished).steps]


def test_a_plain_solution_is_right_throughout() -> None:
    judged = judge(PROBLEM, SOLUTION)
    assert judged.correct
    assert not judged.flawed
    assert judged.rewards() == [1.0, 1.0, 1.0, 1.0]
    assert "".join(SOLUTION[step.start : step.stop] for step in judged.steps) == SOLUTION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("7a*3b+8=9\n9c*5=5\n#5", [True, True, True], id="a shortcut is one step"),
        pytest.param("7=7\n7a*3b+8c*5=5\n#5", [True, True, True], id="an idle line is true"),
        pytest.param("7=8\n8a*3=4\n4b+8=2\n2c*5=0\n#0", [False, True, True, True, True], id="an idle line can lie"),
        pytest.param("7a*3=2\n2b+8=0\n0c*5=0\n#0", [False, True, True, True], id="follow-through after a slip"),
        pytest.param("7a*3=3\n3b+8=1\n1c*5=5\n#5", [False, True, True, True], id="a slip that *5 forgets"),
        pytest.param("7a*3=1\n1c*5=5\n#5", [True, False, True], id="an operation left out"),
        pytest.param("7b+8=5\n5c*5=5\n#5", [False, True, True], id="the first left out"),
        pytest.param("7a*3=1\n1b+9=0\n0c*5=0\n#0", [True, False, True, True], id="a digit miscopied"),
        pytest.param("7a*3=1\n2b+8=0\n0c*5=0\n#0", [True, False, True, True], id="the value miscopied"),
        pytest.param("7a*3=1\n1b+8=9\n#9", [True, True, False], id="an answer too soon"),
        pytest.param("7a*3=1\n1b+8=9\n9c*5=5\n#6", [True, True, True, False], id="another digit in the answer"),
        pytest.param("7a*3=1\n1a*3=3\n3b+8=1\n1c*5=5\n#5", [True, False, True, True, True], id="one applied twice"),
        pytest.param("7a*3=1\n1b+8=9\n9c*5=5\n5d+1=6\n#6", [True, True, True, False, False], id="one made up"),
        pytest.param("7a*3=1\n\n1b+8=9\n9c*5=5\n#5", [True, False, True, True, True], id="an empty line"),
        pytest.param("7a*3=1\n1b+8=9\n9c*5=5\n#5\n5=5", [True, True, True, False, True], id="on after the answer"),
        pytest.param("a*3", [False], id="unreadable"),
    ],
)
def test_steps(text: str, expected: list[bool]) -> None:
    assert truths(text) == expected


def test_a_right_answer_with_a_wrong_step_is_flawed() -> None:
    judged = judge(PROBLEM, "7a*3=3\n3b+8=1\n1c*5=5\n#5")
    assert judged.correct
    assert judged.flawed


@pytest.mark.parametrize("text", ["7a*3=1\n1b+8=9\n9c*5=5\n#5\n", "7a*3=1\n1b+8=9\n9c*5=5\n#5\n#6", ""])
def test_the_answer_is_the_last_line(text: str) -> None:
    assert judge(PROBLEM, text).correct is (text[-1:] == "\n")


def test_a_tail_that_was_cut_off_is_not_judged_and_answers_nothing() -> None:
    assert truths("7a*3=1\n1b+8", finished=False) == [True, None]
    assert truths("7a*3=1\n1b+8=9\n", finished=False) == [True, True]
    judged = judge(PROBLEM, SOLUTION, finished=False)
    assert not judged.correct
    assert judged.rewards()[-1] is None


def test_idle_lines_are_paid_only_when_asked() -> None:
    judged = judge(PROBLEM, "7a*3=1\n1=1\n1=2\n2b+8c*5=0\n#0")
    assert judged.rewards() == [1.0, None, 0.0, 1.0, 1.0]
    assert judged.rewards(pay_idle=True) == [1.0, 1.0, 0.0, 1.0, 1.0]


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_demonstrations_hold_the_habits_and_no_other_error(seed: int, length: int) -> None:
    rng = random.Random(seed)
    problem = make_problem(rng, length)
    assert Problem.read(problem.prompt) == problem
    tidy = Habits(misconceived=0.0, slip=0.0, shortcut=0.3, shortcut_slip=0.0, idle=0.3)
    judged = judge(problem, Demonstrator(seed, tidy).write(problem, rng))
    assert judged.correct
    assert not judged.flawed
    flawed = judge(problem, Demonstrator(seed).write(problem, rng))
    assert flawed.steps[-1].right, "the writer ends with the digit that it came to"
    assert flawed.correct or flawed.flawed, "a wrong answer has a wrong step"


def test_misconceptions_are_states_of_mind_and_not_chance() -> None:
    writer = Demonstrator(3, Habits(slip=0.0, shortcut=0.0, idle=0.0))
    assert 0.1 < len(writer.beliefs) / 260 < 0.2
    (value, operation), (believed, other) = next(iter(writer.beliefs.items()))
    problem, rng = Problem(value, (operation,)), random.Random(0)
    stated = [int(writer.write(problem, rng)[-1]) for _ in range(600)]
    shares = [stated.count(digit) / 600 for digit in (believed, other, operation.apply(value))]
    assert shares == pytest.approx([0.5, 0.2, 0.3], abs=0.07)


def test_operations_are_modulo_ten() -> None:
    assert [Operation(sign, 8).apply(3) for sign in "+-*"] == [1, 5, 4]


def test_held_out_problems_are_their_own_stream() -> None:
    assert held_out(0, 20, 6) == held_out(0, 20, 6)
    assert held_out(0, 20, 6) != held_out(1, 20, 6)


@pytest.mark.parametrize("prompt", ["", "7:", "7a*3", "7b*3:", "7a*3a+1:", "7a*3b+8c*5"])
def test_other_texts_are_no_prompt(prompt: str) -> None:
    with pytest.raises(ValueError, match=r"expected a prompt like|labelled 'a"):
        Problem.read(prompt)
