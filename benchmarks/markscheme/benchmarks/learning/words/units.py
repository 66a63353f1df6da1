"""The units of a run: the supervised training, and one arm on one seed; with their held-out figures."""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from markscheme.benchmarks.learning.measure import summary
from markscheme.benchmarks.learning.policy import quiet
from markscheme.benchmarks.learning.units import Unit
from markscheme.benchmarks.learning.words import draw
from markscheme.benchmarks.learning.words.model import judge_ids, load, load_tokenizer, model_folder, write
from markscheme.benchmarks.learning.words.problems import Problem
from markscheme.benchmarks.learning.words.settings import ARMS, Settings
from markscheme.benchmarks.learning.words.training import demonstrate, reinforce

SFT = Unit("sft", 0)
SAMPLES_KEPT = 4
"""Completions of each kind that are kept to be looked at."""


def units_of(settings: Settings) -> list[Unit]:
    """Return the arms' units, seed by seed, so that a run that is cut short has all arms of the seeds that it has."""
    return [Unit(arm, seed, settings.rate) for seed in settings.seeds for arm in ARMS]


def arm_folder(work: Path, unit: Unit, settings: Settings) -> Path:
    """Return where an arm's checkpoints and the figures of its updates are kept."""
    return work / f"{unit.arm}-{settings.path(unit.arm)}-{unit.seed}"


def base_folder(work: Path, settings: Settings) -> Path:
    """Return where the policy that every arm starts from is kept."""
    return work / f"sft-{settings.digest('sft')}"


def run_unit(unit: Unit, settings: Settings, folder: Path) -> dict[str, Any]:
    """Run one unit on all threads there are. Return its figures, with CPU and wall time in seconds."""
    quiet()
    cpu, wall = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # transformers 5 deprecates what TRL 1.16 still sets
        base = base_folder(folder, settings)
        if unit == SFT:
            model, result = _first(settings, folder)
        else:
            model, result = reinforce(base, unit.arm, unit.seed, settings, arm_folder(folder, unit, settings))
        trained = time.process_time() - cpu
        evaluation = evaluate(model, load_tokenizer(base), settings)
    return {
        **result,
        "evaluation": evaluation,
        # of an arm that was stopped, what the part before cost is in its updates
        "cpu_s": round(time.process_time() - cpu - trained + result["train_cpu_s"], 1),
        "wall_s": round(time.perf_counter() - wall, 1),
        "threads": torch.get_num_threads(),
    }


def _first(settings: Settings, folder: Path) -> tuple[PreTrainedModel, dict[str, Any]]:
    home = base_folder(folder, settings)
    cost = home.with_name(f"{home.name}.json")
    if not cost.exists():
        source = model_folder(settings.model, folder)
        model, tokenizer = load(source), load_tokenizer(source)
        cpu, wall = time.process_time(), time.perf_counter()
        torch.manual_seed(0)
        demonstrate(model, tokenizer, settings)
        spent = {"train_cpu_s": time.process_time() - cpu, "train_wall_s": time.perf_counter() - wall}
        part = home.with_name(f"{home.name}.part{os.getpid()}")
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        shutil.rmtree(home, ignore_errors=True)
        part.rename(home)  # whole or not there
        cost.write_text(json.dumps(spent))
    model = load(home)
    return model, {
        "parameters": sum(one.numel() for one in model.parameters()),
        "tokens": 0,
        "updates": settings.sft_updates,
        **json.loads(cost.read_text()),
    }


def held_out(settings: Settings) -> dict[str, list[Problem]]:
    """Return the problems of each kind that every arm is evaluated on."""
    found = {name: draw.evaluation(settings.evaluated, templates=name) for name in ("seen", "new")}
    if settings.gsm8k is not None:
        found["gsm8k"] = draw.gsm8k(Path(settings.gsm8k))[1][: settings.evaluated]
    return found


def evaluate(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, settings: Settings) -> dict[str, Any]:
    """Return the figures on the held-out problems: a sample at temperature 1 of each, and a greedy completion."""
    kinds: Mapping[str, Sequence[Problem]] = held_out(settings)
    out: dict[str, Any] = {}
    for name, greedy in (("sampled", False), ("greedy", True)):
        torch.manual_seed(0)
        everything, parts = [], {}
        for kind, problems in kinds.items():
            written = write(model, tokenizer, problems, limit=settings.limit, greedy=greedy)
            judged = [judge_ids(one, ids, tokenizer)[0] for one, ids in zip(problems, written, strict=True)]
            everything += judged
            parts[kind] = {
                **summary(judged),
                "correct": [one.correct for one in judged],
                "shown": [
                    {"problem": one.text, "completion": tokenizer.decode(ids)}
                    for one, ids in zip(problems[:SAMPLES_KEPT], written, strict=False)
                ],
            }
        out[name] = {**summary(everything), "kinds": parts}
    return out
