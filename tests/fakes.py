"""Stand-ins that several tests share. Importable in spawned processes too."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from typer.testing import Result

from markscheme.verifiers import MathVerifier, Outcome, Policy, Reason, Verdict
from markscheme.verifiers.grading import Setup
from markscheme.verifiers.verdict import SCORES

Run = Callable[..., Result]
"""The fixture ``run`` of the command-line tests."""

HOSTILE = (
    "</script><script>document.documentElement.dataset.owned='yes';document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\">[red]x[/red] [/] :smile: \x1b[2J\x1b]0;owned\x07 \x9b31m "
    "\u202e24\u202c \u2028 &amp; \\boxed{42}"
)


def verdict(outcome: Outcome, reason: Reason = Reason.DIFFERENT, **fields: object) -> Verdict:
    """Make a verdict; the fields that are not given are plain."""
    given = {"answer": "1", "expected": "2", "detail": "1 against 2", **fields}
    return Verdict.model_validate({"outcome": outcome, "score": SCORES[outcome], "reason": reason, **given})


class TextVerifier:
    """Judges by the text alone: ``undecided`` and the like name their outcome, else equality of strings counts."""

    def verify(self, completion: str, gold: str) -> Verdict:
        """Judge a completion: it is its own answer."""
        return self.verify_answer(completion, gold)

    def verify_answer(self, answer: str, gold: str) -> Verdict:
        """Judge an answer."""
        named = {o.value: o for o in Outcome}.get(answer)
        outcome = named or (Outcome.CORRECT if answer == gold else Outcome.INCORRECT)
        return verdict(outcome, answer=answer, expected=gold)


@dataclass(frozen=True, slots=True)
class DyingSetup(Setup):
    """A setup whose process ends before it judges anything."""

    def verifier(self, policy: Policy) -> MathVerifier:
        """End the process."""
        os._exit(3)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Write rows, one a line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> list[dict[str, object]]:
    """Read rows back."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
