"""Many verdicts at once, in this process or in several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from multiprocessing import current_process
from typing import TYPE_CHECKING

from markscheme.verifiers.grading import Setup, grade
from markscheme.verifiers.tasks import Task
from markscheme.verifiers.verdict import Verdict

if TYPE_CHECKING:
    from markscheme.verifiers.math.verifier import MathVerifier


def verify_many(
    verifier: MathVerifier, completions: Sequence[str], golds: Sequence[str], workers: int | None, *, progress: bool
) -> list[Verdict]:
    """See ``MathVerifier.verify_many``."""
    if len(completions) != len(golds):
        raise ValueError(f"one gold a completion is needed: {len(completions)} completions, {len(golds)} golds")
    verdicts: Iterator[Verdict]
    # A daemonic process may not have children, so the work stays here.
    if workers is None or workers <= 1 or current_process().daemon:
        verdicts = map(verifier.verify, completions, golds)
    else:
        setup = Setup(verifier.reading, verifier.deadline, verifier.thinking)
        tasks = [
            Task(row, completion, gold, policy=verifier.policy)
            for row, (completion, gold) in enumerate(zip(completions, golds, strict=True))
        ]
        verdicts = grade(tasks, setup, workers)
    return list(_shown(verdicts, len(completions)) if progress else verdicts)


def _shown(verdicts: Iterable[Verdict], total: int) -> Iterator[Verdict]:
    from rich.console import Console  # noqa: PLC0415 - only a bar needs it
    from rich.progress import track  # noqa: PLC0415

    yield from track(verdicts, total=total, description="grading", console=Console(stderr=True))
