"""The units of a run: a policy with its judges, and one arm on one seed."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from markscheme.benchmarks.learning.hacking.arms import BY_NAME, JUDGES, Truth
from markscheme.benchmarks.learning.hacking.settings import Settings
from markscheme.benchmarks.learning.hacking.watching import JudgedMarker, JudgedRecord, compared, step_rewards
from markscheme.benchmarks.learning.judging.seed import SeedRun
from markscheme.benchmarks.learning.judging.training import judge_scorer
from markscheme.benchmarks.learning.measure import HELD_OUT, evaluate
from markscheme.benchmarks.learning.policy import judge_ids, make_tokenizer, quiet, sample
from markscheme.benchmarks.learning.task import held_out
from markscheme.benchmarks.learning.training import reinforce
from markscheme.benchmarks.learning.units import Unit
from markscheme.prm.protocol import StepScorer
from markscheme.trainer.step_monitor import StepDriftWarning


def run_unit(unit: Unit, settings: Settings, folder: Path) -> dict[str, Any]:
    """Run one unit on one thread. Return its figures, with CPU and wall time in seconds."""
    torch.set_num_threads(1)
    quiet()
    cpu, wall = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # transformers 5 deprecates what TRL 1.16 still sets
        result = (_judges if unit.arm == "judges" else _arm)(unit, settings, folder)
    return {
        "cpu_s": round(time.process_time() - cpu, 2),
        **result,
        "wall_s": round(time.perf_counter() - wall, 2),
    }


def _seed(unit: Unit, settings: Settings, folder: Path) -> SeedRun:
    return SeedRun(folder / "judges", settings.judging, settings.policy(unit.seed))


def _scorers(run: SeedRun) -> dict[str, StepScorer]:
    trained: dict[str, StepScorer] = {name: judge_scorer(run.folder / f"judge-{name}") for name in JUDGES[1:]}
    return {"truth": Truth(), **trained}


def _judges(unit: Unit, settings: Settings, folder: Path) -> dict[str, Any]:
    """Make a policy and its judges; its cost is that of every stage, those of a run that was stopped included."""
    run = _seed(unit, settings, folder)
    found = run.run()
    model = LlamaForCausalLM.from_pretrained(run.folder / "policy")
    begun = time.process_time()
    evaluation = evaluate(model, run.tokenizer, settings, unit.seed)
    return {
        "tokens": 0,
        "parameters": sum(one.numel() for one in model.parameters()),
        "judges": found,
        "evaluation": evaluation,
        "held_out": _held_out(model, run, settings, unit.seed),
        "cpu_s": round(sum(found["cpu_s"].values()) + time.process_time() - begun, 2),
    }


def _arm(unit: Unit, settings: Settings, folder: Path) -> dict[str, Any]:
    run, arm = _seed(unit, settings, folder), BY_NAME[unit.arm]
    model = LlamaForCausalLM.from_pretrained(run.folder / "policy")
    tokenizer = make_tokenizer()
    record = JudgedRecord(JudgedMarker(tokenizer, arm, unit.seed, _scorers(run)), settings.early)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StepDriftWarning)
        result = reinforce(model, tokenizer, arm, unit.seed, unit.rate or arm.rate, settings, record=record)
    drifts = [str(one.message) for one in caught if issubclass(one.category, StepDriftWarning)]
    for one in caught:
        if not issubclass(one.category, StepDriftWarning | FutureWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return {
        **result,
        "drifts": drifts,
        "evaluation": evaluate(model, tokenizer, settings, unit.seed),
        "held_out": _held_out(model, run, settings, unit.seed),
    }


def _held_out(model: LlamaForCausalLM, run: SeedRun, settings: Settings, seed: int) -> dict[str, Any]:
    """Each judge beside the truth on held-out problems, one sample each."""
    problems = held_out(HELD_OUT, settings.evaluated, settings.length)
    torch.manual_seed(seed)
    written = sample(model, run.tokenizer, problems, limit=settings.limit)
    judged = [judge_ids(one, ids, run.tokenizer) for one, ids in zip(problems, written, strict=True)]
    prompts = [one.prompt for one in problems]
    found: dict[str, Any] = {}
    for name, judge in step_rewards(_scorers(run), run.tokenizer, "").items():
        given = judge(prompts=prompts, completion_ids=written)
        found[name] = {**compared(judged, given), "guarded": judge.figures["steps/guarded"]}
    return found
