"""From YAML and ``--field value`` to settings: conventions, conversions, errors that name the line and the field."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.train,
    # transformers 5.24 calls TRL's gradient_checkpointing deprecated.
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),
]
NEEDED = "needs torch and TRL: pip install markscheme[train]"
trl = pytest.importorskip("trl", reason=NEEDED)
yaml = pytest.importorskip("yaml", reason=NEEDED)

from markscheme.trainer import recipe as recipes  # noqa: E402
from markscheme.trainer.fields import FieldParser  # noqa: E402
from markscheme.verifiers.errors import DataError, TrainerConfigError  # noqa: E402

BASE = "model_name_or_path: policy\nuse_cpu: true\nbf16: false\n"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Parse a recipe's text and arguments."""

    def parse(text: str, *arguments: str, base: str = BASE) -> recipes.Recipe:
        (tmp_path / "r.yaml").write_text(base + text)
        return recipes.parse(["--config", str(tmp_path / "r.yaml"), "--output_dir", str(tmp_path / "out"), *arguments])

    return parse


def test_values_reach_their_dataclasses(read: Any) -> None:
    found = read(
        "learning_rate: 1e-6\nsupervision: outcome\nbeta: 0\nlora_r: 4\nreward_funcs: [math]\nnum_generations: 4\n"
        "save_strategy: no\nreport_to: none\nrun_name: 2024\nwarmup_steps: 3\nlora_target_modules: [q_proj, v_proj]\n"
        "model_init_kwargs: {use_cache: false}\ndataset_name: rows.jsonl"
    )
    assert found.training.learning_rate == 1e-6, "PyYAML alone reads 1e-6 as text"
    assert (found.training.beta, type(found.training.beta)) == (0.0, float)
    assert found.training.save_strategy.value == "no", "which YAML reads as false"
    assert found.training.run_name == "2024"
    assert found.training.model_init_kwargs == {"use_cache": False}
    assert found.model.lora_r == 4
    assert found.model.lora_target_modules == ["q_proj", "v_proj"]
    assert found.script.reward_funcs == ["math"]
    assert found.script.dataset_name == "rows.jsonl"


def test_the_command_line_wins(read: Any) -> None:
    found = read(
        "learning_rate: 1e-6\nbeta: 0.1",
        *("--learning_rate", "3e-5", "--num-generations", "2"),
        *("--reward_funcs", "math", '{"name": "code", "weight": 0.5}'),
        *("--model_init_kwargs", '{"use_cache": false}'),
        *("--liger_kernel_config", '{"rope": true}'),  # a mapping that transformers does not read from text
    )
    assert found.training.learning_rate == 3e-5
    assert found.training.beta == 0.1
    assert found.training.num_generations == 2
    assert found.training.model_init_kwargs == {"use_cache": False}
    assert found.training.liger_kernel_config == {"rope": True}
    assert found.script.reward_funcs == ["math", '{"name": "code", "weight": 0.5}']
    assert found.where("learning_rate") == "--learning_rate"
    assert found.where("beta").endswith("r.yaml, line 5: beta")


def test_no_file_at_all(tmp_path: Path) -> None:
    needed = ["--model_name_or_path", "m", "--output_dir", str(tmp_path)]
    found = recipes.parse([*needed, "--use_cpu", "--bf16", "false"])
    assert found.training.use_cpu is True
    assert found.training.bf16 is False
    assert found.training.logging_steps == 1, "TRL's own default is 10"
    assert found.script.callbacks == ["reward_ema", "broken_verifier"]


def test_booleans(read: Any) -> None:
    for text, expected in (("true", True), ("no", False), ("'false'", False), ("yes", True)):
        assert read(f"log_completions: {text}").training.log_completions is expected
    assert read("", "--log_completions").training.log_completions is True
    assert read("", "--log_completions", "false").training.log_completions is False


def test_every_field_of_every_dataclass_is_a_field_of_a_recipe() -> None:
    parser = FieldParser(recipes.KINDS)
    for kind in (trl.GRPOConfig, trl.ModelConfig, trl.ScriptArguments, trl.DatasetMixtureConfig):
        names = {name for name, one in kind.__dataclass_fields__.items() if one.init}
        assert names <= set(parser.options)


