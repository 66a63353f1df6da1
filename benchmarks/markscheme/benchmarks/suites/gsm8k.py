"""GSM8K's test split: 1319 word problems (Cobbe et al. 2021, arXiv 2110.14168)."""

from __future__ import annotations

import re
from pathlib import Path

from markscheme.benchmarks.suites.suite import Problem, suite_rows
from markscheme.verifiers.policy import Policy

_ASKS_PERCENT = re.compile(r"percent(age)?\b|%", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


class Gsm8k:
    """Rows hold ``question`` and ``answer``, a worked solution that ends in ``#### 18``."""

    name = "gsm8k"

    def load(self, path: Path | None = None) -> list[Problem]:
        """Load the problems; see `Suite.load`."""
        problems = []
        for row in suite_rows(path, "openai/gsm8k", "main"):
            question, gold = row.text(("question",), "question"), row.text(("answer",), "gold answer")
            policy = Policy(percent="interchangeable") if asks_percentage(question) else Policy()
            problems.append(Problem(row.number, str(row.number), question, gold, policy))
        return problems


def asks_percentage(question: str) -> bool:
    """Whether a question's last sentence speaks of a percentage: its golds are bare numbers, 50 as well as 50%."""
    return _ASKS_PERCENT.search(_SENTENCE_END.split(question.strip())[-1]) is not None
