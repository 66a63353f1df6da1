"""Word problems: the templates, and the truth of every line of a solution."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from markscheme.benchmarks.learning.words.draw import (
    draw,
    evaluation,
    gsm8k,
    held_out_numbers,
    solve,
    training,
)
from markscheme.benchmarks.learning.words.problems import Problem, judge, read_plan
from markscheme.benchmarks.learning.words.templates import HELD_OUT, TRAINING, Template
from markscheme.verifiers.errors import DataError

ALL = (*TRAINING, *HELD_OUT)
GIVENS = {"a": 3, "b": 4, "c": 5}


def problem(*plans: str) -> Problem:
    equations = solve(plans[0], GIVENS)
    assert equations is not None
    return Problem("?", Fraction(equations[-1][1]), tuple(GIVENS.items()), tuple(map(read_plan, plans)))


BOXES = problem("a*b; 1-c")
SUMS = problem("a+b; 1+c", "b+c; a+1")


def truths(asked: Problem, text: str, *, finished: bool = True) -> list[bool | None]:
    return [step.right for step in judge(asked, text.split("\n"), finished=finished).steps]


@pytest.mark.parametrize(
    ("asked", "text", "wanted"),
    [
        (BOXES, "They hold 3 * 4 = 12.\nLeft are 12 - 5 = 7.\n#### 7", [True, True, True]),
        (BOXES, "4 x 3 = 12\n12 − 5 = 7\n#### $7", [True, True, True]),
        (BOXES, "3 * 4 = 13\n13 - 5 = 8\n#### 8", [False, True, True]),
        (BOXES, "3 * 4 = 13\n12 - 5 = 7\n#### 7", [False, False, True]),
        (BOXES, "3 + 4 = 7\n7 - 5 = 2\n#### 2", [False, True, True]),
        (BOXES, "4 + 5 = 9\n3 * 4 = 12\n12 - 5 = 7\n#### 7", [False, True, True, True]),
        (BOXES, "3 * 4 = 12\n5 - 12 = -7\n#### 7", [True, False, False]),
        (BOXES, "3 * 4 = 12\n3 * 4 = 12\n12 - 5 = 7\n#### 7", [True, True, True, True]),
        (BOXES, "3 * 4 = 12\n#### 12", [True, False]),
        (BOXES, "#### 7", [False]),
        (BOXES, "#### 7\n3 * 4 = 12", [False, True]),
        (BOXES, "Let us see.\n3 * 4 = 12", [None, True]),
        (BOXES, "3 * 4 = 12 = 12", [False]),
        (BOXES, "3 * 4 - 5 = 7", [False]),
        (SUMS, "3 + 4 = 7\n7 + 5 = 12\n#### 12", [True, True, True]),
        (SUMS, "5 + 4 = 9\n3 + 9 = 12\n#### 12", [True, True, True]),
        (SUMS, "3 + 5 = 8\n8 + 4 = 12\n#### 12", [False, False, True]),
    ],
)
def test_a_line_is_right_when_it_is_the_next_step_of_a_plan(
    asked: Problem, text: str, wanted: list[bool | None]
) -> None:
    assert truths(asked, text) == wanted


def test_a_repeated_equation_is_idle_and_has_no_reward() -> None:
    judged = judge(BOXES, ["3 * 4 = 12", "So 4 * 3 = 12.", "12 - 5 = 7", "#### 7"])
    assert [step.idle for step in judged.steps] == [False, True, False, False]
    assert judged.rewards() == [1.0, None, 1.0, 1.0]


def test_what_was_cut_off_is_not_judged() -> None:
    judged = judge(BOXES, ["3 * 4 = 12", "12 - 5 = 7", "#### 7"], finished=False)
    assert [step.right for step in judged.steps] == [True, True, None]
    assert not judged.correct


def test_the_answer_is_right_by_itself_and_its_line_by_what_it_follows() -> None:
    judged = judge(BOXES, ["3 * 4 = 11", "11 - 5 = 7", "#### 7"])
    assert judged.correct
    assert judged.flawed
    assert [step.right for step in judged.steps] == [False, False, True]


def test_without_plans_arithmetic_is_judged_and_the_answer() -> None:
    free = Problem("?", Fraction(41))
    assert truths(free, "He pays 2 * 20 = 40.\nSo 40 + 2 = 41.\nDone.\n#### 41") == [True, False, None, True]
    assert truths(free, "#### 40") == [False]


@given(template=st.sampled_from(ALL), seed=st.integers(0, 10_000), held_out=st.booleans())
def test_every_demonstration_is_right_throughout(template: Template, seed: int, *, held_out: bool) -> None:
    asked, text = draw(random.Random(seed), template, held_out=held_out)
    judged = judge(asked, text.split("\n"))
    assert judged.correct
    assert [step.right for step in judged.steps] == [True] * (len(asked.plans[0]) + 1)
    assert held_out_numbers([value for _, value in asked.givens]) is held_out
    assert "{" not in asked.text + text


@given(st.sampled_from(ALL), st.integers(0, 10_000))
def test_every_plan_of_a_template_leads_to_its_answer(template: Template, seed: int) -> None:
    asked, _ = draw(random.Random(seed), template, held_out=False)
    for plan in template.plans:
        values = dict(asked.givens)
        results: list[int] = []
        for one in read_plan(plan):
            left, right = (results[int(n) - 1] if n.isdigit() else values[n] for n in (one.left, one.right))
            results.append({"+": left + right, "-": left - right, "*": left * right, "/": left // right}[one.sign])
        assert results[-1] == asked.answer


@given(st.sampled_from(ALL), st.integers(0, 10_000), st.lists(st.integers(1, 99), min_size=1, max_size=3))
def test_where_all_lines_are_right_the_answer_is(template: Template, seed: int, stated: list[int]) -> None:
    rng = random.Random(seed)
    asked, text = draw(rng, template, held_out=False)
    lines = text.split("\n")
    for value in stated:
        place = rng.randrange(len(lines))
        lines[place] = f"{lines[place].rpartition(' ')[0]} {value}" if rng.random() < 0.5 else lines[place]
    judged = judge(asked, lines)
    if all(step.right for step in judged.steps) and lines[-1].startswith("####"):
        assert judged.correct


def test_held_out_problems_share_no_numbers_with_training_and_new_templates_no_text() -> None:
    shown = training(random.Random(3), 200)
    seen, new = evaluation(60, templates="seen"), evaluation(60, templates="new")
    assert len({one.text for one in (*seen, *new)}) == 120
    assert {one.source for one in seen} == {one.name for one in TRAINING}
    assert {one.source for one in new} == {one.name for one in HELD_OUT}
    assert not {one.source for one, _ in shown} & {one.source for one in new}
    assert not {(one.source, one.givens) for one, _ in shown} & {(one.source, one.givens) for one in seen}
    assert evaluation(60, templates="new") == new


def test_a_template_whose_ranges_fit_nothing_is_named() -> None:
    never = Template("never", "{a} {b}", ("a-b",), ("{1}",), {"a": (1, 2), "b": (5, 6)})
    with pytest.raises(DataError, match=r"template 'never': no numbers in its ranges give whole results from 1 to 999"):
        draw(random.Random(0), never, held_out=False)


def test_rows_of_gsm8k(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    rows = [
        {"question": f"q{n}", "answer": f"He has 2*{n} = <<2*{n}={2 * n}>>{2 * n} pens.\n#### {2 * n}"}
        for n in range(1, 21)
    ]
    long = {"question": "long", "answer": "<<1+1=2>>2 <<2+1=3>>3 <<3+1=4>>4\n#### 4"}
    file.write_text("".join(json.dumps(row) + "\n" for row in [long, *rows]))
    shown, kept = gsm8k(file)
    assert (len(shown), [one.text for one in kept]) == (18, ["q1", "q11"])
    asked, text = shown[0]
    assert text == "He has 2*2 = 4 pens.\n#### 4"
    assert truths(asked, text) == [True, True]
    file.write_text('{"question": "q"}\n')
    with pytest.raises(DataError, match=r"train\.jsonl, line 1: expected a row of GSM8K with 'question' and 'answer'"):
        gsm8k(file)
