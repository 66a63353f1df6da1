"""The recipes and accelerate configurations of examples/: each is read by what reads it in use; each recipe trains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinyrecipes import EXAMPLES, MARKS, NEEDED, environment_of, write_rows

pytestmark = MARKS
pytest.importorskip("trl", reason=NEEDED)
accelerate = pytest.importorskip("accelerate", reason=NEEDED)
torch = pytest.importorskip("torch", reason=NEEDED)

from accelerate.commands.config.config_args import load_config_from_file  # noqa: E402

from markscheme.trainer import launch, recipe  # noqa: E402
from tinymodels import save_policy  # noqa: E402

RECIPES = sorted((EXAMPLES / "recipes").glob("*.yaml"))
SMALL = {
    "max_steps": 1, "num_generations": 2, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 1,
    "max_completion_length": 6, "report_to": "none", "use_cpu": "true", "bf16": "false", "log_completions": "false",
    "save_strategy": "no", "disable_tqdm": "true", "gradient_checkpointing": "false", "dataset_config": "none",
}  # fmt: skip


def test_every_recipe_is_here() -> None:
    names = {path.stem for path in RECIPES}
    assert names == {"both", "deepseekmath", "dr_grpo", "first_error", "lora", "outcome", "process"}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy"), hidden=16, layers=1)


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_trains(path: Path, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands, but for the model, the data and the sizes."""
    import datasets  # noqa: PLC0415

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    given = {
        **SMALL,
        "model_name_or_path": policy,
        "dataset_name": write_rows(tmp_path / "rows.jsonl"),
        "output_dir": tmp_path / "out",
    }
    arguments = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    trainer = launch.run(recipe.parse(["--config", str(path), *arguments]))
    assert trainer.state.global_step == 1
    entry = next(entry for entry in trainer.state.log_history if "reward" in entry)
    assert {"reward_ema", "reward_alarms", "rewards/math_reward/mean"} <= set(entry)
    assert trainer.args.max_grad_norm == 1.0


def test_what_the_recipes_set() -> None:
    cpu = ["--use_cpu", "true", "--bf16", "false"]
    found = {path.stem: recipe.parse(["--config", str(path), *cpu]) for path in RECIPES}
    settings = {name: (one.training.supervision, one.training.credit) for name, one in found.items()}
    assert settings["process"] == ("process", "min")
    assert settings["both"] == ("both", "delta")
    assert settings["first_error"] == ("process", "first_error")
    assert settings["deepseekmath"] == ("process", "sum")
    assert settings["outcome"][0] == settings["lora"][0] == settings["dr_grpo"][0] == "outcome"
    paper = found["deepseekmath"].training
    assert (paper.num_generations, paper.beta, paper.learning_rate) == (64, 0.04, 1e-6)
    assert paper.per_device_train_batch_size * paper.gradient_accumulation_steps == 1024
    assert found["dr_grpo"].training.loss_type == "dr_grpo"
    assert found["lora"].model.use_peft
    assert all(one.training.gradient_checkpointing for one in found.values()), "what zero3.yaml relies on"


def test_right_last_steps_are_not_blamed_where_half_of_the_answers_are_wrong() -> None:
    """Under `min` 0 is neutral: with 0 for a wrong step, what is left to come of right ones lies below the mean."""
    cpu = ["--use_cpu", "true", "--bf16", "false"]
    found = {path.stem: recipe.parse(["--config", str(path), *cpu]) for path in RECIPES}
    checked = {name: one for name, one in found.items() if one.training.credit == "min"}
    assert checked
    ends = [list(range(5))] * 8
    for one in checked.values():
        spec = one.script.step_reward
        assert isinstance(spec, dict)
        right, wrong = spec.get("right", 1.0), spec.get("wrong", 0.0)
        slips: list[list[float | None]] = [[wrong if step == at else right for step in range(5)] for at in range(4)]
        rewards: list[list[float | None]] = [[right] * 5] * 4 + slips
        advantages = one.training.step_advantages(torch.zeros(8), rewards, ends, 8, 5)
        assert (advantages[:4] > 0).all()


def test_zero3(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config_from_file(str(EXAMPLES / "accelerate" / "zero3.yaml"))
    assert config.distributed_type == "DEEPSPEED"
    assert (config.num_processes, config.mixed_precision) == (8, "bf16")
    for key, value in environment_of("zero3.yaml").items():
        monkeypatch.setenv(key, value)
    plugin = accelerate.DeepSpeedPlugin()
    assert plugin.zero_stage == 3
    assert plugin.offload_optimizer_device == plugin.offload_param_device == "cpu"
    zero = plugin.deepspeed_config["zero_optimization"]
    assert zero["stage"] == 3
    assert zero["offload_optimizer"]["device"] == zero["offload_param"]["device"] == "cpu"
    assert zero["stage3_gather_16bit_weights_on_model_save"] is True
    assert plugin.deepspeed_config["gradient_clipping"] == "auto", "it follows max_grad_norm"
    assert plugin.deepspeed_config["gradient_accumulation_steps"] == "auto"


def test_fsdp2(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config_from_file(str(EXAMPLES / "accelerate" / "fsdp2.yaml"))
    assert config.distributed_type == "FSDP"
    for key, value in environment_of("fsdp2.yaml").items():
        monkeypatch.setenv(key, value)
    plugin = accelerate.FullyShardedDataParallelPlugin()
    assert plugin.fsdp_version == 2
    assert plugin.reshard_after_forward is True
    assert plugin.activation_checkpointing is False, "the recipe's gradient_checkpointing does it"
    assert str(plugin.state_dict_type) == "StateDictType.FULL_STATE_DICT"


def test_an_unknown_key_would_be_refused(tmp_path: Path) -> None:
    """That accelerate's loader does check, so that the tests above mean something."""
    bad = tmp_path / "bad.yaml"
    bad.write_text((EXAMPLES / "accelerate" / "zero3.yaml").read_text() + "no_such_key: 1\n")
    with pytest.raises(ValueError, match="no_such_key"):
        load_config_from_file(str(bad))
