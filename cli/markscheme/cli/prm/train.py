"""``markscheme prm train``: a judge of steps from labelled solutions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def train(
    *,
    model: Annotated[str, typer.Option(help="The backbone: a folder or a name on the Hub.")],
    data: Annotated[list[Path], typer.Option(metavar="FILE.jsonl", help="Labelled solutions to train on.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The checkpoint's folder; a stopped run goes on from it.")],
    test: Annotated[
        list[str] | None,
        typer.Option("--eval", metavar="[NAME=]FILE.jsonl", help="Measure on this set at each evaluation."),
    ] = None,
    threshold_set: Annotated[
        str | None, typer.Option(help="The evaluation set, by its name, that chooses the threshold.")
    ] = None,
    head: Annotated[
        Literal["linear", "mlp", "lm", "pair"],
        typer.Option(help="linear, mlp: two classes; lm: two tokens of the model; pair: over a frozen backbone."),
    ] = "linear",
    separator: Annotated[str, typer.Option(help=r"What follows each step; \n is a newline.")] = r"\n\n",
    max_length: Annotated[int, typer.Option(min=1, help="In tokens; steps beyond it are lost, and counted.")] = 2048,
    loss: Annotated[Literal["bce", "soft_ce", "mse", "focal"], typer.Option(help="The loss over steps.")] = "bce",
    balance: Annotated[bool, typer.Option("--balance", help="Weigh right and wrong steps by their counts.")] = False,
    mask_after_error: Annotated[
        bool, typer.Option("--mask-after-error", help="Train on no step after a solution's first wrong one.")
    ] = False,
    epochs: Annotated[float, typer.Option(min=0, help="Passes over the data.")] = 1.0,
    max_steps: Annotated[
        int, typer.Option(help="Stop after so many steps of the optimiser; -1: after the epochs.")
    ] = -1,
    learning_rate: Annotated[float, typer.Option(min=0, help="Of AdamW.")] = 1e-5,
    batch_size: Annotated[int, typer.Option(min=1, help="Rows a process and step.")] = 8,
    accumulate: Annotated[int, typer.Option(min=1, help="Batches a step of the optimiser.")] = 1,
    packing: Annotated[bool, typer.Option("--packing", help="Several solutions a row; none sees another.")] = False,
    lora: Annotated[int, typer.Option(min=0, help="The rank of a LoRA adapter; 0: train all weights.")] = 0,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Recompute activations: less memory, more time.")
    ] = False,
    state_cache: Annotated[
        Path | None, typer.Option(help="pair: keep the frozen backbone's states here; goes on where it stopped.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Of the backbone's weights: float32, bfloat16, float16.")] = "float32",
    every: Annotated[int, typer.Option(min=0, help="Save and measure every so many steps; 0: every epoch.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the head's first weights and the order of the data.")] = 0,
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many processes must train together; else it is an error.")
    ] = None,
    decontaminate: Annotated[
        bool, typer.Option("--decontaminate", help="Leave out training problems that an evaluation set has.")
    ] = False,
    on_bad: Annotated[
        Literal["error", "skip"], typer.Option(help="What to do with rows that cannot be used; skip counts them.")
    ] = "error",
    settings: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="More fields of PRMConfig, by name; options above win.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, even where --out holds a run's checkpoints.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end and nothing else.")] = False,
) -> None:
    """Train a judge of steps (a process reward model).

    Several processes: `torchrun --nproc_per_node N -m markscheme.cli prm train …`, with ACCELERATE_USE_CPU=1 on CPUs.
    """
    from markscheme.cli.terminal import errors_shown

    steps = {"eval_strategy": "steps", "save_strategy": "steps", "eval_steps": every, "save_steps": every}
    epochwise = {"eval_strategy": "epoch", "save_strategy": "epoch"}
    chosen: dict[str, Any] = {
        "output_dir": str(out),
        "head": head,
        "separator": separator.replace(r"\n", "\n"),
        "max_length": max_length,
        "loss": loss,
        "balance_classes": balance,
        "mask_after_error": mask_after_error,
        "num_train_epochs": epochs,
        "max_steps": max_steps,
        "learning_rate": learning_rate,
        "per_device_train_batch_size": batch_size,
        "gradient_accumulation_steps": accumulate,
        "packing": packing,
        "state_cache": None if state_cache is None else str(state_cache),
        "threshold_set": threshold_set,
        "seed": seed,
        "processes": processes,
        "on_bad": on_bad,
        "save_total_limit": 2,
        "report_to": "none",
        **(steps if every else epochwise),
    }
    if not test:
        chosen["eval_strategy"] = "no"
    with errors_shown():
        from markscheme.cli.prm.training import Training, run

        run(
            Training(
                model=model,
                data=data,
                test=test or [],
                settings=settings,
                chosen=chosen,
                lora=lora,
                recompute=recompute,
                dtype=dtype,
                decontaminate=decontaminate,
                fresh=fresh,
                as_json=as_json,
            )
        )
