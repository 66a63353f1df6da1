"""Labels of steps: how they are made, and how wrong they are. Names load on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from markscheme.prm.labels.audit import LabelAudit, audit  # not lazy: the function has its module's name

if TYPE_CHECKING:
    from markscheme.prm.labels.agreement import Agreement, consensus
    from markscheme.prm.labels.checker import CheckerLabeler, EquationLabeler
    from markscheme.prm.labels.judge import JudgeLabeler, judge_messages, read_judgement
    from markscheme.prm.labels.montecarlo import MonteCarloLabeler
    from markscheme.prm.labels.result import Estimate, Labeler, LabelFile, StepLabels, summary
    from markscheme.prm.labels.rollouts import AnswerCheck, ChatAsk, Generate, PrefixPrompt
    from markscheme.prm.labels.running import label_many
    from markscheme.prm.labels.search import SearchLabeler
    from markscheme.prm.labels.tasks import LabelTask, read_tasks

_HOMES = {
    "Agreement": "agreement",
    "AnswerCheck": "rollouts",
    "ChatAsk": "rollouts",
    "CheckerLabeler": "checker",
    "EquationLabeler": "checker",
    "Estimate": "result",
    "Generate": "rollouts",
    "JudgeLabeler": "judge",
    "LabelFile": "result",
    "LabelTask": "tasks",
    "Labeler": "result",
    "MonteCarloLabeler": "montecarlo",
    "PrefixPrompt": "rollouts",
    "SearchLabeler": "search",
    "StepLabels": "result",
    "consensus": "agreement",
    "judge_messages": "judge",
    "label_many": "running",
    "read_judgement": "judge",
    "read_tasks": "tasks",
    "summary": "result",
}

__all__ = [
    "Agreement",
    "AnswerCheck",
    "ChatAsk",
    "CheckerLabeler",
    "EquationLabeler",
    "Estimate",
    "Generate",
    "JudgeLabeler",
    "LabelAudit",
    "LabelFile",
    "LabelTask",
    "Labeler",
    "MonteCarloLabeler",
    "PrefixPrompt",
    "SearchLabeler",
    "StepLabels",
    "audit",
    "consensus",
    "judge_messages",
    "label_many",
    "read_judgement",
    "read_tasks",
    "summary",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
