"""Options and work that ``sample`` and ``eval --model`` share: from a suite and a model to a file of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from markscheme.benchmarks.rollouts import Backend, Prompter, Sampling
    from markscheme.benchmarks.suites import Problem

Preset = Literal["greedy", "default", "focused"]
Style = Literal["auto", "chat", "plain"]
DType = Literal["auto", "float32", "bfloat16", "float16"]
SuiteArgument = Annotated[Literal["gsm8k", "math500"], typer.Argument(help="The data set; its test split is used.")]
DataOption = Annotated[Path | None, typer.Option(help="A local copy of the data set. Default: from the Hub.")]
BackendOption = Annotated[
    str, typer.Option(help="transformers, vllm, or the URL of a server such as http://127.0.0.1:8000/v1.")
]
SamplesOption = Annotated[int, typer.Option("-n", "--samples", min=1, help="Completions a problem.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Only the first so many problems.")]
PresetOption = Annotated[
    Preset | None,
    typer.Option(
        help="greedy: temperature 0; default: 1; focused: 0.7, top-k 4. Default: greedy for -n 1, else default."
    ),
]
TemperatureOption = Annotated[float | None, typer.Option(min=0, help="In place of the preset's.")]
TopPOption = Annotated[float | None, typer.Option(min=0, max=1, help="In place of the preset's.")]
TopKOption = Annotated[int | None, typer.Option(min=0, help="In place of the preset's; 0: all tokens.")]
MaxTokensOption = Annotated[int, typer.Option(min=1, help="Length of a completion at most.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Of the draws.")]
StyleOption = Annotated[
    Style, typer.Option(help="chat: the model's template; plain: Question/Answer, for base models.")
]
ShotsOption = Annotated[int, typer.Option(min=0, help="Worked examples before the question.")]
DTypeOption = Annotated[DType, typer.Option(help="Of the weights; auto: float32 on a CPU.")]
BatchOption = Annotated[int, typer.Option(min=1, help="Completions that transformers generates at once.")]
EngineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--engine", metavar="NAME=VALUE", help="An argument of vLLM's engine, such as tensor_parallel_size=2."
    ),
]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be sampled, from what, and how."""

    suite: str
    problems: Sequence[Problem]
    backend: Backend
    prompter: Prompter
    sampling: Sampling

    def digests(self) -> dict[int, str]:
        """See ``rollouts.collect.digests``."""
        from markscheme.benchmarks.rollouts.collect import digests

        return digests(self.problems, self.backend, self.prompter, self.sampling)

    def cached(self) -> Path:
        """Where samples are kept that no file was named for: a place of their own by all that they follow from."""
        from markscheme.benchmarks.models import cache_folder
        from markscheme.verifiers.records import fingerprint

        prompt = self.prompter("")
        settings = self.sampling.model_dump(mode="json")
        name = fingerprint(self.backend.identity, list(prompt.messages), prompt.text, settings)
        return cache_folder() / "samples" / f"{self.suite}-{name}.jsonl"

    def run(self, path: Path, *, fresh: bool) -> None:
        """Sample into a file, under a progress bar; what is there already is kept."""
        from markscheme.benchmarks.rollouts import SampleFile, collect
        from markscheme.cli.progress import bar

        with SampleFile(path, self.digests(), fresh=fresh) as file:
            done = sum(problem.index in file.done for problem in self.problems)
            with bar("sampling", len(self.problems), done) as advance:
                collect(self.problems, self.backend, self.prompter, self.sampling, file, advance)


def job(
    suite: str,
    data: Path | None,
    model: str,
    backend: str,
    *,
    limit: int | None,
    samples: int,
    preset: Preset | None,
    overrides: dict[str, float | int | None],
    style: Style,
    shots: int,
    dtype: DType,
    batch_size: int,
    engine: Sequence[str],
) -> Job:
    """Put a job together; the model is loaded. Raises DataError for a setting out of range, else as the parts do."""
    from pydantic import ValidationError

    from markscheme.benchmarks.rollouts import PRESETS, Sampling, open_backend
    from markscheme.benchmarks.rollouts.prompts import prompter
    from markscheme.benchmarks.rollouts.shots import SHOTS
    from markscheme.benchmarks.suites import SUITES
    from markscheme.verifiers.errors import DataError

    problems = SUITES[suite].load(data)[:limit]
    settings = PRESETS[preset or ("greedy" if samples == 1 else "default")]
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        sampling = Sampling.model_validate({**settings, **given, "n": samples})
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise DataError(f"--{option} {first['input']}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
    opened = open_backend(backend, model, batch_size=batch_size, dtype=dtype, engine=engine_arguments(engine))
    return Job(suite, problems, opened, prompter(style, SHOTS[suite], shots, chats=opened.chats), sampling)


def engine_arguments(pairs: Sequence[str]) -> dict[str, object]:
    """Read ``name=value`` pairs; a value is JSON, or text where it is none. Raises BadParameter."""
    import json

    found: dict[str, object] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.isidentifier():
            raise typer.BadParameter(f"expected NAME=VALUE, such as tensor_parallel_size=2, found {pair!r}")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = {"True": True, "False": False, "None": None}.get(value, value)
    return found
