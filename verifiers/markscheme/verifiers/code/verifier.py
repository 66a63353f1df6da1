"""The verifier of programs."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Literal

from markscheme.verifiers.code.calls import INSIDE
from markscheme.verifiers.code.cases import AssertTests, Cases, UnitTests, parse_cases
from markscheme.verifiers.code.compare import Comparator
from markscheme.verifiers.code.extract import IS_PYTHON, ReadProgram, joined, read_program
from markscheme.verifiers.code.judge import Judged, Settings, judge
from markscheme.verifiers.code.languages import LANGUAGES, tool_for
from markscheme.verifiers.code.outcomes import Limits, RunOutcome
from markscheme.verifiers.code.results import ProgramVerdict
from markscheme.verifiers.code.sandbox.pool import PRELOAD, Backend, Level, Sandbox
from markscheme.verifiers.outcomes import Outcome, Reason
from markscheme.verifiers.verdict import SCORES

Score = Literal["all", "fraction"]
_SHOWN = 20_000  # characters of a program that a verdict keeps
_PARSE = Limits(cpu_seconds=2, wall_seconds=30)
_MARKS = {"c": ("main",), "cpp": ("main",), "javascript": ("console.log", "process.", "require(")}


class CodeVerifier:
    """Judges programs by running them in a sandbox. Usable from any thread; can be pickled unless a sandbox was given.

    Args:
        sandbox: where programs run; None: one of its own, made at first use and closed by ``close``.
        level: of its own sandbox: ``"strongest"`` that the host gives, or exactly 3, 2 or 1.
        backend: of its own sandbox: ``"zygote"`` or ``"bubblewrap"``.
        workers: of its own sandbox: programs at once; the number of processors by default.
        limits: of each run.
        budget_seconds: CPU seconds that all of a program's cases may take; None: no bound but each one's limit.
        comparator: how outputs and results are compared.
        score: "all": 1.0 when every case passes, else 0.0, and the first that fails ends it; "fraction": the share of
            the cases that pass, which runs them all.
        language: of the programs: "python", "c", "cpp" or "javascript"; all but the first need level 3, their tool, and
            cases of standard input and output.
        thinking: the prompt's template opened a ``<think>`` block.

    Raises:
        ValueError: an unknown language or score.
        SandboxError: the language's tool is not installed. Its own sandbox raises at first use, where the host gives no
            safe level.
    """

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        *,
        level: Level = "strongest",
        backend: Backend = "zygote",
        workers: int | None = None,
        limits: Limits | None = None,
        budget_seconds: float | None = 60.0,
        comparator: Comparator | None = None,
        score: Score = "all",
        language: str = "python",
        thinking: bool = False,
    ) -> None:
        if score not in ("all", "fraction"):
            raise ValueError(f'score must be "all" or "fraction", not {score!r}')
        if language not in LANGUAGES:
            raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
        if budget_seconds is not None and not budget_seconds > 0:
            raise ValueError(f"budget_seconds must be positive or None, not {budget_seconds!r}")
        if language != "python":
            tool_for(language)
        self.score: Score = score
        self.thinking = thinking
        self.settings = Settings(
            limits or Limits(), comparator or Comparator(), budget_seconds, score == "fraction", language
        )
        preload = INSIDE if backend == "bubblewrap" else (*PRELOAD, *INSIDE)
        self._made: dict[str, Any] = {"level": level, "backend": backend, "workers": workers, "preload": preload}
        self._given = sandbox
        self._own: Sandbox | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        if self._given is not None:
            raise TypeError("a CodeVerifier with a sandbox that was given to it cannot be pickled; leave sandbox=None")
        return {key: value for key, value in self.__dict__.items() if key != "_lock"} | {"_own": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox in use. Raises SandboxError where the host does not give the level asked for."""
        if self._given is not None:
            return self._given
        with self._lock:
            if self._own is None:
                self._own = Sandbox(**self._made)
            return self._own

    # Judging ----------------------------------------------------------------------------------------------------

    def verify(self, completion: str, cases: Cases | str | object) -> ProgramVerdict:
        """Judge the program that a completion holds: its last fenced block, or all of it where that is a program.

        Args:
            completion: a model's text.
            cases: what to judge by, in any form that ``parse_cases`` reads, JSON text among them.

        Raises:
            DataError: cases that cannot be read or run.
        """
        start = time.perf_counter()
        parsed = parse_cases(cases, "the cases")
        prompt = parsed.prompt if isinstance(parsed, AssertTests) else ""
        found = read_program(
            completion, self.settings.language, thinking=self.thinking,
            is_program=(lambda _: True) if prompt else self._is_program,
        )  # fmt: skip
        if found.code is None:
            return ProgramVerdict(
                outcome=Outcome.UNREADABLE,
                score=0.0,
                answer=None,
                expected=None,
                reason=found.reason,
                detail=found.why,
                span=found.span,
                seconds=time.perf_counter() - start,
            )
        code = found.code
        if prompt and isinstance(parsed, AssertTests) and parsed.entry_point:
            code = joined(prompt, code, parsed.entry_point)
        return self._verdict(code, parsed, start, found)

    def verify_program(self, program: str, cases: Cases | str | object) -> ProgramVerdict:
        """Judge a program as it stands. Raises DataError for cases that cannot be read or run."""
        start = time.perf_counter()
        return self._verdict(program, parse_cases(cases, "the cases"), start, ReadProgram(program))

    async def averify(self, completion: str, cases: Cases | str | object) -> ProgramVerdict:
        """Judge a completion without holding up the event loop."""
        return await asyncio.to_thread(self.verify, completion, cases)

    def verify_many(self, completions: Sequence[str], cases: Sequence[Cases | str | object]) -> list[ProgramVerdict]:
        """Judge many completions, in order, as many at once as the sandbox has workers.

        Raises:
            DataError: cases that cannot be read, with their row; before anything is run.
            ValueError: the two differ in length.
        """
        if len(completions) != len(cases):
            raise ValueError(f"{len(completions)} completions came with {len(cases)} sets of cases; expected one each")
        parsed = [parse_cases(one, f"row {row}") for row, one in enumerate(cases)]
        if len(completions) < 2:
            return [self.verify(one, other) for one, other in zip(completions, parsed, strict=True)]
        with ThreadPoolExecutor(self.sandbox.workers) as threads:
            return list(threads.map(self.verify, completions, parsed))

    def _is_program(self, text: str) -> bool:
        if self.settings.language != "python":
            return any(mark in text for mark in _MARKS[self.settings.language])
        run = self.sandbox.run(IS_PYTHON, text.encode("utf-8", "surrogatepass"), limits=_PARSE)
        return run.outcome is RunOutcome.FINISHED

    def _verdict(self, program: str, cases: Cases, start: float, found: ReadProgram) -> ProgramVerdict:
        judged = judge(self.sandbox, program, cases, self.settings)
        outcome, score, reason, detail = self._summed(judged)
        shared = isinstance(cases, AssertTests | UnitTests) and judged.trust == "low"
        return ProgramVerdict(
            outcome=outcome,
            score=score,
            answer=program[:_SHOWN].encode("utf-8", "replace").decode(),
            expected=None,
            reason=reason,
            detail=f"{detail}; the tests ran in the program's own jail" if shared else detail,
            reading="code_block" if found.fenced else None,
            span=found.span,
            seconds=time.perf_counter() - start,
            level=judged.level,
            trust=judged.trust,
            cases=judged.cases,
        )

    def _summed(self, judged: Judged) -> tuple[Outcome, float | None, Reason, str]:
        """A verdict of all cases."""
        right = sum(case.passed for case in judged.cases)
        wrong = [(n, case) for n, case in enumerate(judged.cases, 1) if not case.passed]
        broken = [(n, case) for n, case in wrong if case.outcome is Outcome.BROKEN]
        if not wrong and right == judged.total:
            return Outcome.CORRECT, SCORES[Outcome.CORRECT], Reason.PASSED, f"{right} of {judged.total} cases pass"
        number, first = (broken or wrong)[0]
        detail = f"case {number} of {judged.total}: {first.detail}"
        if broken:
            return Outcome.BROKEN, SCORES[Outcome.BROKEN], Reason.SANDBOX_FAILED, detail
        score = right / judged.total if self.score == "fraction" else 0.0
        return Outcome.INCORRECT, score, first.reason, detail

    # Ending -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close its own sandbox; one that was given stays open."""
        with self._lock:
            if self._own is not None:
                self._own.close()
                self._own = None

    def __enter__(self) -> CodeVerifier:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


__all__ = ["CodeVerifier", "Score"]
