"""Two real processes: the recipe's module under torchrun, plain, and sharded by FSDP2 and DeepSpeed's ZeRO-3."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tinyrecipes import MARKS, NEEDED, environment_of, write_recipe

pytestmark = MARKS
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("trl", reason=NEEDED)

from tinymodels import save_policy  # noqa: E402

ON_CPU = """
# accelerate shards on accelerators alone. Told that this is one, it does the same on CPUs, over gloo.
import torch
from accelerate import state
from accelerate.utils import DistributedType

state.PartialState._prepare_backend = lambda *_, **__: ("gloo", DistributedType.MULTI_GPU)
state.PartialState.set_device = lambda self: setattr(self, "device", torch.device("cpu"))

from markscheme.trainer.train import main
main()
"""
REPORT = """
import json, os
from transformers import TrainerCallback

class Report(TrainerCallback):
    def on_train_end(self, args, state, control, **_):
        with open(f"report-{args.process_index}.json", "w") as file:
            json.dump({"world": args.world_size, "logs": state.log_history}, file)
"""


def run(folder: Path, start: list[str], recipe: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    """Run a recipe in two processes; return what each reports."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", *start]
    done = subprocess.run(
        [*command, "--config", str(recipe)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((folder / f"report-{rank}.json").read_text()) for rank in range(2)]


def prepare(folder: Path, **given: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "reporting.py").write_text(REPORT)
    policy = save_policy(folder / "policy", hidden=16, layers=1)
    callbacks = ["reward_ema", {"name": "broken_verifier", "action": "stop", "window": 8}, "reporting.py:Report"]
    more = {
        "per_device_train_batch_size": 4,
        "step_reward": "mine.py:steps",
        "supervision": "both",
        "credit": "min",
        "callbacks": callbacks,
        "num_generations": 8,  # a group spans both processes
    }
    return write_recipe(folder, policy, **{**more, **given})


def test_two_processes_and_an_alarm_of_one(tmp_path: Path) -> None:
    """Groups span both processes; the reward is constant on the second alone, whose alarm ends the run on both."""
    recipe = prepare(tmp_path, reward_funcs=["half.py:half"], max_steps=20)
    (tmp_path / "half.py").write_text(
        "import os\n"
        "def half(completion_ids, **_):\n"
        "    broken = os.environ['RANK'] == '1'\n"
        "    return [0.5 if broken else sum(ids) % 7 / 6 + row for row, ids in enumerate(completion_ids)]\n"
    )
    reports = run(tmp_path, ["-m", "markscheme.trainer.train"], recipe, {"ACCELERATE_USE_CPU": "1"})
    assert [one["world"] for one in reports] == [2, 2]
    steps = [max(entry["step"] for entry in one["logs"]) for one in reports]
    assert steps == [2, 2], "two steps of four completions fill the window of eight"
    for metric, count in (("reward", 2), ("reward_ema", 2), ("rewards/process/mean", 2), ("reward_alarms", 2)):
        first, second = ([entry[metric] for entry in one["logs"] if metric in entry] for one in reports)
        assert len(first) == count
        assert first == second
    assert [entry["reward_alarms"] for entry in reports[0]["logs"] if "reward_alarms" in entry] == [0, 1]
    assert (tmp_path / "out" / "recipe.yaml").is_file()


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file  # noqa: PLC0415

    return load_file(folder / "out" / "model.safetensors")


@pytest.mark.soak
@pytest.mark.parametrize("name", ["fsdp2", "zero3"])
def test_sharded_runs_give_the_weights_of_a_plain_one(name: str, tmp_path: Path) -> None:
    """With the environment that ``accelerate launch`` makes of the example, but for bf16, which CPUs are slow in."""
    if name == "zero3" and find_spec("deepspeed") is None:
        pytest.skip("needs DeepSpeed: pip install deepspeed")
    given = {"gradient_checkpointing": True, "callbacks": ["reporting.py:Report"]}
    plain = prepare(tmp_path / "plain", **given)
    run(plain.parent, ["-m", "markscheme.trainer.train"], plain, {"ACCELERATE_USE_CPU": "1"})
    sharded = prepare(tmp_path / "sharded", **given, use_cpu=False)
    (sharded.parent / "on_cpu.py").write_text(ON_CPU)
    environment = {**environment_of(f"{name}.yaml"), "ACCELERATE_MIXED_PRECISION": "no", "DS_ACCELERATOR": "cpu"}
    reports = run(sharded.parent, ["on_cpu.py"], sharded, environment)
    assert reports[0]["world"] == 2
    expected, found = weights(plain.parent), weights(sharded.parent)
    for key, tensor in expected.items():
        assert torch.allclose(found[key].float(), tensor, rtol=0, atol=1e-6), key
