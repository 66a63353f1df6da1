"""What a labeler says of a solution, and the file in which a run keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, computed_field, model_validator

from markscheme.prm.labels.tasks import LabelTask
from markscheme.prm.schema import StepSample
from markscheme.verifiers.errors import StepDataError
from markscheme.verifiers.jsonl import Row, read_rows
from markscheme.verifiers.records import LineFile, fingerprint
from markscheme.verifiers.statistics import wilson

After = Literal["unlabelled", "wrong"]
"""What becomes of the steps after a first error."""


class Labeler(Protocol):
    """Anything that labels the steps of solutions."""

    @property
    def identity(self) -> str:
        """All that labels follow from beside the solutions: a resumed run compares it."""
        ...

    def label(self, tasks: Sequence[LabelTask]) -> list[StepLabels]:
        """Label solutions, in order."""
        ...


class Estimate(BaseModel):
    """How often rollouts from one prefix came to the right answer.

    Attributes:
        right: such rollouts.
        judged: rollouts that the verifier decided.
        undecided: rollouts that it did not decide; they are in no share.
        stated: the prefix was a whole solution: its own answer was judged, once, and nothing was rolled out.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    right: int = Field(ge=0)
    judged: int = Field(ge=0)
    undecided: int = Field(default=0, ge=0)
    stated: bool = False

    @computed_field  # type: ignore[prop-decorator]
    @property
    def share(self) -> float | None:
        """``right / judged``; None where nothing was decided."""
        return self.right / self.judged if self.judged else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the chance of a right answer; a stated answer has no chance about it."""
        if self.stated and self.judged:
            return (float(self.right), float(self.right))
        return wilson(self.right, self.judged)

    def passes(self, threshold: float) -> bool | None:
        """Whether the prefix can still come right: its share is at least the threshold; with 0, above 0.

        Returns:
            None where nothing was decided.
        """
        if self.share is None:
            return None
        return self.share >= threshold if threshold > 0 else self.right > 0


class StepLabels(BaseModel):
    """A labelled solution: TRL's stepwise columns, and what the labels rest on.

    A file of these can be trained on as it is (`load_samples`, ``markscheme prm train``).

    Attributes:
        prompt: the problem.
        completions: the steps.
        labels: the chance that each step is right, or 1 and 0; None for a step that has no label.
        source: the labeler's name.
        first_error: the first wrong step from 0, -1 for none, None where the labeler cannot tell.
        final_answer_correct: what the verifier says of the solution's own answer; None where it was not asked or
            did not decide.
        estimates: of the prefixes that end with each step; None for those that were not rolled out.
        rollouts: completions that were generated for these labels.
        requests: answers that were asked of a judge.
        unparsed: of these, those that could not be read.
        note: why there is no label where there might have been one.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    prompt: str
    completions: tuple[str, ...]
    labels: tuple[float | None, ...]
    source: str
    first_error: int | None = None
    final_answer_correct: bool | None = None
    estimates: tuple[Estimate | None, ...] = ()
    rollouts: int = 0
    requests: int = 0
    unparsed: int = 0
    note: str = ""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.labels) != len(self.completions):
            raise ValueError(
                f"expected one label a step: {len(self.completions)} steps, {len(self.labels)} labels; a checker must "
                "return one answer for each step, None where it cannot tell"
            )
        return self

    def sample(self) -> StepSample:
        """As training data."""
        return StepSample(
            prompt=self.prompt,
            completions=self.completions,
            labels=self.labels,
            source=self.source,
            final_answer_correct=self.final_answer_correct,
        )


def up_to(first_error: int | None, steps: int, after: After = "unlabelled") -> list[float | None]:
    """Labels that say where the first error is: right before it, wrong at it.

    Args:
        first_error: from 0; -1 for none; None: nothing is known.
        steps: how many.
        after: what becomes of the steps after it. Whether they are wrong is a matter of definition, so they are left
            without a label unless asked for.
    """
    if first_error is None:
        return [None] * steps
    if first_error == -1:
        return [1.0] * steps
    rest = 0.0 if after == "wrong" else None
    return [*[1.0] * first_error, 0.0, *[rest] * (steps - first_error - 1)]


def unlabelled(task: LabelTask, source: str, note: str, **more: Any) -> StepLabels:
    """A solution of which nothing can be told."""
    return StepLabels(
        prompt=task.problem,
        completions=task.steps,
        labels=(None,) * len(task.steps),
        source=source,
        note=note,
        **more,
    )


class LabelFile(LineFile[StepLabels]):
    """An output file of labels: a stopped run goes on from it; see `LineFile`.

    Args:
        path: the file.
        tasks: all that the run labels.
        identity: the labeler's.
        fresh: start over even where the file holds labels.
    """

    def __init__(self, path: Path, tasks: Sequence[LabelTask], identity: str, *, fresh: bool = False) -> None:
        digests = {one.row: fingerprint(identity, one.problem, list(one.steps), one.gold) for one in tasks}
        super().__init__(path, digests, StepLabels, fresh=fresh, noun="line of labels")


def read_labels(path: Path) -> list[StepLabels]:
    """Read a file of labels.

    Raises:
        StepDataError: rows that are no labels; it lists every one.
        DataError: the file is no JSON Lines file.
        OSError: the file cannot be read.
    """
    found, bad = [], []
    for row in sorted(read_rows(path), key=_order):
        try:
            found.append(StepLabels.model_validate(row.fields))
        except ValidationError as error:
            why = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])
            bad.append(
                (row.number, str(row.fields.get("id", "")), f"not a line of labels as `prm label` writes: {why}")
            )
    if bad:
        raise StepDataError(bad, str(path))
    return found


def write_labels(path: Path, found: Sequence[StepLabels | None]) -> list[StepLabels]:
    """Write labels, whole or not at all; None leaves a row out. Returns those that were written."""
    kept = [(row, labels) for row, labels in enumerate(found) if labels is not None]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    lines = (json.dumps({"row": row, **labels.model_dump(mode="json")}) + "\n" for row, labels in kept)
    part.write_text("".join(lines), encoding="utf-8")
    part.replace(path)
    return [labels for _, labels in kept]


def _order(row: Row) -> int:
    """A resumed run may have written rows out of order; their numbers tell."""
    number = row.fields.get("row")
    return number if isinstance(number, int) else row.number


def summary(found: Iterable[StepLabels]) -> dict[str, Any]:
    """Counts over labelled solutions, ready for JSON.

    ``error``, ``clean`` and ``unknown`` are solutions by their first error; ``mean_label`` is over the ``labelled``
    steps; ``notes`` says how many solutions have which note.
    """
    rows = list(found)
    labels = [label for one in rows for label in one.labels]
    known = [label for label in labels if label is not None]
    notes: dict[str, int] = {}
    for one in rows:
        if one.note:
            notes[one.note] = notes.get(one.note, 0) + 1
    return {
        "n": len(rows),
        "steps": len(labels),
        "labelled": len(known),
        "unlabelled": len(labels) - len(known),
        "mean_label": sum(known) / len(known) if known else None,
        "error": sum(one.first_error is not None and one.first_error >= 0 for one in rows),
        "clean": sum(one.first_error == -1 for one in rows),
        "unknown": sum(one.first_error is None for one in rows),
        "right_answers": sum(one.final_answer_correct is True for one in rows),
        "rollouts": sum(one.rollouts for one in rows),
        "requests": sum(one.requests for one in rows),
        "unparsed": sum(one.unparsed for one in rows),
        "notes": notes,
    }
