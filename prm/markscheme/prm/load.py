"""Files of labelled solutions, read strictly: every bad row is named, or counted and shown when asked to skip."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ValidationError

from markscheme.prm.converters import CONVERTERS, FORMATS, Converter, Format, detect, prm800k, prmbench
from markscheme.prm.schema import RIGHT_ABOVE, Origin, StepSample, Zero, is_right
from markscheme.verifiers.errors import DataError, StepDataError
from markscheme.verifiers.jsonl import read_rows

OnBad = Literal["error", "skip"]
_IN_MEMORY = "rows"
"""What rows are called that come from no file."""

_EXAMPLE = '{"problem": "…", "steps": ["…", "…"], "labels": [true, false]}'


class SkippedRowsWarning(UserWarning):
    """Rows were left out; says which and why."""


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many steps have which label. A soft label is right when above one half."""

    right: int
    wrong: int
    unlabelled: int


@dataclass(slots=True)
class Loaded:
    """A file's samples, and what became of its rows.

    Attributes:
        samples: in the order of the file.
        name: the file's name, as figures that come from it name it.
        format: of its rows.
        zero: what a label 0 says in it.
        rows: how many rows it has.
        passed: rows that are no labelled solutions (PRM800K's control rows and broken problems).
        skipped: bad rows that were left out, as (row, id, why).
    """

    samples: list[StepSample]
    name: str
    format: Format
    zero: Zero
    rows: int = 0
    passed: int = 0
    skipped: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def counts(self) -> LabelCounts:
        """How many of its steps have which label."""
        return label_counts(self.samples)


def load_samples(
    path: Path | str,
    *,
    format: Format | Literal["auto"] = "auto",  # noqa: A002 - the word that users look for
    on_bad: OnBad = "error",
    zero: Zero | Literal["auto"] = "auto",
    alternatives: bool = False,
    originals: bool = False,
) -> Loaded:
    """Read a JSON Lines file of labelled solutions.

    Args:
        path: the file.
        format: of its rows; ``auto`` tells from the fields of the first one that has those of a format.
        on_bad: what to do with rows that cannot be used: ``error`` raises once for all of them, ``skip`` leaves them
            out and shows them in a SkippedRowsWarning.
        zero: what a label 0 says; ``auto``: neutral and so right when some label in the file is -1, else wrong.
        alternatives: of PRM800K, also take the completions that were not followed; see `converters.prm800k`.
        originals: of PRMBench, also take the unmodified solutions; see `converters.prmbench`.

    Raises:
        StepDataError: rows cannot be used; it lists every one.
        DataError: the file is no JSON Lines file, or its format is not known.
        OSError: the file cannot be read.
    """
    path = Path(path)
    rows = [(row.number, _plain(row.fields)) for row in read_rows(path, _EXAMPLE)]
    options = {"zero": zero, "alternatives": alternatives, "originals": originals}
    loaded = _load(rows, path.name, str(path), format, options)
    return _settled(loaded, str(path), on_bad)


def samples_from_rows(
    rows: Iterable[Mapping[str, Any]],
    *,
    name: str = _IN_MEMORY,
    format: Format | Literal["auto"] = "auto",  # noqa: A002
    on_bad: OnBad = "error",
    zero: Zero | Literal["auto"] = "auto",
    alternatives: bool = False,
    originals: bool = False,
) -> Loaded:
    """Read labelled solutions that are in memory, such as a ``datasets.Dataset``. See `load_samples`.

    ``StepSample.model_validate`` on row after row would not do: it cannot know that a -1 in another row makes the zeros
    of this one neutral.
    """
    options = {"zero": zero, "alternatives": alternatives, "originals": originals}
    loaded = _load(list(enumerate(map(dict, rows))), name, name, format, options)
    return _settled(loaded, name, on_bad)


def _load(
    rows: Sequence[tuple[int, dict[str, Any]]], name: str, where: str, given: str, options: Mapping[str, Any]
) -> Loaded:
    """Convert rows; the bad ones are in ``skipped``."""
    if not rows:
        raise DataError(f"{where}: there are no rows")
    if given != "auto" and given not in FORMATS:
        raise DataError(f"format: expected one of {', '.join(FORMATS)} or auto, got {given!r}")
    kind = _detect(where, rows) if given == "auto" else cast("Format", given)
    loaded = Loaded([], name, kind, "wrong", rows=len(rows))
    convert = _converter(kind, alternatives=options["alternatives"], originals=options["originals"])
    converted = list(_convert(rows, convert, loaded))
    loaded.zero = _zero(converted) if options["zero"] == "auto" else options["zero"]
    for number, fields in converted:
        try:
            row = {"zero": loaded.zero, **fields, "origin": Origin("" if where == _IN_MEMORY else name, number)}
            loaded.samples.append(StepSample.model_validate(row))
        except ValidationError as error:
            loaded.skipped.append((number, str(fields.get("id", "")), reasons(error)))
    loaded.skipped.sort()
    return loaded


