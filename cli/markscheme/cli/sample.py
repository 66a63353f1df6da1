"""``markscheme sample``: draw completions for a suite from a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from markscheme.cli import sampling as options
from markscheme.cli.options import FreshOption


def sample(
    suite: options.SuiteArgument,
    *,
    model: Annotated[str, typer.Option(help="A folder, a name on the Hub, or the server's name for it.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Write samples here (JSON Lines); a stopped run goes on.")],
    backend: options.BackendOption = "transformers",
    data: options.DataOption = None,
    samples: options.SamplesOption = 1,
    limit: options.LimitOption = None,
    preset: options.PresetOption = None,
    temperature: options.TemperatureOption = None,
    top_p: options.TopPOption = None,
    top_k: options.TopKOption = None,
    max_tokens: options.MaxTokensOption = 512,
    seed: options.SeedOption = 0,
    style: options.StyleOption = "auto",
    shots: options.ShotsOption = 0,
    dtype: options.DTypeOption = "auto",
    batch_size: options.BatchOption = 16,
    engine: options.EngineOption = None,
    fresh: FreshOption = False,
) -> None:
    """Draw completions for GSM8K or MATH-500 with transformers, vLLM or a server; `eval --completions` grades them."""
    from markscheme.cli.terminal import errors_shown, safe

    with errors_shown():
        job = options.job(
            suite, data, model, backend,
            limit=limit, samples=samples, preset=preset, style=style, shots=shots, dtype=dtype, batch_size=batch_size,
            engine=engine or [],
            overrides={
                "temperature": temperature, "top_p": top_p, "top_k": top_k, "max_tokens": max_tokens, "seed": seed
            },
        )  # fmt: skip
        job.run(out, fresh=fresh)
        typer.echo(f"samples of {len(job.problems)} problems: {safe(str(out))}")
