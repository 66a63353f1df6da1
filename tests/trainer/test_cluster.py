"""examples/cluster: two nodes' worth of processes on one machine, a rank that dies, and a run that goes on."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tinyrecipes import EXAMPLES, MARKS, NEEDED, write_recipe

pytestmark = MARKS
pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("trl", reason=NEEDED)

from markscheme.trainer import recipe  # noqa: E402
from tinymodels import save_policy  # noqa: E402

CLUSTER = EXAMPLES / "cluster"
MODEL = "Qwen/Qwen2.5-7B-Instruct"
# accelerate shards on accelerators alone. Told that this is one, it does the same on CPUs, over gloo.
ON_CPU = """
import os
if "RANK" in os.environ:
    import torch
    from accelerate import state
    from accelerate.utils import DistributedType

    state.PartialState._prepare_backend = lambda *_, **__: ("gloo", DistributedType.MULTI_GPU)
    state.PartialState.set_device = lambda self: setattr(self, "device", torch.device("cpu"))
"""
REPORTING = """
import json, os
from transformers import TrainerCallback

class Report(TrainerCallback):
    def on_train_begin(self, args, state, control, **_):
        self.began = state.global_step

    def on_train_end(self, args, state, control, **_):
        with open(f"report-{args.process_index}.json", "w") as file:
            json.dump({"world": args.world_size, "began": self.began, "ended": state.global_step,
                       "sharded": os.environ.get("ACCELERATE_USE_FSDP"), "machine": os.environ["GROUP_RANK"]}, file)

calls = 0

def dying(completion_ids, **_):
    # In the third step, the process of the second node ends as one does that is killed for want of memory; once.
    global calls
    calls += 1
    if calls == 3 and os.environ["RANK"] == "1" and not os.path.exists("died"):
        open("died", "w").close()
        os._exit(9)
    return [sum(ids) % 7 / 6 for ids in completion_ids]
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def start(folder: Path, path: Path) -> list[int]:
    """Run train.sh as on two nodes of one process each; return how each ended."""
    port = str(free_port())
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "CONFIG": str(EXAMPLES / "accelerate" / "fsdp2.yaml"),
        "NODES": "2", "GPUS": "1", "MAIN": "127.0.0.1", "PORT": port,
    }  # fmt: skip
    running = []
    for rank in range(2):
        with (folder / f"log-{rank}").open("w") as log:
            given = {**environment, "NODE_RANK": str(rank)}
            command = [str(CLUSTER / "train.sh"), str(path)]
            running.append(subprocess.Popen(command, cwd=folder, env=given, stdout=log, stderr=subprocess.STDOUT))
    try:
        return [one.wait(timeout=400) for one in running]
    finally:
        for one in running:
            one.kill()


def prepare(folder: Path, **given: Any) -> Path:
    (folder / "sitecustomize.py").write_text(ON_CPU)
    (folder / "reporting.py").write_text(REPORTING)
    policy = save_policy(folder / "policy", hidden=16, layers=1)
    base = {"callbacks": ["reporting.py:Report"], "per_device_train_batch_size": 4, "use_cpu": False}
    return write_recipe(folder, policy, **{**base, **given})


def reports(folder: Path) -> list[dict[str, Any]]:
    """What both ranks say, each of its own node."""
    found = [json.loads((folder / f"report-{rank}.json").read_text()) for rank in range(2)]
    assert [(one["world"], one["machine"], one["sharded"]) for one in found] == [(2, "0", "true"), (2, "1", "true")]
    return found


def test_two_nodes_train(tmp_path: Path) -> None:
    path = prepare(tmp_path, max_steps=1)
    assert start(tmp_path, path) == [0, 0], (tmp_path / "log-0").read_text()[-3000:]
    assert [(one["began"], one["ended"]) for one in reports(tmp_path)] == [(0, 1), (0, 1)]
    assert (tmp_path / "out" / "model.safetensors").is_file()


