"""Putting a labeler together from options, running it, and saying what it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from markscheme.cli.progress import bar
from markscheme.cli.terminal import EXIT_STOPPED, console, safe, table
from markscheme.verifiers.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from markscheme.benchmarks.rollouts import BackendGenerate
    from markscheme.prm.labels import LabelAudit, Labeler, LabelTask, PrefixPrompt, StepLabels
    from markscheme.prm.labels.result import After
    from markscheme.verifiers.reading import Reading


@dataclass(slots=True)
class Labeling:
    """A run of one labeler; the attributes are the options of ``prm label``."""

    by: str
    data: Path | None
    out: Path
    fresh: bool = False
    separator: str = "\n\n"
    model: str | None = None
    backend: str = "transformers"
    n: int = 8
    threshold: float = 0.0
    soft: bool = False
    after: After = "unlabelled"
    retries: int = 2
    no_claim: Literal["unlabelled", "right"] = "unlabelled"
    sampling: Mapping[str, Any] = field(default_factory=dict)
    style: Literal["auto", "chat", "plain"] = "auto"
    tokenizer: str | None = None
    reading: Reading = "auto"
    dtype: str = "auto"
    batch_size: int = 16
    engine: Sequence[str] = ()
    chunk: int = 32
    on_bad: Literal["error", "skip"] = "error"

    def run(self) -> list[StepLabels]:
        """Label what the output file does not hold yet.

        Returns:
            All labels, those of earlier runs included, in the order of the solutions.

        Raises:
            StepDataError: rows that cannot be used; it lists every one.
            DataError: options that do not fit, or as the labeler raises.
        """
        from markscheme.prm.labels import LabelFile, label_many

        if self.data is None:
            raise DataError(f"--by {self.by}: name the file of solutions to label")
        if self.out.exists() and self.out.samefile(self.data):
            raise DataError(f"{self.out}: -o names the file that is read; choose another")
        tasks = self._tasks(self.data)
        labeler = self._labeler()
        with LabelFile(self.out, tasks, labeler.identity, fresh=self.fresh) as file:
            found = dict(file.done)
            if found:
                typer.echo(f"{len(found):,} labelled by an earlier run of this command.", err=True)
            with bar(f"labels by {self.by}", len(tasks), len(found)) as advance:
                try:
                    for task, one in label_many(labeler, tasks, done=set(file.done), chunk=self.chunk):
                        file.append(task, one)
                        found[task.row] = one
                        advance(1)
                except KeyboardInterrupt:
                    kept = f"kept in {self.out}; run the same command again to go on"
                    typer.echo(f"\nstopped: {len(found):,} of {len(tasks):,} labelled, {kept}.", err=True)
                    raise typer.Exit(EXIT_STOPPED) from None
        return [found[task.row] for task in tasks]

    def _tasks(self, data: Path) -> list[LabelTask]:
        """Read the solutions, and say which rows were left out."""
        import warnings

        from markscheme.prm.labels import read_tasks

        need = self.by in ("montecarlo", "search")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tasks = read_tasks(data, self.separator, need_gold=need, on_bad=self.on_bad)
        for one in caught:
            typer.echo(safe(str(one.message)), err=True)
        return tasks

    def _labeler(self) -> Labeler:
        from markscheme.prm.labels import (
            AnswerCheck,
            EquationLabeler,
            JudgeLabeler,
            MonteCarloLabeler,
            SearchLabeler,
        )
        from markscheme.verifiers import MathVerifier

        check = AnswerCheck(MathVerifier(self.reading))
        if self.by == "equations":
            return EquationLabeler(no_claim=self.no_claim, check=check)
        generate = self._generate()
        if self.by == "judge":
            return JudgeLabeler(generate, votes=self.n, retries=self.retries, after=self.after, name=generate.identity)
        prompt, name = self._prompt(chats=generate.backend.chats), f"{generate.identity} {self.reading}"
        if self.by == "search":
            return SearchLabeler(
                generate, prompt, check=check, n=self.n, threshold=self.threshold, after=self.after, name=name
            )
        return MonteCarloLabeler(
            generate, prompt, check=check, n=self.n, threshold=self.threshold, soft=self.soft, name=name
        )

    def _generate(self) -> BackendGenerate:
        from markscheme.benchmarks.rollouts import BackendGenerate, Sampling, open_backend
        from markscheme.cli.sampling import engine_arguments

        if self.model is None:
            raise DataError(f"--by {self.by} needs a model: pass --model, and --backend for how it runs")
        opened = open_backend(
            self.backend,
            self.model,
            batch_size=self.batch_size,
            dtype=self.dtype,
            engine=engine_arguments(self.engine),
        )
        return BackendGenerate(opened, Sampling.model_validate(self.sampling))

    def _prompt(self, *, chats: bool) -> PrefixPrompt:
        """How the policy is asked to go on from a prefix: by its chat template, or in plain text."""
        from markscheme.benchmarks.rollouts import Prompter
        from markscheme.prm.labels import ChatAsk, PrefixPrompt

        separator = "\n" if self.separator == "steps" else self.separator
        if self.style == "plain" or (self.style == "auto" and not chats):
            plain = Prompter(style="plain")
            return PrefixPrompt(lambda problem: plain(problem).text, separator, lead=" ")
        served = self.backend.startswith(("http://", "https://"))
        if served and self.tokenizer is None:
            raise DataError(
                "rollouts go on from the middle of an answer, which a server's chat route cannot do: pass --tokenizer, "
                "whose chat template then writes the prompt, or --style plain"
            )
        chat = Prompter(style="chat")
        return PrefixPrompt(ChatAsk(self._tokenizer(), lambda problem: chat(problem).messages), separator)

    def _tokenizer(self) -> Any:
        try:
            from transformers import AutoTokenizer
        except ImportError as error:
            raise MissingExtraError(f"a chat template needs: pip install markscheme[train] ({error})") from None
        name = str(self.tokenizer or self.model)
        try:
            return AutoTokenizer.from_pretrained(name)
        except (OSError, ValueError) as error:
            raise DataError(f"the tokenizer {name!r} cannot be loaded: {error}") from error


def agree(paths: Sequence[Path], out: Path, after: After) -> list[StepLabels]:
    """Write the labels on which two files agree; rows on which they do not are left out.

    Raises:
        DataError: not two files, files of other solutions, or ``out`` is one of them.
    """
    from markscheme.prm.labels import consensus
    from markscheme.prm.labels.result import read_labels, write_labels

    if len(paths) != 2:
        raise DataError(f"--by consensus takes two files of labels (--labels A --labels B), got {len(paths)}")
    if any(out.exists() and out.samefile(path) for path in paths):
        raise DataError(f"{out}: -o names a file that is read; choose another")
    one, two = (read_labels(path) for path in paths)
    found, agreement = consensus(one, two, after=after)
    counts = agreement.summary()
    kept = write_labels(out, found)
    typer.echo(
        f"kept {counts['kept']:,} of {counts['n']:,} ({counts['clean']:,} without an error); "
        f"one sees an error, the other none: {counts['one_clean']:,}; at different steps: {counts['elsewhere']:,}; "
        f"one cannot tell: {counts['unknown']:,}",
        err=True,
    )
    return kept


def report(found: Sequence[StepLabels], out: Path, gold: Path | None, *, as_json: bool) -> None:
    """Print the counts, and the noise against gold labels where there are any."""
    import json

    from markscheme.prm.labels import summary

    counts = summary(found)
    noise = _noise(found, gold) if gold is not None else None
    if as_json:
        typer.echo(json.dumps({**counts, "audit": None if noise is None else noise.summary()}))
        return
    mean = "" if counts["mean_label"] is None else f", mean {counts['mean_label']:.3f}"
    lines = [
        f"{counts['n']:,} solutions in {out}: first error found in {counts['error']:,}, none in {counts['clean']:,}, "
        f"not known of {counts['unknown']:,}",
        f"{counts['steps']:,} steps: {counts['labelled']:,} labelled{mean}, {counts['unlabelled']:,} without a label",
    ]
    if counts["rollouts"]:
        lines.append(f"{counts['rollouts']:,} rollouts")
    if counts["requests"]:
        lines.append(f"{counts['requests']:,} answers of the judge, {counts['unparsed']:,} of them could not be read")
    lines += [f"{many:,} solutions: {note}" for note, many in counts["notes"].items()]
    for line in lines:
        console().print(safe(line), soft_wrap=True)
    if noise is not None:
        _show(noise)


def _noise(found: Sequence[StepLabels], gold: Path) -> LabelAudit:
    """Compare labels with gold ones, matched by problem and steps."""
    from markscheme.prm.labels import audit
    from markscheme.prm.load import load_samples

    known = {(sample.problem, sample.completions): sample for sample in load_samples(gold).samples}
    pairs = [(one, known.get((one.prompt, one.completions))) for one in found]
    matched = [(one.labels, sample) for one, sample in pairs if sample is not None]
    if not matched:
        raise DataError(f"{gold}: holds gold labels of none of these solutions (problem and steps must be the same)")
    soft = any(label not in (None, 0, 1) for labels, _ in matched for label in labels)
    # A share above 0 says that some rollout came right, which is what hard labels at threshold 0 say.
    return audit([labels for labels, _ in matched], [sample for _, sample in matched], threshold=0.0 if soft else 0.5)


def _show(noise: LabelAudit) -> None:
    def rate(value: float | None) -> str:
        return "" if value is None else f"{100 * value:.1f}"

    parts = {"all": noise.total, **{f"{name} third": one for name, one in noise.by_third.items()}}
    rows = [
        (name, str(one.n), str(one.unlabelled), rate(one.false_right_rate), rate(one.false_wrong_rate))
        for name, one in parts.items()
    ]
    columns = ("against gold", "steps", "unlabelled", "wrong, labelled right %", "right, labelled wrong %")
    console().print(table(columns, rows, right=range(1, 5)))
    first = noise.first_errors
    console().print(
        f"first error: the same in {first.same} of {first.n} solutions; early {first.early}, late {first.late}, "
        f"missed {first.missed}, invented {first.invented}, not known {first.unknown}",
        soft_wrap=True,
    )
