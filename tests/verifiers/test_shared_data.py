"""Bounds on real data: labelled pairs, the golds of two suites, and sampled solutions with their known judgement."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from markscheme.benchmarks.suites.gsm8k import Gsm8k
from markscheme.verifiers import MathVerifier, Outcome, load_golds
from markscheme.verifiers.audit import audit, load_pairs
from markscheme.verifiers.math.kinds import AnswerType, answer_type

# File, pairs that are equal, pairs that are not, false negatives and false positives at most.
BOUNDS = [
    ("hard_pairs", 90, 49, 2, 0),
    ("reported_kinds", 68, 43, 3, 0),
    ("metamorphic", 3403, 2909, 10, 0),
    ("gsm8k_model_solutions", 971, 1617, 0, 0),
    ("nemo_skills_tests", 46, 12, 3, 0),
    ("small_peer_tests", 31, 7, 3, 0),
    ("qwen_grader_tests", 9, 6, 1, 0),
    ("mathverify_tests", 206, 48, 12, 2),
    ("hardverify_math", 97, 122, 10, 0),
]
LEAST_AGREEMENT = 0.995


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("name", "true", "false", "fn", "fp"), BOUNDS, ids=[bound[0] for bound in BOUNDS])
def test_labelled_pairs(data: Path, name: str, true: int, false: int, fn: int, fp: int) -> None:
    result = audit(load_pairs(data / "math" / f"{name}.jsonl"), MathVerifier())
    assert (result.true, result.false) == (true, false)
    wrong = "\n".join(
        f"{m.pair.expected}: {m.pair.task.gold[:80]!r} | {m.pair.task.completion[-80:]!r}: {m.verdict.detail}"
        for m in result.mismatches
    )
    assert result.fn <= fn, wrong
    assert result.fp <= fp, wrong
    assert result.broken == 0
    assert result.max_ms < 5000


@pytest.fixture(scope="module")
def math500(data: Path) -> list[str]:
    return [row["answer"] for row in rows(data / "suites" / "math500_test.jsonl")]


@pytest.fixture(scope="module")
def gsm8k(data: Path) -> list[dict[str, Any]]:
    return rows(data / "suites" / "gsm8k_test.jsonl")


def test_math500_golds_are_read_and_equal_themselves(math500: list[str]) -> None:
    golds = load_golds(math500)
    assert len(golds) == 500
    verifier = MathVerifier()
    unequal = [
        gold.answer
        for gold in golds
        if verifier.verify_answer(gold.answer, gold.text).outcome is not Outcome.CORRECT
        or verifier.verify(rf"Hence \boxed{{{gold.answer}}}.", gold.text).outcome is not Outcome.CORRECT
    ]
    assert unequal == []


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        (AnswerType.TEXT, r"\\text\{[A-Za-z]{4,}\}"),
        (AnswerType.NUMBER, r"-?\d+|\d{1,3}(?:,\\!\d{3})+|-?\\frac\{\d+\}\{\d+\}|\d+\\frac\{\d+\}\{\d+\}"),
        (AnswerType.NUMBER, r"-?\d+\\sqrt\{\d+\}|-?\d*\.\d+"),
        (AnswerType.QUANTITY, r"\d+\^\\circ|\d+ ?\\text\{ ?(?:cm|inches|degrees)\}"),
        (AnswerType.MATRIX, r"\\begin\{pmatrix\}.*\\end\{pmatrix\}"),
        (AnswerType.BASED, r"\d+_\{?\d+\}?"),
        (AnswerType.TUPLE, r"\(-?\d+,\s*-?\d+(?:,\s*-?\d+)*\)"),
        (AnswerType.INTERVAL, r"\[[^\[\]()]*\)|\([^\[\]()]*\]|\[-?\d+,\s*-?\d+\]|\([^()]*\\infty\)"),
        (AnswerType.UNION, r"[(\[][^()\[\]]*[)\]]\s*\\cup\s*[(\[][^()\[\]]*[)\]]"),
        (AnswerType.LIST, r"-?\d+(?:,\s+-?\d+)+"),
    ],
    ids="text number surd quantity matrix based tuple interval union list".split(),
)
def test_math500_golds_are_typed_by_their_form(math500: list[str], kind: AnswerType, pattern: str) -> None:
    golds = [gold for gold in math500 if re.fullmatch(pattern, gold)]
    assert golds
    assert {gold: answer_type(gold) for gold in golds} == dict.fromkeys(golds, kind)


def test_gsm8k_golds_are_read_and_equal_themselves(gsm8k: list[dict[str, Any]]) -> None:
    golds = load_golds([row["answer"] for row in gsm8k])
    assert len(golds) == 1319
    assert [gold.answer for gold in golds] == [row["answer"].rsplit("#### ", 1)[1] for row in gsm8k]
    assert {answer_type(gold.answer) for gold in golds} == {AnswerType.NUMBER}
    verifier = MathVerifier()
    unequal = [
        gold.row
        for gold in golds
        if verifier.verify(gold.text, gold.text).outcome is not Outcome.CORRECT
        or verifier.verify_answer(gold.answer.replace(",", ""), gold.text).outcome is not Outcome.CORRECT
    ]
    assert unequal == []


def test_agreement_on_sampled_gsm8k_solutions(data: Path) -> None:
    problems = {problem.question: problem for problem in Gsm8k().load(data / "suites" / "gsm8k_test.jsonl")}
    verifiers = {problem.policy: MathVerifier(policy=problem.policy) for problem in problems.values()}
    judged, apart = 0, []
    for row in rows(data / "prm" / "bon_gsm8k_4models.jsonl"):
        problem = problems[row["problem"]]
        for solution in row["solutions"]:
            verdict = verifiers[problem.policy].verify(solution["text"], problem.gold)
            judged += 1
            if (verdict.outcome is Outcome.CORRECT) != solution["is_correct"]:
                apart.append(f"{problem.index}: {verdict.answer!r} against {verdict.expected!r}: {verdict.detail}")
    assert judged == 4 * 1319
    assert 1 - len(apart) / judged >= LEAST_AGREEMENT, "\n".join(apart)
