"""A labelled solution: a problem, its steps, and what is known of each step.

The columns are TRL's stepwise type: ``prompt``, ``completions``, ``labels``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, field_validator, model_validator

Label = StrictBool | StrictInt | StrictFloat | None
"""A label as data sets write it: true/false, a probability in [0, 1], -1/0/1, or None for an unlabelled step."""
Zero = Literal["wrong", "right", "unlabelled"]
"""What the label 0 says: the step is wrong (labels 0/1), or neutral (labels -1/0/1) and taken as right or left out."""

RIGHT_ABOVE = 0.5
"""A step counts as right when its target is above this; a target of exactly one half is not."""


@dataclass(frozen=True)
class Origin:
    """Where a row was read from. All are equal: where they come from makes no two samples different.

    Attributes:
        file: its name; empty for rows in memory.
        row: its number, from 0; None where it is not known.
    """

    file: str = field(default="", compare=False)
    row: int | None = field(default=None, compare=False)

    @property
    def place(self) -> str:
        """As messages say it; empty where it is not known."""
        if self.row is None:
            return ""
        return f"{self.file} row {self.row}" if self.file else f"row {self.row}"


class Message(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    role: str
    content: str


class StepSample(BaseModel):
    """One solution with a label a step.

    Labels stay as they were given; `targets` are what to train on and to compare with. -1 and False are always wrong.
    So is 0, except in a row that holds a -1: there the labels are PRM800K's -1/0/1, in which 0 says "neutral, not
    wrong", and it is taken as right, as ProcessBench's authors do, unless ``zero`` says otherwise. A row without a -1
    cannot tell which of the two its zeros are: `load_samples` looks at the whole file.

    Attributes:
        prompt: the problem, as text or as messages.
        completions: the steps, none of them blank.
        labels: one a step.
        zero: what a label 0 says. None: "right" if the row holds a -1, else "wrong".
        id: the data set's name for the row.
        source: the data set.
        subset: its part, over which metrics are averaged (ProcessBench's gsm8k, math …).
        kind: the kind of error (PRMBench's classification).
        generator: the model that wrote the steps.
        final_answer_correct: whether the solution ends in the right answer, where that is known.
        first_error_index: the first wrong step from 0, -1 for none, as the data set states it.
        origin: the file and the row that it was read from, where it was; no part of what is dumped and compared.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    prompt: str | tuple[Message, ...]
    completions: tuple[str, ...]
    labels: tuple[Label, ...]
    zero: Zero | None = None
    id: str = ""
    source: str = ""
    subset: str = ""
    kind: str = ""
    generator: str = ""
    final_answer_correct: StrictBool | None = None
    first_error_index: StrictInt | None = Field(default=None, ge=-1)
    origin: Origin = Field(default=Origin(), exclude=True, repr=False)

    @field_validator("prompt", mode="before")
    @classmethod
    def _prompt(cls, value: Any) -> Any:
        if isinstance(value, str):
            if not value.strip():
                raise ValueError("the problem is empty")
        elif not isinstance(value, Sequence) or not value:
            raise ValueError(f"the problem: expected a text or a list of messages, found {_kind(value)}")
        return value

    @field_validator("completions", mode="before")
    @classmethod
    def _steps(cls, value: Any) -> Any:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ValueError(f"the steps: expected a list of texts, found {_kind(value)}")
        if not value:
            raise ValueError("the steps: expected at least one, found an empty list")
        for i, step in enumerate(value):
            if not isinstance(step, str):
                raise ValueError(f"step {i}: expected a text, found {_kind(step)}")
            if not step.strip():
                raise ValueError(f"step {i} is empty: take it out, and its label with it")
        return value

    @field_validator("labels", mode="before")
    @classmethod
    def _labels(cls, value: Any) -> Any:
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ValueError(f"the labels: expected a list, found {_kind(value)}")
        plain = [_plain(label) for label in value]
        for i, label in enumerate(plain):
            _check(label, i)
        fraction = next((i for i, label in enumerate(plain) if label is not None and label not in {-1, 0, 1}), None)
        if fraction is not None and -1 in plain:
            raise ValueError(f"label {fraction} is {plain[fraction]}, but label {plain.index(-1)} is -1: {_MIXED}")
        return plain

    @model_validator(mode="after")
    def _fits(self) -> Self:
        steps, labels = len(self.completions), len(self.labels)
        if steps != labels:
            raise ValueError(
                f"expected one label a step: {steps} steps, {labels} labels; None labels a step as unknown"
            )
        stated = self.first_error_index
        if stated is not None:
            if stated >= steps:
                raise ValueError(f"the first error is step {stated}, but the last step is {steps - 1}")
            self._agree(stated)
        return self

    def _agree(self, stated: int) -> None:
        """Raise ValueError when labels contradict the stated first error."""
        for i, target in enumerate(self.targets):
            before = stated == -1 or i < stated
            if target is not None and ((before and not is_right(target)) or (i == stated and is_right(target))):
                said = "there is no error" if stated == -1 else f"the first error is step {stated}"
                raise ValueError(f"label {i} is {self.labels[i]}, but the row says that {said}")

    @property
    def problem(self) -> str:
        """The problem as one text: of messages, the user's last."""
        if isinstance(self.prompt, str):
            return self.prompt
        asked = [message.content for message in self.prompt if message.role == "user"]
        return asked[-1] if asked else self.prompt[-1].content

    @property
    def place(self) -> str:
        """Where it was read from, as messages say it; empty where that is not known."""
        return self.origin.place

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps; another name for ``completions``."""
        return self.completions

    @cached_property
    def targets(self) -> tuple[float | None, ...]:
        """The probability that each step is right, in [0, 1]; None where that is unknown."""
        zero = self.zero or ("right" if any(label == -1 for label in self.labels) else "wrong")
        return tuple(target(label, zero) for label in self.labels)

    @property
    def first_error(self) -> int | None:
        """The first wrong step from 0; -1 when every step is right; None when the labels do not tell."""
        if self.first_error_index is not None:
            return self.first_error_index
        return first_wrong(self.targets)

    def columns(self) -> dict[str, Any]:
        """TRL's three columns, with targets for labels; for ``datasets.Dataset.from_list``."""
        prompt = self.prompt if isinstance(self.prompt, str) else [message.model_dump() for message in self.prompt]
        return {"prompt": prompt, "completions": list(self.completions), "labels": list(self.targets)}


_MIXED = "labels are either -1/0/1 or probabilities in [0, 1]"


def target(label: bool | float | None, zero: Zero = "wrong") -> float | None:  # noqa: FBT001 - a label may be a bool
    """Return the probability that a label gives its step of being right; None for an unlabelled step."""
    if label is None or isinstance(label, bool):
        return label if label is None else float(label)
    if label == 0:
        return {"wrong": 0.0, "right": 1.0, "unlabelled": None}[zero]
    return max(float(label), 0.0)


def is_right(value: float, above: float = RIGHT_ABOVE) -> bool:
    """Whether a target says that its step is right. Monte-Carlo shares take ``above=0``: any success will do."""
    return value > above


def first_wrong(targets: Iterable[float | None], above: float = RIGHT_ABOVE) -> int | None:
    """Return the first wrong step from 0, -1 for none, or None where an unlabelled step comes before it is known."""
    unknown = False
    for i, value in enumerate(targets):
        if value is None:
            unknown = True
        elif not is_right(value, above):
            return None if unknown else i
    return None if unknown else -1


def _plain(label: Any) -> Any:
    """A number of numpy, torch or decimal as Python's own."""
    if isinstance(label, Decimal):
        return int(label) if label == label.to_integral_value() else float(label)
    return label.item() if hasattr(label, "item") else label


def _check(label: Any, i: int) -> None:
    if label is None or isinstance(label, bool):
        return
    if not isinstance(label, int | float):
        raise ValueError(f"label {i}: expected true, false, a number or null, found {_kind(label)}")
    if not math.isfinite(label) or (label != -1 and not 0 <= label <= 1):
        raise ValueError(f"label {i} is {label}: expected -1, 0, 1 or a probability in [0, 1]")


def _kind(value: Any) -> str:
    return (
        f"{type(value).__name__} {str(value)[:40]!r}" if isinstance(value, str | int | float) else type(value).__name__
    )
