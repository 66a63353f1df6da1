"""Every error that markscheme raises, in one tree."""

from __future__ import annotations

from collections.abc import Mapping


class MarkschemeError(Exception):
    """The root. Each child is also the built-in error that a caller would expect."""


class GoldError(MarkschemeError, ValueError):
    """Gold answers that cannot be read. ``rows`` holds ``(row, text, why)`` for every one of them.

    Args:
        rows: the rows.
        fix: what can be done, where that is not the default's argument.
    """

    def __init__(
        self,
        rows: list[tuple[int, str, str]],
        fix: str = 'Mend them, or pass on_bad="skip" to leave these rows out.',
    ) -> None:
        self.rows = rows
        self.fix = fix
        shown = "\n".join(f"  row {row}: {text[:80]!r}: {why}" for row, text, why in rows[:20])
        rest = f"\n  … and {len(rows) - 20} more" if len(rows) > 20 else ""
        super().__init__(f"{len(rows)} gold answer(s) cannot be read:\n{shown}{rest}\n{fix}".rstrip())


class DataError(MarkschemeError, ValueError):
    """A data file that is not what was expected: says the file, the line, the column and the fix."""


class StepDataError(DataError):
    """Rows of labelled steps that cannot be used. ``rows`` holds ``(row, id, why)`` for every one of them.

    Args:
        rows: the rows.
        where: the file that they are of.
        places: what the message calls a row instead of "row N", by its number: rows that were put together from several
            files, or of which some were left out before, are found by no number of their own.
    """

    def __init__(
        self, rows: list[tuple[int, str, str]], where: str = "", *, places: Mapping[int, str] | None = None
    ) -> None:
        self.rows = rows
        self.places = {row: place for row, place in (places or {}).items() if place}
        shown = "\n".join(
            f"  {self.places.get(row, f'row {row}')}{f' ({name[:60]})' if name else ''}: {why}"
            for row, name, why in rows[:20]
        )
        rest = f"\n  … and {len(rows) - 20} more" if len(rows) > 20 else ""
        super().__init__(
            f"{f'{where}: ' if where else ''}{len(rows)} row(s) cannot be used (rows are counted from 0):\n"
            f"{shown}{rest}\n"
            'Mend them, or pass on_bad="skip" to leave these rows out.'
        )


class CreditError(MarkschemeError, ValueError):
    """Rewards, steps or shapes from which no advantage can be computed: says the row, what was expected and the fix."""


class RewardError(MarkschemeError, ValueError):
    """A reward function returned what cannot be used: names the function, the row and the fix."""


class StepRewardError(RewardError):
    """A step-reward function returned what cannot be used: names the row, the step and the fix."""


class TrainerConfigError(MarkschemeError, ValueError):
    """Settings of a training run that contradict each other: names the fields and the fix."""


class TRLMismatchError(MarkschemeError, ImportError):
    """The installed TRL lacks something that the trainer wraps: says what, and the tested range."""


class MissingExtraError(MarkschemeError, ImportError):
    """An optional dependency is needed. The message names the extra to install."""


class WorkerError(MarkschemeError, RuntimeError):
    """The algebra worker could not be started or died of itself."""


class ClusterError(MarkschemeError, RuntimeError):
    """A cluster cannot be reached or used, or lost shards again and again: says which, and the fix."""
