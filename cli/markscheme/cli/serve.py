"""``markscheme serve``: the verifiers over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from markscheme.cli.options import LevelOption


def serve(
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8377,
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with the token, mode 0600. Default: MARKSCHEME_TOKEN, else one is made and shown."),
    ] = None,
    no_token: Annotated[bool, typer.Option("--no-token", help="Ask for no token; only on a loopback address.")] = False,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="A name that clients may use for this server. May be repeated.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Requests at once. Default: the processors.")] = None,
    queue: Annotated[int, typer.Option(min=0, help="Requests that may wait; more are answered with 429.")] = 64,
    level: LevelOption = "strongest",
    cpu_seconds: Annotated[float, typer.Option(min=0.01, help="The most CPU seconds that a client may ask for.")] = 10,
    memory_mb: Annotated[int, typer.Option(min=64, help="The most memory that a client may ask for.")] = 1024,
    judge: Annotated[
        str | None,
        typer.Option(metavar="CHECKPOINT", help="A judge of steps for /score: a folder or a name on the Hub."),
    ] = None,
    judge_format: Annotated[str, typer.Option(help="The checkpoint's format; auto tells by its files.")] = "auto",
    dtype: Annotated[str, typer.Option(help="Of the judge's weights: float32, bfloat16, float16.")] = "auto",
) -> None:
    """Grade answers, run programs and score steps over HTTP.

    Routes: /grade, /run, /judge, /score, /run_code, /health, /openapi.json.
    """
    from pydantic import ValidationError

    from markscheme.cli.options import level_of
    from markscheme.cli.terminal import EXIT_ERROR, errors_shown, fail
    from markscheme.serve import Settings, find_token
    from markscheme.serve import serve as start
    from markscheme.serve.settings import is_loopback

    if no_token and not is_loopback(host):
        fail(f"--no-token is only for a loopback address, and {host} is none")
    if no_token and token_file is not None:
        fail("--no-token and --token-file exclude each other")
    with errors_shown():
        token, made = (None, False) if no_token else find_token(token_file)
        base = Settings.model_fields["limits"].default
        limits = base.model_copy(update={"cpu_seconds": cpu_seconds, "memory_bytes": memory_mb * 2**20})
        given: dict[str, object] = {} if workers is None else {"workers": workers}
        try:
            settings = Settings(
                host=host, port=port, token=token, queue=queue, level=level_of(level), limits=limits,
                judge=judge, judge_format=judge_format, judge_dtype=dtype,
                allowed_hosts=frozenset(allowed_host or ()), **given,  # type: ignore[arg-type]
            )  # fmt: skip
        except ValidationError as error:
            fail(str(error.errors()[0]["msg"]))
            raise typer.Exit(EXIT_ERROR) from None
        if settings.level == 1:
            typer.echo("level 1 protects nothing from a program that means harm: only for programs you trust", err=True)
        if made:
            typer.echo(f"token (shown once): {token}", err=True)
        shown = f"[{host}]" if ":" in host else host
        typer.echo(f"markscheme serves on http://{shown}:{port}; Ctrl-C ends it", err=True)
        start(settings)