def test_every_field_takes_its_own_default_from_a_file() -> None:
    """What a default is written as in YAML is read back as the same value."""
    parser = FieldParser(recipes.KINDS)
    for kind in recipes.KINDS:
        for name, one in kind.__dataclass_fields__.items():
            if not one.init or one.default is None or not isinstance(one.default, bool | int | float | str):
                continue
            given = yaml.safe_load(yaml.safe_dump(one.default))
            read = parser.read(name, given, f"file, line 1: {name}")
            assert getattr(read, "value", read) == getattr(one.default, "value", one.default), name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lerning_rate: 1", r"r.yaml, line 4: no field lerning_rate: did you mean learning_rate"),
        ("credti: min", r"no field credti: did you mean credit"),
        ("qqqqq: 1", r"no field qqqqq: see markscheme train --fields"),
        ("learning_rate: fast", r"line 4: learning_rate: .*invalid float value: 'fast'"),
        ("max_steps: 1.5", r"line 4: max_steps: expected a whole number, found 1.5"),
        ("max_steps: [1]", r"line 4: max_steps: expected a whole number, found \[1\]"),
        ("max_steps:", r"line 4: max_steps: expected a whole number, found None"),
        ("supervision: steps", r"line 4: supervision: .*invalid choice: 'steps'"),
        (
            "supervision: no",
            r"line 4: supervision: YAML reads the words yes, no, on, off as false; write text in quotes",
        ),
        ("beta: 1\nbeta: 2", r"r.yaml, line 5, column 1: the key 'beta' comes twice"),
        ("a: [", r"r.yaml, line 4, column 5: expected the node content"),
        ("env: 3", r"line 4: env: expected names and values of environment variables"),
        (
            "num_generations: 5\nper_device_train_batch_size: 8",
            r"settings: generation_batch_size \(8\) must be divisible",
        ),
        ("preset: best", r"no preset 'best'; there are 'dapo', 'deepseekmath', 'dr_grpo'"),
        ("supervision: process\nloss_type: luspo", r"weighs whole sequences"),
    ],
)
def test_errors_name_the_line_and_the_field(read: Any, text: str, message: str) -> None:
    with pytest.raises((DataError, TrainerConfigError), match=message):
        read(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lerning_rate", "1"], "no field --lerning_rate: did you mean --learning_rate"),
        (["--lerning-rate=1"], "no field --lerning_rate: did you mean --learning_rate"),
        (["--learning", "1"], "no field --learning: did you mean"),
        (["--max_steps", "x"], "argument --max_steps/--max-steps: invalid int value: 'x'"),
        (["--max_steps"], "expected one argument"),
        (["--liger_kernel_config", "[1]"], r"invalid mapping value: '\[1\]'"),
        (["stray"], "'stray' belongs to no field; write --field value"),
        (["--config", "other.yaml"], "--config comes 2 times"),
    ],
)
def test_errors_of_the_command_line(read: Any, arguments: list[str], message: str) -> None:
    with pytest.raises(TrainerConfigError, match=message):
        read("", *arguments)


def test_files_that_are_no_recipe(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    for content in (b"- 1\n", b"just text\n", b"", b"1: 2\n"):
        file.write_bytes(content)
        with pytest.raises(DataError, match="expected fields and their values, such as: learning_rate: 1e-6"):
            recipes.parse(["--config", str(file)])
    file.write_bytes(b"run_name: \xff\n")
    with pytest.raises(DataError, match="not UTF-8"):
        recipes.parse(["--config", str(file)])
    with pytest.raises(OSError, match="absent"):
        recipes.parse(["--config", str(tmp_path / "absent.yaml")])
    with pytest.raises(TrainerConfigError, match="no model: set model_name_or_path"):
        recipes.parse(["--output_dir", str(tmp_path), "--use_cpu", "--bf16", "false"])


def test_the_environment(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKSCHEME_TEST_A", "before")
    monkeypatch.setenv("MARKSCHEME_TEST_API_KEY", "before")
    found = read("env: {MARKSCHEME_TEST_A: 3, MARKSCHEME_TEST_API_KEY: hidden}")
    assert os.environ["MARKSCHEME_TEST_A"] == "3" and os.environ["MARKSCHEME_TEST_API_KEY"] == "hidden"
    kept = found.as_yaml()
    assert yaml.safe_load(kept)["env"] == {"MARKSCHEME_TEST_A": "3"}
    assert "hidden" not in kept and "# left out: env: MARKSCHEME_TEST_API_KEY" in kept


def test_presets_are_built_on(read: Any) -> None:
    found = read("preset: deepseekmath\nbeta: 0.1")
    assert found.training.beta == 0.1
    assert (found.training.num_generations, found.training.loss_type) == (64, "grpo")
    plain = read("preset: dr_grpo").training
    assert (plain.loss_type, plain.scale_rewards, plain.beta) == ("dr_grpo", "none", 0.0)


def test_the_settings_as_a_recipe_give_the_same_settings(read: Any, tmp_path: Path) -> None:
    first = read(
        "preset: dr_grpo\nreward_funcs: [math, {name: code, weight: 0.5}]\nhub_token: secret\nsave_strategy: no\n"
        "resume_from_checkpoint: last",
        *("--learning_rate", "2e-6", "--per_device_train_batch_size", "16"),
    )
    text = first.as_yaml()
    assert "secret" not in text
    assert "resume" not in text
    assert "# follows: loss_type: dr_grpo" in text
    (tmp_path / "again.yaml").write_text(text)
    second = recipes.parse(["--config", str(tmp_path / "again.yaml")])
    assert second.script == first.script
    assert second.model == first.model
    same = {name: getattr(first.training, name) for name in first.training.__dataclass_fields__}
    for name, value in same.items():
        if name not in ("hub_token", "resume_from_checkpoint", "logging_dir"):
            assert getattr(second.training, name) == value, name


def test_words_for_resuming(read: Any) -> None:
    for word, meant in (("last", "last"), ("true", "last"), ("latest", "last"), ("auto", "auto"), ("x/y", "x/y")):
        assert read(f"resume_from_checkpoint: '{word}'").training.resume_from_checkpoint == meant
