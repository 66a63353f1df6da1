"""Running model-written programs in a jail, and judging them. Names load on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markscheme.verifiers.code.cases import AssertTests, CallCase, StdioCase, UnitTests, parse_cases
    from markscheme.verifiers.code.compare import Checker, Comparator
    from markscheme.verifiers.code.extract import read_program
    from markscheme.verifiers.code.loaders import Problem, load_humaneval, read_input_output, read_livecodebench
    from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome
    from markscheme.verifiers.code.results import CaseResult, ProgramVerdict
    from markscheme.verifiers.code.sandbox.pool import Sandbox
    from markscheme.verifiers.code.sandbox.supervisor import SandboxError
    from markscheme.verifiers.code.verifier import CodeVerifier

_HOMES = {
    "AssertTests": "cases",
    "CallCase": "cases",
    "CaseResult": "results",
    "Checker": "compare",
    "CodeVerifier": "verifier",
    "Comparator": "compare",
    "Execution": "outcomes",
    "Limits": "outcomes",
    "Problem": "loaders",
    "ProgramVerdict": "results",
    "RunOutcome": "outcomes",
    "Sandbox": "sandbox.pool",
    "SandboxError": "sandbox.supervisor",
    "StdioCase": "cases",
    "UnitTests": "cases",
    "load_humaneval": "loaders",
    "parse_cases": "cases",
    "read_input_output": "loaders",
    "read_livecodebench": "loaders",
    "read_program": "extract",
}

__all__ = [
    "AssertTests",
    "CallCase",
    "CaseResult",
    "Checker",
    "CodeVerifier",
    "Comparator",
    "Execution",
    "Limits",
    "Problem",
    "ProgramVerdict",
    "RunOutcome",
    "Sandbox",
    "SandboxError",
    "StdioCase",
    "UnitTests",
    "load_humaneval",
    "parse_cases",
    "read_input_output",
    "read_livecodebench",
    "read_program",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
