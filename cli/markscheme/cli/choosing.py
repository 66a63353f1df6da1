"""Best of n by a judge of steps: of a problem's samples the one whose steps score best is its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from markscheme.verifiers.errors import DataError
from markscheme.verifiers.verdict import Outcome

if TYPE_CHECKING:
    from markscheme.cli.prm.judges import Judging
    from markscheme.cli.run import Graded
    from markscheme.prm.metrics.bestofn import Candidate
    from markscheme.verifiers.verdict import Verdict

Aggregation = Literal["last", "min", "product", "mean", "softmin"]


@dataclass(slots=True)
class Choice:
    """What chooses among the samples of a problem.

    Attributes:
        judge: a checkpoint, or a file of scores with a line a sample.
        format: the checkpoint's.
        aggregation: makes one score of a sample's steps.
        separator: what parts its steps.
        out: the file of verdicts, if any: the judge's scores are kept beside it.
        fresh: score anew.
        notes: sentences for the table's foot.
    """

    judge: str
    format: str = "auto"
    aggregation: Aggregation = "min"
    separator: str = "\n\n"
    out: Path | None = None
    fresh: bool = False
    notes: list[str] = field(default_factory=list)

    def check(self, samples: int | None = None) -> None:
        """Raise DataError where there is nothing to choose by or from, before hours are spent on sampling."""
        if samples == 1:
            raise DataError("--prm chooses among several samples of a problem: pass -n 8, say")
        if not Path(self.judge).exists() and "/" not in self.judge:
            raise DataError(
                f"--prm {self.judge}: neither a folder, a file of scores, nor a name on the Hub (owner/name)"
            )

    def figures(self, groups: Sequence[Sequence[Graded]]) -> list[tuple[str, str]]:
        """Score all samples and return best-of-n as shown; nothing where a problem has only one sample.

        Raises:
            DataError: there is no such judge, or its scores are of other samples.
            MissingExtraError: torch or transformers are not installed.
        """
        from markscheme.cli.prm.judges import Judging, counted
        from markscheme.prm.judging import Solution
        from markscheme.prm.metrics.bestofn import Sampled, best_of_n
        from markscheme.prm.segment import StepSplitter

        sizes = sorted({len(group) for group in groups})
        if not sizes or sizes[-1] == 1:
            self.notes.append("every problem has one sample: there is nothing for --prm to choose from.")
            return []
        splitter = StepSplitter(self.separator)
        steps = {item.task.row: tuple(splitter.split(item.task.completion)) for group in groups for item in group}
        problems = [
            Sampled(group[0].task.problem, tuple(_candidate(steps[item.task.row], item.verdict) for item in group))
            for group in groups
        ]
        judging = Judging(self.judge, out=self._beside(), fresh=self.fresh, on_bad="skip", format=self.format)
        tasks = sorted((item.task for group in groups for item in group), key=lambda task: task.row)
        solutions = [Solution(task.row, task.problem, steps[task.row], dict(task.keys)) for task in tasks]
        with counted():
            flat, _ = judging.scores(solutions)
        scores = {task.row: one for task, one in zip(tasks, flat, strict=True)}
        by_problem = [[scores[item.task.row] for item in group] for group in groups]
        found = best_of_n(problems, by_problem, aggregation=self.aggregation)
        self._note(judging, found.unscored)
        low, high = found.interval
        n = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]}-{sizes[-1]}"
        shown = f"{found.accuracy:.1f} % (95 % interval {low:.1f} to {high:.1f})"
        return [(f"best of {n} by {Path(self.judge).name}, {self.aggregation}", shown)]

    def _beside(self) -> Path | None:
        return self.out.with_suffix(f".{Path(self.judge).name}{self.out.suffix}") if self.out is not None else None

    def _note(self, judging: Judging, unscored: int) -> None:
        self.notes += judging.notes
        if unscored:
            self.notes.append(
                f"{unscored:,} samples have no score (longer than the judge reads, not to be laid out by it, or "
                "blank): they are chosen only where no sample has one."
            )
        if judging.failed:
            row, why = next(iter(judging.failed.items()))
            self.notes.append(f"{len(judging.failed):,} samples cannot be laid out by the judge, such as {row}: {why}")


def _candidate(steps: tuple[str, ...], verdict: Verdict) -> Candidate:
    from markscheme.prm.metrics.bestofn import Candidate

    return Candidate(steps, verdict.outcome is Outcome.CORRECT, verdict)
