"""``markscheme train``: a training run from a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def train(
    context: typer.Context,
    *,
    config: Annotated[Path | None, typer.Option(metavar="RECIPE.yaml", help="The recipe; fields and values.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint in output_dir, if any.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Make all but the model; print settings, sizes and memory.")
    ] = False,
    server_command: Annotated[
        bool, typer.Option("--server-command", help="Print the command of the vLLM server that the recipe needs.")
    ] = False,
    fields: Annotated[bool, typer.Option("--fields", help="List every field, its default and what it is.")] = False,
) -> None:
    """Train with GRPO: outcome rewards, step rewards, or both. Every field is an option too: --learning_rate 1e-6.

    For several processes: accelerate launch --config_file FILE -m markscheme.trainer.train --config RECIPE.yaml
    """
    from markscheme.cli.terminal import errors_shown
    from markscheme.verifiers.errors import MissingExtraError

    arguments = [*context.args]
    arguments += [] if config is None else ["--config", str(config)]
    flags = {"--resume": resume, "--dry-run": dry_run, "--server-command": server_command, "--fields": fields}
    with errors_shown():
        try:
            from markscheme.trainer.launch import main
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("markscheme"):
                raise
            raise MissingExtraError(f"training needs {error.name}: pip install 'markscheme[train]'") from error
        main([*arguments, *(flag for flag, given in flags.items() if given)])
