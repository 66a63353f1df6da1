"""What the judge says of a program."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from pydantic import BaseModel, ConfigDict

from markscheme.verifiers.code import codec
from markscheme.verifiers.code.outcomes import Execution, RunOutcome
from markscheme.verifiers.outcomes import Outcome, Reason
from markscheme.verifiers.verdict import Verdict

Trust = Literal["high", "low"]
_SHOWN = 300

REASONS: dict[RunOutcome, Reason] = {
    RunOutcome.FINISHED: Reason.PASSED,
    RunOutcome.RUNTIME_ERROR: Reason.RUNTIME_ERROR,
    RunOutcome.TIME: Reason.TIME_LIMIT,
    RunOutcome.IDLE: Reason.IDLE_LIMIT,
    RunOutcome.MEMORY: Reason.MEMORY_LIMIT,
    RunOutcome.OUTPUT: Reason.OUTPUT_LIMIT,
    RunOutcome.RESOURCE: Reason.RESOURCE,
    RunOutcome.BROKEN: Reason.SANDBOX_FAILED,
}


class CaseResult(BaseModel):
    """How one case came out.

    Attributes:
        outcome: CORRECT, INCORRECT, or BROKEN where the sandbox failed.
        reason: the code for it.
        detail: one sentence, fit for a terminal.
        cpu_seconds: CPU time; of cases that ran in one jail, each has its share.
        peak_memory_bytes: largest resident size.
    """

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    reason: Reason
    detail: str = ""
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0

    @property
    def passed(self) -> bool:
        """Whether it is CORRECT."""
        return self.outcome is Outcome.CORRECT


class ProgramVerdict(Verdict):
    """The judgement of one program.

    ``answer`` holds the program as it was read; ``detail`` tells of the first case that failed.

    Attributes:
        level: the sandbox's level: 3 namespaces, 2 Landlock and seccomp, 1 limits only; 0 where nothing ran.
        trust: "low" where the tests had to run in the program's own jail, in which a program that means to can make
            them pass.
        cases: the cases that were run, in order; those after the first that fails are not, unless partial credit is
            asked for.
    """

    level: int = 0
    trust: Trust = "high"
    cases: tuple[CaseResult, ...] = ()


def passed(run: Execution, detail: str = "") -> CaseResult:
    """A case that came out right."""
    return _result(run, Outcome.CORRECT, Reason.PASSED, detail)


def failed(run: Execution, reason: Reason, detail: str) -> CaseResult:
    """A case that came out wrong."""
    return _result(run, Outcome.INCORRECT, reason, detail)


def ended(run: Execution) -> CaseResult:
    """A case whose run did not finish as it should."""
    outcome = Outcome.BROKEN if run.outcome is RunOutcome.BROKEN else Outcome.INCORRECT
    detail = run.detail or (f"ended by signal {run.signal}" if run.signal else f"exit status {run.exit_code}")
    return _result(run, outcome, REASONS[run.outcome], detail)


def _result(run: Execution, outcome: Outcome, reason: Reason, detail: str) -> CaseResult:
    return CaseResult(
        outcome=outcome,
        reason=reason,
        detail=shown(detail),
        cpu_seconds=run.cpu_seconds,
        peak_memory_bytes=run.peak_memory_bytes,
    )


def shown(text: str, most: int = _SHOWN) -> str:
    """A text fit for a terminal: control characters escaped, cut short."""
    short = text if len(text) <= most else f"{text[:most]}…"
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in short)


def shown_value(value: object, most: int = 80) -> str:
    """A decoded value, shown without writing all of it: hostile ones may be long or hold huge integers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if value.bit_length() < 256 else f"an integer of {value.bit_length()} bits"
    if value is None or isinstance(value, bool | float | complex):
        return repr(value)
    if isinstance(value, str | bytes):
        return shown(repr(value[:most]), most + 20) + ("…" if len(value) > most else "")
    if isinstance(value, Fraction):
        return f"Fraction({shown_value(value.numerator)}, {shown_value(value.denominator)})"
    if type(value) in codec.EXACT:
        return shown(repr(value), most)
    items = getattr(value, "items", value)
    kind = {"S": "set", "Z": "frozenset", "d": "dict"}.get(getattr(value, "kind", ""), type(value).__name__)
    if not isinstance(items, list | tuple):
        return kind
    if len(items) <= 6 and all(item is None or isinstance(item, bool | int | float | str) for item in items):
        return f"{kind}({', '.join(shown_value(item, 20) for item in items)})"
    return f"a {kind} of {len(items)}"
