"""What a suite is, and where its rows come from: the Hub or a local file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from markscheme.verifiers.errors import DataError, MissingExtraError
from markscheme.verifiers.jsonl import Row, read_rows
from markscheme.verifiers.policy import Policy


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a suite.

    Attributes:
        index: its place in the official test split, from 0.
        id: the data set's own name for it; its index where it has none.
        question: its text.
        gold: the gold column as it stands.
        policy: the conventions of equality that suit the question.
    """

    index: int
    id: str
    question: str
    gold: str
    policy: Policy = field(default_factory=Policy)


class Suite(Protocol):
    """A data set that completions can be graded on."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    def load(self, path: Path | None = None) -> list[Problem]:
        """Load the problems from the Hub, or from a local JSON Lines file with the same columns.

        Raises:
            DataError: the file does not have the columns, or the Hub cannot be reached.
            MissingExtraError: no path was given and `datasets` is not installed.
        """
        ...


def suite_rows(path: Path | None, hub_name: str, config: str | None) -> Iterable[Row]:
    """Yield a suite's rows from ``path``, or the test split of ``hub_name`` from the Hub. Raises as `Suite.load`."""
    return read_rows(path) if path is not None else _hub_rows(hub_name, config)


def _hub_rows(name: str, config: str | None) -> list[Row]:
    try:
        from datasets import load_dataset  # noqa: PLC0415 -- an optional extra
    except ImportError:
        raise MissingExtraError(
            f'{name} comes from the Hub, which needs the "hub" extra: pip install "markscheme[hub]"; '
            "or pass a local copy with --data PATH"
        ) from None
    try:
        data = load_dataset(name, config, split="test")
    except OSError as error:  # what the Hub's client raises, whether it is offline or has no such data set
        raise DataError(
            f"{name} cannot be loaded from the Hub ({error}); pass a local copy with --data PATH"
        ) from error
    return [Row(Path(name), number, number + 1, dict(fields)) for number, fields in enumerate(data)]