def _settled(loaded: Loaded, where: str, on_bad: OnBad) -> Loaded:
    """Raise for bad rows, or show them."""
    if loaded.skipped and (on_bad == "error" or not loaded.samples):
        raise StepDataError(loaded.skipped, where)
    if not loaded.samples:
        raise DataError(f"{where}: no labelled solutions")
    if loaded.skipped:
        left = f"{where}: left out {len(loaded.skipped)} of {loaded.rows} rows"
        shown = "; ".join(f"row {row}: {why}" for row, _, why in loaded.skipped[:5])
        more = " …" if len(loaded.skipped) > 5 else ""
        warnings.warn(f"{left}: {shown}{more}", SkippedRowsWarning, stacklevel=3)
    return loaded


def problems_of(path: Path | str) -> list[str]:
    """Return the problems of a file, labelled or not: what to look for test problems in.

    Raises:
        DataError: a row has no ``problem``, ``prompt`` or ``question``, or the file is no JSON Lines file.
        OSError: the file cannot be read.
    """
    found = []
    for row in read_rows(Path(path)):
        fields = row.fields
        if isinstance(fields.get("question"), Mapping):  # PRM800K
            fields = dict(fields["question"])
        elif isinstance(fields.get("input"), str):  # Math-Shepherd
            fields = {"problem": re.split(r"\s*Step 1\s*:", fields["input"])[0]}
        named = next((fields[name] for name in _PROBLEMS if fields.get(name)), None)
        if isinstance(named, list):  # messages
            named = next((one.get("content") for one in reversed(named) if one.get("role") == "user"), None)
        if not isinstance(named, str):
            raise DataError(f"{row.where}: no problem: looked for {', '.join(_PROBLEMS)}")
        found.append(named)
    return found


_PROBLEMS = ("problem", "prompt", "question", "modified_question")


def reasons(error: ValidationError) -> str:
    """What pydantic found wrong, in one line."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc'][:1]))}: {one['msg']}"
        if one["type"] != "value_error"
        else str(one["ctx"]["error"])
        for one in error.errors()
    )


def label_counts(samples: Iterable[StepSample]) -> LabelCounts:
    """Count the labels of all steps."""
    return target_counts(sample.targets for sample in samples)


def target_counts(targets: Iterable[Sequence[float | None]], above: float = RIGHT_ABOVE) -> LabelCounts:
    """Count targets, row by row; those above ``above`` are right."""
    right = wrong = unlabelled = 0
    for row in targets:
        for value in row:
            unlabelled += value is None
            right += value is not None and is_right(value, above)
            wrong += value is not None and not is_right(value, above)
    return LabelCounts(right, wrong, unlabelled)


def require_both(samples: Iterable[StepSample], what: str) -> LabelCounts:
    """Count the labels, and refuse data of which nothing can be learnt because all labels are alike.

    Args:
        samples: the data.
        what: what the data are for and where they come from, as the message says it: "training data (a.jsonl)".

    Raises:
        DataError: no step is labelled right, or none wrong.
    """
    return require_both_targets((sample.targets for sample in samples), what)


def require_both_targets(
    targets: Iterable[Sequence[float | None]], what: str, above: float = RIGHT_ABOVE
) -> LabelCounts:
    """Do as `require_both`, for targets row by row, of which those above ``above`` are right."""
    counts = target_counts(targets, above)
    for missing, there in (("right", counts.right), ("wrong", counts.wrong)):
        if not there:
            raise DataError(
                f"{what}: no step is labelled {missing} ({counts.right} right, {counts.wrong} wrong, "
                f"{counts.unlabelled} unlabelled); both are needed. If 0 means wrong beside -1, or neutral, pass zero="
            )
    return counts


def _detect(where: str, rows: Sequence[tuple[int, dict[str, Any]]]) -> Format:
    """The format of the first row that has one; the rows before it are bad ones."""
    first: DataError | None = None
    for _, fields in rows:
        try:
            return detect(fields)
        except DataError as error:
            first = first or error
    raise DataError(f"{where}, row {rows[0][0]}: {first}")


def _converter(format: Format, *, alternatives: bool, originals: bool) -> Converter:  # noqa: A002
    if format == "prm800k":
        return partial(prm800k, alternatives=alternatives)
    return partial(prmbench, originals=originals) if format == "prmbench" else CONVERTERS[format]


def _convert(
    rows: Iterable[tuple[int, dict[str, Any]]], convert: Converter, loaded: Loaded
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, row in rows:
        try:
            found = list(convert(row))
        except (DataError, TypeError, KeyError, AttributeError) as error:
            why = str(error) if isinstance(error, DataError) else f"not of the format {loaded.format} ({error!r:.80})"
            loaded.skipped.append((number, str(row.get("id", row.get("idx", ""))), why))
            continue
        loaded.passed += not found
        yield from ((number, fields) for fields in found)


def _zero(converted: Iterable[tuple[int, Mapping[str, Any]]]) -> Zero:
    """What a label 0 says in a file."""
    for _, fields in converted:
        labels = fields["labels"]
        if fields["source"] == "PRM800K" or (isinstance(labels, list) and -1 in labels):
            return "right"
    return "wrong"


def _plain(value: Any) -> Any:
    """Decimals, which the reader keeps digit by digit, as Python's floats."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
