"""Small recipes for the tests of runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

MARKS = [
    pytest.mark.train,
    # TRL 1.16 uses names that transformers 5.24 calls deprecated (gradient_checkpointing and its kin).
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),
]
NEEDED = "needs torch and TRL: pip install markscheme[train]"

MINE = """
def length(completion_ids, **columns):
    return [sum(ids) % 7 / 6 for ids in completion_ids]

def steps(completion_ids, **columns):
    return [[(0, ids[0] % 2), (len(ids) - 1, 1.0)] if len(ids) > 1 else None for ids in completion_ids]
"""


def write_rows(path: Path, count: int = 8, **more: Any) -> Path:
    rows = [{"question": f"{i}+{i}", "answer": f"{i} + {i} = {2 * i}\n#### {2 * i}", **more} for i in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def settings(folder: Path, policy: Path, **given: Any) -> dict[str, Any]:
    """A recipe's fields for two steps on a CPU."""
    base: dict[str, Any] = {
        "model_name_or_path": str(policy),
        "dataset_name": str(folder / "rows.jsonl"),
        "prompt_template": "{{question}}=",
        "reward_funcs": [{"name": "math", "reading": "auto"}, f"{folder / 'mine.py'}:length"],
        "output_dir": str(folder / "out"),
        "max_steps": 2,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 6,
        "learning_rate": 1e-3,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "gradient_checkpointing": False,
        "disable_tqdm": True,
    }
    return {**base, **given}


def write_recipe(folder: Path, policy: Path, **given: Any) -> Path:
    """Write a recipe, its rows and a module of one's own into ``folder``."""
    import yaml  # noqa: PLC0415

    if not (folder / "rows.jsonl").exists():
        write_rows(folder / "rows.jsonl")
    (folder / "mine.py").write_text(MINE)
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(settings(folder, policy, **given)))
    return path


def environment_of(name: str) -> dict[str, str]:
    """What ``accelerate launch --config_file`` of an example gives to the processes, by accelerate's own code."""
    from accelerate.commands import launch  # noqa: PLC0415

    path = str(EXAMPLES / "accelerate" / name)
    any_port = ["--main_process_port", "0"]  # the default one may be in use, of which accelerate warns
    arguments = launch.launch_command_parser().parse_args(["--config_file", path, *any_port, "-m", "module"])
    arguments, config, _ = launch._validate_launch_command(arguments)
    if config.deepspeed_config:
        arguments.deepspeed_fields_from_accelerate_config = ",".join(config.deepspeed_config)
        _, found = launch.prepare_deepspeed_cmd_env(arguments)
    else:
        found = launch.prepare_multi_gpu_env(arguments)
    return {key: value for key, value in found.items() if os.environ.get(key) != value}
