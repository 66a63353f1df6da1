"""The generations in use as a part of checkpoints: without them a run resumes exactly only where new ones are due."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from accelerate.logging import get_logger
from accelerate.utils import send_to_device

if TYPE_CHECKING:
    from markscheme.trainer.grpo import ProcessGRPOTrainer

logger = get_logger(__name__)


def save(trainer: ProcessGRPOTrainer, folder: str) -> None:
    """Save this rank's generations, where it stands in them, and how many prompts were drawn for refilling."""
    due = trainer._step % _generate_every(trainer) == 0
    state = {
        "step": trainer._step,
        "layout": _layout(trainer),
        "buffer": None if due else trainer._buffered_inputs,
        "drawn": trainer._prompts.drawn if trainer._prompts is not None else 0,
    }
    torch.save(state, _file(trainer, folder))


def load(trainer: ProcessGRPOTrainer, folder: str) -> None:
    """Take them up again; where there are none of this layout, on every rank, a warning says what that changes."""
    file, device = _file(trainer, folder), trainer.accelerator.device
    saved = torch.load(file, map_location="cpu", weights_only=True) if file.is_file() else {}
    if trainer._prompts is not None:  # as many on every rank, or they would draw different prompts
        drawn = torch.tensor(saved.get("drawn", 0), device=device)
        trainer._prompts.drawn = int(trainer.accelerator.gather(drawn).max())
    fits = torch.tensor(int(saved.get("layout") == _layout(trainer)), device=device)
    if trainer.accelerator.gather(fits).all():  # on every rank, or they would generate out of step
        trainer._step, trainer._buffered_inputs = saved["step"], send_to_device(saved["buffer"], device)
        return
    done = trainer.state.global_step * trainer.args.gradient_accumulation_steps
    if saved.get("buffer") is not None if saved else done % _generate_every(trainer) > 0:
        logger.warning(
            f"{folder} lies between two generations and holds none of this layout (ranks, batch size, "
            "steps_per_generation, num_iterations): new ones are made at once, and the losses will not be those of an "
            "unbroken run."
        )


def _generate_every(trainer: ProcessGRPOTrainer) -> int:
    return int(trainer.args.steps_per_generation * trainer.num_iterations)


def _layout(trainer: ProcessGRPOTrainer) -> list[int]:
    args = trainer.args
    rows = args.per_device_train_batch_size
    return [trainer.accelerator.num_processes, rows, args.steps_per_generation, trainer.num_iterations]


def _file(trainer: ProcessGRPOTrainer, folder: str) -> Path:
    return Path(folder, f"generations_{trainer.accelerator.process_index}.pt")
