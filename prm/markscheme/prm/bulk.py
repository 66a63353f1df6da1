"""Scoring steps on a cluster: each worker loads the judge once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from markscheme.prm.judging import CHUNK, Solution, StepScores, judge_solutions
from markscheme.prm.protocol import StepScorer
from markscheme.verifiers.errors import DataError


@dataclass(frozen=True, slots=True)
class ScoreWork:
    """Scores solutions, as `judge_solutions` does in one process and in the same batches.

    Attributes:
        judge: the checkpoint: a folder that every node sees, or a name on the Hub.
        load: loads it; a function of a module.
        format: the checkpoint's.
        dtype: of its weights.
        batch_size: the most solutions of one forward pass.
        on_bad: what to do with solutions that the judge cannot lay out.
    """

    judge: str
    load: Callable[[str, str, str, int], StepScorer]
    format: str = "auto"
    dtype: str = "auto"
    batch_size: int = 32
    on_bad: Literal["error", "skip"] = "error"
    heavy: bool = True

    def start(self) -> Callable[[Sequence[Solution]], list[StepScores]]:
        """Load the judge.

        Raises:
            DataError: its folder is not on this node.
            MissingExtraError: torch or transformers are not.
        """
        folder = Path(self.judge)
        if not folder.is_dir() and (folder.is_absolute() or self.judge.startswith(".")):
            raise DataError(
                f"--judge {self.judge}: no such folder here; put the checkpoint where every node sees it at one path, "
                "or give a name on the Hub"
            )
        scorer = self.load(self.judge, self.format, self.dtype, self.batch_size)

        def run(solutions: Sequence[Solution]) -> list[StepScores]:
            return [line for _, line in judge_solutions(scorer, solutions, on_bad=self.on_bad, chunk=CHUNK)]

        return run
