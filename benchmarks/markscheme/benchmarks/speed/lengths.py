"""What it saves to put completions of like length together: the passes and the losses of one update.

Run ``python -m markscheme.benchmarks.speed.lengths [--rounds N] [--json OUT]``. One update's completions have ragged
lengths: most are short, a few are long, as samples of a reasoning model are. TRL's way and ours (``batch_by_length``)
take turns on the same rows and one policy; the least CPU time of N rounds counts, since load only adds to it. The
largest difference of the two gradients stands beside.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from markscheme.benchmarks.speed.policies import small_trainer
from markscheme.benchmarks.speed.rounds import command
from markscheme.verifiers.errors import MissingExtraError

LOSSES = ("grpo", "dr_grpo", "dapo", "bnpo")
SPREADS = (0.0, 0.5, 1.0)
MICRO, STEPS, GROUP, PROMPT, LENGTH = 4, 4, 4, 16, 128


def make_batches(spread: float, seed: int = 0) -> list[dict[str, Any]]:
    """The micro-batches of an update as TRL makes them: shuffled rows, all as wide as the longest.

    Args:
        spread: of the logarithm of the lengths, whose median is chosen so that the longest has 128 tokens.
        seed: of the draws.
    """
    import torch  # noqa: PLC0415 - an extra

    draw = torch.Generator().manual_seed(seed)
    rows = MICRO * STEPS
    drawn = torch.exp(spread * torch.randn(rows, 1, generator=draw))
    lengths = (drawn / drawn.max() * LENGTH).long().clamp(min=4)
    mask = (torch.arange(LENGTH) < lengths).long()
    batch = {
        "prompt_ids": torch.randint(3, 512, (rows, PROMPT), generator=draw),
        "prompt_mask": torch.ones(rows, PROMPT, dtype=torch.long),
        "completion_ids": torch.randint(3, 512, (rows, LENGTH), generator=draw) * mask,
        "completion_mask": mask,
        "advantages": torch.randn(rows, generator=draw),
    }
    tokens = mask.sum()
    return [
        {**{k: v[n : n + MICRO] for k, v in batch.items()}, "num_items_in_batch": tokens} for n in range(0, rows, MICRO)
    ]


def losses(trainer: Any, batches: list[dict[str, Any]], *, ours: bool) -> tuple[Any, float]:
    """The gradient of one update, and the CPU seconds of arranging, forward and backward."""
    import torch  # noqa: PLC0415 - an extra

    from markscheme.trainer import lengths  # noqa: PLC0415 - an extra

    trainer.model.zero_grad()
    start = time.process_time()
    if ours:
        trainer._buffered_inputs = batches
        batches = lengths.arranged(trainer)
    for batch in batches:
        trainer._compute_loss(trainer.model, batch).backward()
    spent = time.process_time() - start
    return torch.cat([parameter.grad.flatten() for parameter in trainer.model.parameters()]), spent


def passes(trainer: Any, batches: list[dict[str, Any]], *, ours: bool) -> tuple[Any, float]:
    """The log-probabilities of one generation without gradient, and their CPU seconds."""
    import torch  # noqa: PLC0415 - an extra

    parts = ("prompt_ids", "completion_ids"), ("prompt_mask", "completion_mask")
    ids, mask = (torch.cat([torch.cat([b[k] for k in keys], 1) for b in batches]) for keys in parts)
    trainer._by_length = ours
    start = time.process_time()
    with torch.no_grad():
        logps, *_ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, LENGTH, batch_size=MICRO)
    spent = time.process_time() - start
    return logps * torch.cat([b["completion_mask"] for b in batches]), spent


def measure(trainer: Any, loss: str, spread: float, rounds: int) -> dict[str, Any]:
    """Let the two ways take turns on one update."""
    trainer.loss_type = loss
    batches = make_batches(spread)
    row: dict[str, Any] = {"loss": loss, "spread": spread}
    row["filled"] = round(sum(float(b["completion_mask"].sum()) for b in batches) / (MICRO * STEPS * LENGTH), 3)
    for name, way in (("loss", losses), ("passes", passes)):
        found = {ours: way(trainer, batches, ours=ours)[0] for ours in (False, True)}  # warms up, off the clock
        spent: dict[bool, list[float]] = {False: [], True: []}
        for number in range(rounds):
            for ours in (False, True) if number % 2 else (True, False):
                spent[ours].append(way(trainer, batches, ours=ours)[1])
        row[f"{name}_trl_cpu_ms"] = round(1000 * min(spent[False]), 1)
        row[f"{name}_ratio"] = round(min(spent[True]) / min(spent[False]), 3)
        row[f"{name}_difference"] = float((found[True] - found[False]).abs().max())
        row[f"{name}_size"] = float(found[False].abs().max())
    return row


def run(rounds: int, kinds: Sequence[str] = LOSSES, spreads: Sequence[float] = SPREADS) -> dict[str, Any]:
    """Measure each loss at each spread of lengths.

    Raises:
        MissingExtraError: torch or TRL is not installed.
    """
    try:
        import torch  # noqa: PLC0415 - an extra
        import trl  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("this benchmark trains: install markscheme[train]") from error
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # CPU time of several threads counts their waiting
    try:
        with tempfile.TemporaryDirectory() as folder:
            trainer = small_trainer(
                Path(folder), MICRO, GROUP, LENGTH, batch_by_length=True, gradient_accumulation_steps=STEPS
            )
            trainer.current_gradient_accumulation_steps = STEPS
            rows = [measure(trainer, loss, spread, rounds) for loss in kinds for spread in spreads]
    finally:
        torch.set_num_threads(threads)
    return {
        "batch": {"micro": MICRO, "steps": STEPS, "prompt": PROMPT, "longest": LENGTH},
        "rounds": rounds,
        "torch": torch.__version__,
        "trl": trl.__version__,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
        "rows": rows,
    }


def print_table(figures: dict[str, Any], console: Console | None = None) -> None:
    """Print one row for each loss and spread."""
    table = Table(title="Completions of like length together: one update, CPU time", box=SIMPLE_HEAD)
    columns = ("loss", "tensor filled", "TRL, ms", "ours / TRL", "passes, TRL, ms", "ours / TRL", "gradients differ by")
    for name in columns:
        table.add_column(name, justify="left" if name == "loss" else "right")
    for row in figures["rows"]:
        own = (f"{row['loss_trl_cpu_ms']:.0f}", f"{row['loss_ratio']:.2f}")
        no_gradient = (f"{row['passes_trl_cpu_ms']:.0f}", f"{row['passes_ratio']:.2f}")
        difference = f"{row['loss_difference']:.1e} of {row['loss_size']:.1e}"
        table.add_row(str(row["loss"]), f"{row['filled']:.0%}", *own, *no_gradient, difference)
    (console or Console()).print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where nothing can be measured."""
    return command("lengths", __doc__, run, print_table, arguments, default=5, round_is="updates of each way")


if __name__ == "__main__":
    sys.exit(main())
