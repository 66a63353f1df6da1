"""What each process of a run by torchrun does; writes what the test compares."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import torch

import tiny_judges as tiny
from markscheme.prm import LostStepsWarning
from markscheme.prm.training import PRMConfig, PRMTrainer


def train(
    backbone: str, out: Path, processes: int, *, packing: bool
) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    """Train three steps and measure.

    Returns:
        The figures, and the weights.
    """
    args = PRMConfig(
        output_dir=str(out),
        processes=processes,
        max_steps=3,
        per_device_train_batch_size=4 // processes,
        per_device_eval_batch_size=2,
        packing=packing,
        max_length=80,
        optim="sgd",
        learning_rate=0.05,
        lr_scheduler_type="constant",
        save_strategy="no",
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
    )
    rows = tiny.toy_rows(20)
    rows[3]["labels"] = [None] * len(rows[3]["labels"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostStepsWarning)
        trainer = PRMTrainer(backbone, args, train_dataset=rows, eval_dataset={"toy": tiny.toy_rows(7, 1)})
    trainer.train()
    found = trainer.evaluate()
    trainer.save_model()
    figures = {name: value for name, value in found.items() if "second" not in name and "runtime" not in name}
    weights = {name: weight.detach() for name, weight in trainer.model.named_parameters()}
    return {"world": args.world_size, "lost": trainer.train_report.lost, **figures}, weights


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    for how in ("padded", "packed"):
        held = train(sys.argv[1], folder / how, int(sys.argv[3]), packing=how == "packed")
        torch.save(held, folder / f"{how}-{os.environ['RANK']}.pt")
