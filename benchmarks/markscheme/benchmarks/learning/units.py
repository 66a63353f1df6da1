"""The units of a run: a first training, and one arm on one seed at one learning rate."""

from __future__ import annotations

import os
import shutil
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from markscheme.benchmarks.learning.arms import BY_NAME
from markscheme.benchmarks.learning.measure import evaluate
from markscheme.benchmarks.learning.policy import make_model, make_tokenizer, quiet
from markscheme.benchmarks.learning.rejection import reject
from markscheme.benchmarks.learning.settings import Settings
from markscheme.benchmarks.learning.sft import demonstrations, fit
from markscheme.benchmarks.learning.training import reinforce


@dataclass(frozen=True)
class Unit:
    """One arm on one seed. The arm ``sft`` makes a policy that the others start from."""

    arm: str
    seed: int
    rate: float | None = None

    @property
    def key(self) -> str:
        """Its name in the log."""
        return f"{self.arm}/{self.seed}" + ("" if self.rate is None else f"/{self.rate:g}")


def base_folder(folder: Path, seed: int, settings: Settings) -> Path:
    """Where the policy of a first training is kept."""
    return folder / f"base-{settings.digest('sft')}-{seed}"


def run_unit(unit: Unit, settings: Settings, folder: Path) -> dict[str, Any]:
    """Run one unit on one thread. Return its figures, with CPU and wall time in seconds."""
    torch.set_num_threads(1)
    quiet()
    cpu, wall = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # transformers 5 deprecates what TRL 1.16 still sets
        result = _first(unit, settings, folder) if unit.arm == "sft" else _arm(unit, settings, folder)
    return {
        **result,
        "cpu_s": round(time.process_time() - cpu, 2),
        "wall_s": round(time.perf_counter() - wall, 2),
    }


def _first(unit: Unit, settings: Settings, folder: Path) -> dict[str, Any]:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, unit.seed)
    batches = demonstrations(tokenizer, unit.seed, steps=settings.sft_steps, length=settings.length)
    fit(model, batches, settings.sft_steps, settings.sft_rate)
    home = base_folder(folder, unit.seed, settings)
    part = home.with_name(f"{home.name}.part{os.getpid()}")
    model.save_pretrained(part)
    shutil.rmtree(home, ignore_errors=True)
    part.rename(home)  # whole or not there
    parameters = sum(one.numel() for one in model.parameters())
    return {"tokens": 0, "parameters": parameters, "evaluation": evaluate(model, tokenizer, settings, unit.seed)}


def _arm(unit: Unit, settings: Settings, folder: Path) -> dict[str, Any]:
    tokenizer = make_tokenizer()
    model = LlamaForCausalLM.from_pretrained(base_folder(folder, settings.policy(unit.seed), settings))
    arm, rate = BY_NAME[unit.arm], unit.rate
    if rate is None:
        raise ValueError(f"arm {unit.arm!r} is trained: its unit needs a learning rate")
    if arm.kind == "rejection":
        result = reject(model, tokenizer, unit.seed, rate, settings)
    else:
        result = reinforce(model, tokenizer, arm, unit.seed, rate, settings)
    return {**result, "evaluation": evaluate(model, tokenizer, settings, unit.seed)}