@pytest.mark.soak
def test_a_rank_dies_both_nodes_end_and_the_same_command_goes_on(tmp_path: Path) -> None:
    given = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2, "ddp_timeout": 60}
    path = prepare(tmp_path, reward_funcs=["reporting.py:dying"], **given)
    codes = start(tmp_path, path)
    assert 0 not in codes, (tmp_path / "log-0").read_text()[-3000:]
    assert (tmp_path / "died").exists(), (tmp_path / "log-1").read_text()[-3000:]
    assert (tmp_path / "out" / "checkpoint-2").is_dir()
    assert not list(tmp_path.glob("report-*"))

    assert start(tmp_path, path) == [0, 0], (tmp_path / "log-0").read_text()[-3000:]
    assert [(one["began"], one["ended"]) for one in reports(tmp_path)] == [(2, 4), (2, 4)]


def test_the_recipe() -> None:
    found = recipe.parse(["--config", str(CLUSTER / "grpo.yaml"), "--use_cpu", "true", "--bf16", "false"]).training
    assert (found.use_vllm, found.vllm_mode, found.vllm_server_timeout) == (True, "server", 1800)
    assert found.vllm_group_port == 51216
    assert found.save_steps == 25
    assert found.gradient_checkpointing, "what zero3.yaml relies on"


@pytest.mark.parametrize("missing", ["NODES", "NODE_RANK", "MAIN"])
def test_what_a_node_must_be_told(missing: str, tmp_path: Path) -> None:
    given = {"NODES": "2", "NODE_RANK": "0", "MAIN": "127.0.0.1", "PATH": os.environ["PATH"]}
    del given[missing]
    command = [str(CLUSTER / "train.sh"), "recipe.yaml"]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"{missing}: " in done.stderr


STANDINS = {
    "scontrol": '#!/usr/bin/env bash\necho "scontrol $*" >> log\n[ "$1" != show ] || printf "%s\\n" n0 n1 n2\n',
    # Runs the command once a task, as srun does on as many nodes.
    "srun": """#!/usr/bin/env bash
echo "srun $*" >> log
while [[ "$1" == --* ]]; do case "$1" in --ntasks=*) tasks=${1#*=};; esac; shift; done
for task in $(seq 0 $((tasks - 1))); do SLURM_PROCID=$task "$@" & pids+=($!); done
trap 'kill "${pids[@]}" 2>/dev/null' TERM
code=0; for pid in "${pids[@]}"; do wait "$pid" || code=$?; done; exit "$code"
""",
    "serve.sh": '#!/usr/bin/env bash\necho "serve $MODEL $TENSOR_PARALLEL" >> log\n$SERVING\n',
    "train.sh": '#!/usr/bin/env bash\necho "train $NODE_RANK of $NODES at $MAIN: $*" >> log\nsleep 1\n$TRAINING\n',
}


@pytest.mark.parametrize(
    ("serving", "training", "restarts", "code", "requeued", "model"),
    [
        ("exec sleep 300", "exit 0", "0", 0, False, MODEL),
        ("exec sleep 300", "exit 3", "0", 3, True, f"{MODEL} # 15 GB"),
        ("exec sleep 300", "exit 3", "5", 3, False, f'"{MODEL}"'),
        ("sleep 3", "exec sleep 300", "0", 1, True, f"'{MODEL}'   # 15 GB"),
    ],
    ids=["it ends well", "a trainer dies", "too often", "the server dies"],
)
def test_slurm(
    serving: str,
    training: str,
    restarts: str,
    code: int,
    requeued: bool,  # noqa: FBT001
    model: str,
    tmp_path: Path,
) -> None:
    """The job script with stand-ins for Slurm's commands and for what the nodes run."""
    for name, text in STANDINS.items():
        place = tmp_path / ("examples/cluster" if name.endswith(".sh") else "bin") / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n[0-2]", "SLURM_RESTART_COUNT": restarts, "SERVING": serving, "TRAINING": training,
    }  # fmt: skip
    path = tmp_path / "grpo.yaml"
    path.write_text((CLUSTER / "grpo.yaml").read_text().replace(f": {MODEL}\n", f": {model}\n"))
    command = [str(CLUSTER / "slurm.sh"), str(path), "--output_dir", "runs/x"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    log = (tmp_path / "log").read_text().splitlines()
    assert f"serve {MODEL} 8" in log
    arguments = f"{path} --output_dir runs/x --vllm_server_base_url http://n0:8000"
    for rank in range(2):
        assert f"train {rank} of 2 at n1: {arguments}" in log
    assert ("scontrol requeue 7" in log) is requeued
    assert ("back into the queue" in done.stdout) is requeued
