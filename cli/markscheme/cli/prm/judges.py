"""Which judge is meant, and its scores, under a progress bar and resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from markscheme.cli.terminal import EXIT_STOPPED
from markscheme.verifiers.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from markscheme.prm.judging import ScoreFile, Solution
    from markscheme.prm.protocol import StepScorer
    from markscheme.prm.schema import StepSample
    from markscheme.prm.scoring import PRMScorer
    from markscheme.verifiers.bulk import RayOptions


@dataclass(slots=True)
class Judging:
    """A judge as the command line names it, and how its scores are kept.

    Attributes:
        judge: a baseline's name, a checkpoint, or a file of scores.
        policy: the language model of the likelihood baseline, if any.
        out: the file of scores, if any.
        fresh: start that file over.
        on_bad: what to do with solutions that the judge cannot lay out.
        format: the checkpoint's.
        dtype: of its weights.
        batch_size: the most solutions of one forward pass.
        inputs: the files that are read; none may be written over.
        ray: the cluster that a checkpoint scores on; None: this machine.
        notes: sentences that belong under the figures.
        failed: solutions that a judge could not lay out, as (row, why).
        threshold_source: the data that chose the judge's own threshold, where it names them.
        fitted_on: these, and those that its calibration was fitted on.
    """

    judge: str
    policy: str | None = None
    out: Path | None = None
    fresh: bool = False
    on_bad: Literal["error", "skip"] = "error"
    format: str = "auto"
    dtype: str = "auto"
    batch_size: int = 32
    inputs: Sequence[Path] = ()
    ray: RayOptions | None = None
    notes: list[str] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    threshold_source: str = ""
    fitted_on: tuple[str, ...] = ()

    @property
    def is_baseline(self) -> bool:
        """Whether the judge is one that knows nothing of steps."""
        from markscheme.prm.metrics.baselines import BASELINES

        return self.judge in BASELINES

    @property
    def is_file(self) -> bool:
        """Whether the judge is a file of scores."""
        return Path(self.judge).is_file()

    def scores(self, solutions: Sequence[Solution]) -> tuple[list[list[float]], float | None]:
        """Score solutions by the judge.

        Returns:
            A score a step for each, and the judge's own threshold where it has one.

        Raises:
            DataError: there is no such judge, its file of scores does not fit, or -o belongs to something else.
            StepDataError: the judge cannot lay solutions out.
            MissingExtraError: torch or transformers are not installed.
        """
        if self.is_file:
            return self._from_file(solutions), None
        if not Path(self.judge).exists() and "/" not in self.judge:
            from markscheme.prm.metrics.baselines import BASELINES

            raise DataError(
                f"--judge {self.judge}: neither a folder, a file of scores, a name on the Hub (owner/name), nor one of "
                f"{', '.join(BASELINES)}"
            )
        identity = f"{self.judge} {self.format} {self.dtype} {_stamp(Path(self.judge))}"
        if self.ray is not None:
            return self._by_cluster(self.ray, identity, solutions), _threshold_of(self.judge)
        scorer = _checkpoint(self.judge, self.format, self.dtype, self.batch_size)
        self.threshold_source = scorer.checkpoint.threshold_source
        self.fitted_on = scorer.fitted_on
        found = self._run(scorer, identity, solutions, self.out, f"scoring by {Path(self.judge).name}")
        return found, scorer.threshold

    def uncalibrated(self, samples: Sequence[StepSample]) -> tuple[list[list[float]], float]:
        """Score labelled solutions without the calibration that a checkpoint may bring.

        Returns:
            A score a step for each, and the threshold that goes with them.

        Raises: as `scores`.
        """
        from markscheme.prm.calibration import before_calibration
        from markscheme.prm.judging import Solution

        keys = [{"id": sample.id} if sample.id else {} for sample in samples]
        solutions = [Solution(row, one.problem, one.steps, keys[row], one.place) for row, one in enumerate(samples)]
        if self.is_file:
            return self._from_file(solutions), 0.5
        scorer = _checkpoint(self.judge, self.format, self.dtype, self.batch_size)
        threshold = before_calibration(scorer.checkpoint.calibration, scorer.threshold)
        scorer.checkpoint.calibration = None
        # Without the times of prm_config.json, which calibrating changes: its scores stay the same.
        stamp = _stamp(Path(self.judge), leave_out=("prm_config.json",))
        identity = f"uncalibrated {self.judge} {self.format} {self.dtype} {stamp}"
        return self._run(scorer, identity, solutions, self.out, f"scoring by {Path(self.judge).name}"), threshold

    def likelihood(self, solutions: Sequence[Solution], reduce: Literal["min", "mean"]) -> list[list[float]]:
        """Score solutions by the policy's own probabilities; kept beside -o, with ".likelihood" before its ending."""
        scorer = _policy(self.policy or "", reduce, self.dtype)
        identity = f"likelihood {self.policy} {reduce} {self.dtype} {_stamp(Path(self.policy or ''))}"
        out = self.out.with_suffix(f".likelihood{self.out.suffix}") if self.out is not None else None
        return self._run(scorer, identity, solutions, out, "likelihood of the policy")

    def _run(
        self, scorer: StepScorer, identity: str, solutions: Sequence[Solution], out: Path | None, title: str
    ) -> list[list[float]]:
        from markscheme.prm.judging import judge_solutions

        with ExitStack() as stack:
            file = stack.enter_context(self._file(out, identity, solutions)) if out is not None else None
            lines = dict(file.done) if file is not None else {}
            todo = [one for one in solutions if one.row not in lines]
            if lines:
                self.notes.append(f"{len(lines):,} scored by an earlier run of this command.")
            advance = stack.enter_context(bar(title, len(solutions), len(lines)))
            try:
                for one, line in judge_solutions(scorer, todo, on_bad=self.on_bad):
                    if file is not None:
                        file.append(one, line)
                    lines[one.row] = line
                    advance(1)
            except KeyboardInterrupt:
                stack.close()
                kept = f"kept in {out}; run the same command again to go on" if out else "lost, for there is no -o"
                typer.echo(f"\nstopped: {len(lines):,} of {len(solutions):,} scored, {kept}.", err=True)
                raise typer.Exit(EXIT_STOPPED) from None
        self.failed |= {row: line.error for row, line in lines.items() if line.error}
        return [lines[one.row].found for one in solutions]

    def _by_cluster(self, cluster: RayOptions, identity: str, solutions: Sequence[Solution]) -> list[list[float]]:
        from markscheme.cli.bulk import judge_in_shards
        from markscheme.cli.terminal import clip, safe
        from markscheme.prm.bulk import ScoreWork
        from markscheme.prm.judging import StepScores, score_digests
        from markscheme.verifiers.bulk import Shards

        out, folder = self.out or Path(), Path(self.judge)
        self._refuse_inputs(out)
        digests = score_digests(solutions, identity)
        shards = Shards(out, digests, StepScores, fresh=self.fresh, noun="line of scores")
        if shards.done:
            self.notes.append(f"{len(shards.done):,} scored by an earlier run of this command.")
        name = str(folder.resolve()) if folder.is_dir() else self.judge
        work = ScoreWork(name, _checkpoint, self.format, self.dtype, self.batch_size, self.on_bad)
        title = clip(safe(f"scoring by {folder.name}"), 40)
        lines = judge_in_shards(title, shards, solutions, work, _as_it_is, cluster, self.notes)
        self.failed |= {row: line.error for row, line in lines.items() if line.error}
        return [lines[one.row].found for one in solutions]

    def _refuse_inputs(self, out: Path) -> None:
        if any(out.exists() and out.samefile(path) for path in self.inputs):
            raise DataError(f"{out}: -o names a file that is read; choose another")

    def _file(self, out: Path, identity: str, solutions: Sequence[Solution]) -> ScoreFile:
        from markscheme.prm.judging import ScoreFile

        self._refuse_inputs(out)
        return ScoreFile(out, solutions, identity, fresh=self.fresh)

    def _from_file(self, solutions: Sequence[Solution]) -> list[list[float]]:
        from markscheme.prm.judging import read_scores

        lines = read_scores(Path(self.judge), solutions)
        self.failed |= {one.row: line.error for one, line in zip(solutions, lines, strict=True) if line.error}
        return [line.found for line in lines]


