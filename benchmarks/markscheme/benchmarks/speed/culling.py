"""What culling saves: forward and backward of one batch, by the share of groups whose rewards are all the same.

Run ``python -m markscheme.benchmarks.speed.culling [--rounds N] [--json OUT]``. On one policy and one batch, TRL's loss
and ours take turns, so that a host's load falls on both; the least CPU time of N passes is what counts, since load only
adds to it. The advantages of the constant groups are exact zeros for both, and the largest difference of the two
gradients is given beside the ratio.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from markscheme.benchmarks.speed.rounds import command
from markscheme.verifiers.errors import MissingExtraError

LOSSES = ("grpo", "dr_grpo", "bnpo", "dapo")
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
ROWS, GROUP, PROMPT, LENGTH = 16, 4, 24, 96


def make_trainer(folder: Path) -> Any:
    """A trainer with culling on, of a Qwen2 policy of 0.9 M random weights."""
    import tokenizers  # noqa: PLC0415 - an extra
    import transformers  # noqa: PLC0415
    from datasets import Dataset  # noqa: PLC0415

    from markscheme.trainer import ProcessGRPOConfig, ProcessGRPOTrainer  # noqa: PLC0415

    words = {"<pad>": 0, "<eos>": 1, "<unk>": 2, **{f"w{number}": number for number in range(3, 512)}}
    model = tokenizers.models.WordLevel(words, unk_token="<unk>")  # noqa: S106 - tokens of text
    special = {"pad_token": "<pad>", "eos_token": "<eos>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(model), **special)
    size = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 4, "num_attention_heads": 4}
    transformers.set_seed(0)
    policy = transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(vocab_size=512, num_key_value_heads=4, pad_token_id=0, eos_token_id=1, **size)
    )
    args = ProcessGRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=ROWS,
        num_generations=GROUP,
        max_completion_length=LENGTH,
        cull_zero_variance=True,
        gradient_checkpointing=False,
        bf16=False,
        use_cpu=True,
        report_to=[],
    )
    data = Dataset.from_dict({"prompt": ["w3"] * ROWS})
    trainer = ProcessGRPOTrainer(policy, lambda prompts, **_: [0.0] * len(prompts), args, data, None, tokenizer)
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    return trainer


def make_batch(share: float, seed: int = 0) -> dict[str, Any]:
    """A batch of groups; the first ``share`` of them have exact 0 as advantage, then rows are shuffled as TRL does."""
    import torch  # noqa: PLC0415 - an extra

    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (ROWS, 1), generator=draw)
    mask = (torch.arange(LENGTH) < lengths).long()
    advantages = torch.randn(ROWS, generator=draw)
    advantages[: round(ROWS // GROUP * share) * GROUP] = 0.0
    order = torch.randperm(ROWS, generator=draw)
    return {
        "prompt_ids": torch.randint(3, 512, (ROWS, PROMPT), generator=draw),
        "prompt_mask": torch.ones(ROWS, PROMPT, dtype=torch.long),
        "completion_ids": torch.randint(3, 512, (ROWS, LENGTH), generator=draw),
        "completion_mask": mask[order],
        "advantages": advantages[order],
        "num_items_in_batch": mask.sum(),
    }


def gradient(trainer: Any, compute: Callable[..., Any], batch: dict[str, Any]) -> tuple[Any, float]:
    """The gradient of one batch, and the CPU seconds of its forward and backward pass."""
    import torch  # noqa: PLC0415 - an extra

    trainer.model.zero_grad()
    start = time.process_time()
    compute(trainer, trainer.model, batch).backward()
    spent = time.process_time() - start
    return torch.cat([parameter.grad.flatten() for parameter in trainer.model.parameters()]), spent


def chosen_in(trainer: Any, batch: dict[str, Any]) -> float:
    """CPU seconds of choosing the rows, which is all that a batch without dead rows costs more."""
    from markscheme.trainer import culling  # noqa: PLC0415 - an extra

    start = time.process_time()
    culling.rows_to_keep(batch, trainer)
    return time.process_time() - start


def measure(trainer: Any, loss: str, share: float, rounds: int) -> dict[str, Any]:
    """Let the two losses take turns on one batch."""
    from trl import GRPOTrainer  # noqa: PLC0415 - an extra

    trainer.loss_type = loss
    batch = make_batch(share)
    ways = {"trl": GRPOTrainer._compute_loss, "ours": type(trainer)._compute_loss}
    gradients = {name: gradient(trainer, way, batch)[0] for name, way in ways.items()}  # warms up, off the clock
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in sorted(ways, reverse=number % 2 == 0):
            spent[name].append(gradient(trainer, ways[name], batch)[1])
    choosing = min(chosen_in(trainer, batch) for _ in range(20))
    least = {name: 1000 * min(seconds) for name, seconds in spent.items()}
    return {
        "loss": loss,
        "dead": share,
        "trl_cpu_ms": round(least["trl"], 2),
        "ours_cpu_ms": round(least["ours"], 2),
        "ratio": round(least["ours"] / least["trl"], 4),
        "choosing_cpu_ms": round(1000 * choosing, 3),
        "gradient_difference": float((gradients["trl"] - gradients["ours"]).abs().max()),
        "gradient_size": float(gradients["trl"].abs().max()),
    }


def run(rounds: int, losses: Sequence[str] = LOSSES, shares: Sequence[float] = SHARES) -> dict[str, Any]:
    """Measure each loss at each share of dead groups.

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
            trainer = make_trainer(Path(folder))
            rows = [measure(trainer, loss, share, rounds) for loss in losses for share in shares]
    finally:
        torch.set_num_threads(threads)
    return {
        "batch": {"rows": ROWS, "group": GROUP, "prompt": PROMPT, "completion": LENGTH},
        "rounds": rounds,
        "torch": torch.__version__,
        "trl": trl.__version__,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
        "rows": rows,
    }


def print_table(figures: dict[str, Any], console: Console | None = None) -> None:
    """Print one row for each loss and share."""
    table = Table(title="Culling: forward and backward of a batch, CPU milliseconds", box=SIMPLE_HEAD)
    columns = ("loss", "dead groups", "TRL", "ours", "ours / TRL", "choosing rows", "largest difference of gradients")
    for name in columns:
        table.add_column(name, justify="left" if name == "loss" else "right")
    for row in figures["rows"]:
        difference = f"{row['gradient_difference']:.1e} of {row['gradient_size']:.1e}"
        spent = (f"{row['trl_cpu_ms']:.1f}", f"{row['ours_cpu_ms']:.1f}", f"{row['ratio']:.3f}")
        choosing = f"{row['choosing_cpu_ms']:.2f}"
        table.add_row(str(row["loss"]), f"{row['dead']:.0%}", *spent, choosing, difference)
    (console or Console()).print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status: 0, or 2 where nothing can be measured."""
    return command("culling", __doc__, run, print_table, arguments, default=10, round_is="passes of each way")


if __name__ == "__main__":
    sys.exit(main())
