"""What a verifier is asked to judge, and how a row of a file says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from markscheme.verifiers.errors import DataError
from markscheme.verifiers.jsonl import COMPLETION_FIELDS, GOLD_FIELDS, Row
from markscheme.verifiers.policy import Policy

Form = Literal["answer", "completion"]
"""``completion``: what a model wrote, the answer somewhere in it; ``answer``: a bare answer."""


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to judge.

    Attributes:
        row: its number in the file, from 0.
        completion: what the model wrote, or a bare answer, as ``form`` says.
        gold: the gold answer as it stands in the data set.
        form: "completion": read the answer out of it first; "answer": it is the answer.
        policy: the conventions of equality for this row.
        problem: the problem's text, for reports; may be empty.
        keys: what a verdict's row names it by, such as its ``id``.
    """

    row: int
    completion: str
    gold: str
    form: Form = "completion"
    policy: Policy = field(default_factory=Policy)
    problem: str = ""
    keys: dict[str, str | int] = field(default_factory=dict)


def read_task(
    row: Row,
    *,
    form: Form = "completion",
    gold_fields: Sequence[str] = GOLD_FIELDS,
    completion_fields: Sequence[str] = COMPLETION_FIELDS,
) -> Task:
    """Make a task of a row. Raises DataError when a field is missing or has the wrong type."""
    own = row.fields.get("form", form)
    if own not in ("answer", "completion"):
        raise DataError(f'{row.where}: \'form\': expected "answer" or "completion", found {own!r:.80}')
    identity = row.identity()
    return Task(
        row=row.number,
        gold=row.text(gold_fields, "gold answer"),
        completion=row.text(completion_fields, "completion"),
        form=own,
        problem=row.optional_text("problem") or row.optional_text("question"),
        keys={} if identity is None else {"id": identity},
    )