@contextmanager
def counted() -> Iterator[None]:
    """Keep quiet about rows left out and steps lost: the figures count and show them. Other warnings are shown."""
    import warnings

    from markscheme.prm.encoding import LostStepsWarning
    from markscheme.prm.load import SkippedRowsWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in caught:
        if not issubclass(one.category, LostStepsWarning | SkippedRowsWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


@contextmanager
def bar(title: str, total: int, done: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, drawn only on a terminal; entering it gives the function that moves it on."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from markscheme.cli.terminal import clip, console, safe

    screen = console(stderr=True)
    columns = (TextColumn(clip(safe(title), 40)), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(title, total=total, completed=done)
        yield lambda count: progress.advance(task, count)


def _checkpoint(name: str, kind: str, dtype: str, batch_size: int) -> PRMScorer:
    try:
        from markscheme.prm.scoring import PRMScorer

        _quiet()
    except ImportError as error:
        raise _no_torch("a checkpoint", error) from None
    return PRMScorer.from_pretrained(name, format=kind, dtype=dtype, batch_size=batch_size)


def _as_it_is(solution: Solution) -> Solution:
    return solution


def _threshold_of(name: str) -> float:
    """A checkpoint's own threshold, from its files alone: a cluster loads the weights, not this process."""
    try:
        from markscheme.prm.checkpoints.own import FILE, read_file
    except ImportError as error:
        raise _no_torch("a checkpoint", error) from None
    if Path(name).is_dir() and not (Path(name) / FILE).is_file():
        return 0.5
    try:
        return read_file(name).threshold
    except DataError:
        if Path(name).is_dir():
            raise
        return 0.5  # a public format, by its name on the Hub


def _policy(name: str, reduce: Literal["min", "mean"], dtype: str) -> StepScorer:
    try:
        from markscheme.prm.likelihood import LikelihoodScorer

        _quiet()
    except ImportError as error:
        raise _no_torch("a policy", error) from None
    return LikelihoodScorer.from_pretrained(name, reduce=reduce, dtype=dtype)


def _no_torch(what: str, error: ImportError) -> MissingExtraError:
    return MissingExtraError(f'{what} needs torch and transformers ({error}): pip install "markscheme[train]"')


def _quiet() -> None:
    """Keep transformers' bars for loading weights off the terminal."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def _stamp(folder: Path, leave_out: Sequence[str] = ()) -> str:
    """What tells the versions of a local checkpoint apart: its files' names, sizes and times of change."""
    if not folder.is_dir():
        return ""
    kept = (path for path in folder.iterdir() if path.suffix in {".json", ".safetensors", ".bin"})
    files = sorted(path for path in kept if path.name not in leave_out)
    return " ".join(f"{path.name}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files)
