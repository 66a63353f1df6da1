"""Real runs from recipes: two steps on a model of a few thousand weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tinyrecipes import MARKS, NEEDED, environment_of, settings, write_recipe, write_rows

pytestmark = MARKS
pytest.importorskip("trl", reason=NEEDED)
yaml = pytest.importorskip("yaml", reason=NEEDED)

from markscheme.trainer import launch, recipe  # noqa: E402
from markscheme.trainer.memory.architecture import LINEAR  # noqa: E402
from markscheme.trainer.parts import check_rows, make  # noqa: E402
from markscheme.trainer.preview import dry_run, memory_of  # noqa: E402
from markscheme.trainer.rows import load  # noqa: E402
from markscheme.verifiers.errors import DataError, GoldError, TrainerConfigError  # noqa: E402
from tinymodels import character_tokenizer, save_policy  # noqa: E402


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy"), hidden=16, layers=1)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `datasets` prepares goes into the test's folder."""
    import datasets  # noqa: PLC0415

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def parsed(folder: Path, policy: Path, *arguments: str, **given: Any) -> recipe.Recipe:
    return recipe.parse(["--config", str(write_recipe(folder, policy, **given)), *arguments])


def logged(trainer: Any, metric: str) -> list[float]:
    return [entry[metric] for entry in trainer.state.log_history if metric in entry]


def test_a_run_with_everything(policy: Path, tmp_path: Path) -> None:
    given = {
        "step_reward": f"{tmp_path / 'mine.py'}:steps",
        "supervision": "both",
        "credit": "min",
        "reward_funcs": [{"name": "math", "reading": "auto", "weight": 2.0}, f"{tmp_path / 'mine.py'}:length"],
        "callbacks": ["reward_ema", {"name": "broken_verifier", "action": "stop"}, {"name": "early_stopping"}],
        "system_prompt": "Answer.",
    }
    trainer = launch.run(parsed(tmp_path, policy, **given))
    assert trainer.state.global_step == 2
    assert len(logged(trainer, "reward_ema")) == len(logged(trainer, "reward_alarms")) == 2
    assert logged(trainer, "steps/count")[-1] == 2.0
    assert trainer.reward_weights.tolist() == [2.0, 1.0]
    assert trainer.reward_func_names == ["math_reward", "length"]
    names = [type(one).__name__ for one in trainer.callback_handler.callbacks[:3]]
    assert names == ["RewardEMACallback", "BrokenVerifierCallback", "EarlyStoppingOnPlateau"], "before the reporters"
    assert set(trainer.callback_handler.callbacks[1].alarms) == {"math_reward", "length", "steps"}
    assert "nswer." in str(trainer._logs["prompt"][0]), "messages, or in older releases the tokens that are known"
    assert (tmp_path / "out" / "model.safetensors").is_file()
    kept = recipe.parse(["--config", str(tmp_path / "out" / launch.KEPT)])
    assert kept.training.credit == "min"
    assert kept.script.reward_funcs == given["reward_funcs"]


def test_a_lora(policy: Path, tmp_path: Path) -> None:
    trainer = launch.run(parsed(tmp_path, policy, use_peft=True, lora_r=2, max_steps=1))
    trained = [name for name, p in trainer.model.named_parameters() if p.requires_grad]
    assert trained
    assert all("lora" in name for name in trained)
    assert (tmp_path / "out" / "adapter_model.safetensors").is_file()


def test_stopping_and_going_on(policy: Path, tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 1}
    whole = launch.run(parsed(tmp_path, policy, max_steps=3, output_dir=str(tmp_path / "whole"), **saving))
    launch.run(parsed(tmp_path, policy, max_steps=3, **saving))
    for checkpoint in (tmp_path / "out").glob("checkpoint-[23]"):
        checkpoint.rename(tmp_path / checkpoint.name)  # as if the run had ended after its first step
    with pytest.raises(TrainerConfigError, match=r"out holds checkpoint-1 of an earlier run, .*: pass --resume"):
        launch.run(parsed(tmp_path, policy, max_steps=3, **saving))
    again = launch.run(parsed(tmp_path, policy, "--resume_from_checkpoint", "auto", max_steps=3, **saving))
    assert again.state.global_step == 3
    assert logged(again, "reward") == logged(whole, "reward")
    assert logged(again, "loss") == pytest.approx(logged(whole, "loss"), rel=1e-6)
    assert logged(again, "reward_ema") == logged(whole, "reward_ema")


def test_checkpoints_that_are_not_there(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainerConfigError, match="resume_from_checkpoint: no whole checkpoint in "):
        launch.find_checkpoint(parsed(tmp_path, policy, resume_from_checkpoint="last").training)
    with pytest.raises(TrainerConfigError, match="resume_from_checkpoint: no folder nowhere"):
        launch.find_checkpoint(parsed(tmp_path, policy, resume_from_checkpoint="nowhere").training)
    assert launch.find_checkpoint(parsed(tmp_path, policy, resume_from_checkpoint="auto").training) is None


def test_a_checkpoint_that_was_cut_off_is_passed_over(
    policy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A node that dies while it saves leaves weights without the trainer's state, on which every restart would fail."""
    training = parsed(tmp_path, policy, resume_from_checkpoint="auto").training
    for step in (9, 10, 11):
        (tmp_path / "out" / f"checkpoint-{step}").mkdir(parents=True)
        (tmp_path / "out" / f"checkpoint-{step}" / "model.safetensors").touch()
    assert launch.find_checkpoint(training) is None
    for step in (9, 10):
        (tmp_path / "out" / f"checkpoint-{step}" / "trainer_state.json").touch()
    assert launch.find_checkpoint(training) == str(tmp_path / "out" / "checkpoint-10")
    assert "checkpoint-11 was not written to its end: going on from " in caplog.text
    with pytest.raises(TrainerConfigError, match=r"out holds checkpoint-11 of an earlier run"):
        launch.find_checkpoint(parsed(tmp_path, policy).training)


def test_a_dry_run_trains_nothing(policy: Path, tmp_path: Path) -> None:
    text = dry_run(parsed(tmp_path, policy, gradient_accumulation_steps=2, num_train_epochs=3, max_steps=-1))
    assert "learning_rate: 0.001" in text
    assert "begins anew" in text
    assert "training rows: 8, columns question, answer, prompt; every gold can be read" in text
    assert "completions an update: 16 on 1 process(es); generated at once: 16, 4 prompt(s) x 4" in text
    assert "updates: about 6 in 3 epoch(s)" in text
    assert "GRPO, 3,232 parameters in the shape of qwen2" in text
    assert "float32, pure precision" in text
    assert not (tmp_path / "out").exists()
    text = dry_run(parsed(tmp_path, policy, model_name_or_path="hub/name"))
    assert "memory: not planned: hub/name is no folder here; run markscheme plan --params" in text


def test_the_plan_of_a_recipe(policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = memory_of(parsed(tmp_path, policy, bf16=True, beta=0.04)).run
    assert (found.precision, found.dtype, found.reference, found.zero) == ("autocast", "bfloat16", True, 0)
    assert (found.group, found.prompts, found.context, found.prompt_tokens) == (4, 2, 12, 6)
    found = memory_of(parsed(tmp_path, policy, dtype="bfloat16", use_peft=True, lora_target_modules=["o_proj"])).run
    assert (found.precision, found.lora_rank, found.lora_targets) == ("pure", 16, ("o_proj",))
    found = memory_of(parsed(tmp_path, policy, use_peft=True, lora_target_modules=["all-linear"])).run
    assert found.lora_targets == LINEAR
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    assert memory_of(parsed(tmp_path, policy)).run.zero == 3


@pytest.mark.parametrize(
    ("name", "offload", "precision"), [("zero3.yaml", True, "mixed"), ("fsdp2.yaml", False, "autocast")]
)
def test_the_plan_under_an_example_of_accelerate(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, precision: str, *, offload: bool
) -> None:
    recipe = parsed(tmp_path, policy, bf16=True)  # before the environment, which says that there are GPUs
    for key, value in environment_of(name).items():
        monkeypatch.setenv(key, value)
    found = memory_of(recipe).run
    assert (found.zero, found.offload, found.offload_weights, found.precision) == (3, offload, offload, precision)


def test_list_fields() -> None:
    text = launch.list_fields("credit")
    assert "credit = sum\n    How step rewards become returns" in text
    assert "prefix_credit = 0.0" in text
    with pytest.raises(TrainerConfigError, match="no field has 'qqq' in its name"):
        launch.list_fields("qqq")


def test_main(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(write_recipe(tmp_path, policy))
    launch.main(["--config", path, "--dry-run"])
    assert "begins anew" in capsys.readouterr().out
    launch.main(["--fields=min_tau"])
    assert capsys.readouterr().out.startswith("min_tau = 0.1\n")
    ran: list[recipe.Recipe] = []
    monkeypatch.setattr(launch, "run", ran.append)
    launch.main(["--config", path, "--resume", "--max_steps", "7"])
    assert (ran[0].training.max_steps, ran[0].training.resume_from_checkpoint) == (7, "auto")


# -- data --------------------------------------------------------------------------------------------------------------


def test_prompts(policy: Path, tmp_path: Path) -> None:
    def first(**given: Any) -> Any:
        rows, _ = load(parsed(tmp_path, policy, **given))
        return rows[0]["prompt"]

    assert first() == "0+0="
    assert first(prompt_template=None, prompt_column="question") == "0+0"
    assert first(prompt_template="$\\boxed{ {{ question }} }$") == "$\\boxed{ 0+0 }$"
    assert first(conversational=True) == [{"content": "0+0=", "role": "user"}]
    assert [one["role"] for one in first(system_prompt="Think.")] == ["system", "user"]
    with pytest.raises(
        TrainerConfigError, match=r"prompt_template: no column 'qustion' in the data, which has question, answer"
    ):
        first(prompt_template="{{qustion}}")
    with pytest.raises(TrainerConfigError, match="no column 'prompt' in the data"):
        first(prompt_template=None)


def test_where_data_comes_from(policy: Path, tmp_path: Path) -> None:
    import datasets  # noqa: PLC0415

    rows, evaluation = load(parsed(tmp_path, policy))
    assert (len(rows), evaluation) == (8, None)
    held_out = str(write_rows(tmp_path / "test.jsonl", 4))
    evaluated = {"eval_strategy": "steps", "eval_steps": 1, "eval_dataset_name": held_out}
    assert len(load(parsed(tmp_path, policy, **evaluated))[1]) == 4
    with pytest.raises(TrainerConfigError, match="no split 'test'; the data has train"):
        load(parsed(tmp_path, policy, eval_strategy="steps", eval_steps=1))
    datasets.Dataset.from_list(rows.to_list()).save_to_disk(str(tmp_path / "saved"))
    assert len(load(parsed(tmp_path, policy, dataset_name=str(tmp_path / "saved")))[0]) == 8
    mixture = [{"path": "json", "data_files": held_out}, {"path": "json", "data_files": str(tmp_path / "rows.jsonl")}]
    assert len(load(parsed(tmp_path, policy, dataset_name=None, datasets=mixture))[0]) == 12
    with pytest.raises(TrainerConfigError, match="dataset_name and datasets are both set"):
        load(parsed(tmp_path, policy, datasets=mixture))
    with pytest.raises(TrainerConfigError, match="no data: set dataset_name to a file"):
        load(parsed(tmp_path, policy, dataset_name=None))
    with pytest.raises(TrainerConfigError, match=r"dataset_name: no file absent.jsonl \(looked for from /"):
        load(parsed(tmp_path, policy, dataset_name="absent.jsonl"))


def test_a_bad_line_is_named(policy: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"question": "1+1", "answer": "2"}\n{"question": \n')
    with pytest.raises(DataError, match=r"bad.jsonl, line 2, column "):
        load(parsed(tmp_path, policy, dataset_name=str(bad)))


def test_golds_are_read_before_anything_is_generated(policy: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    write_rows(file, 3)
    with file.open("a") as rows:
        rows.write(json.dumps({"question": "4+4", "answer": "$$("}) + "\n")
    with pytest.raises(GoldError) as caught:
        launch.run(parsed(tmp_path, policy))
    assert [row for row, *_ in caught.value.rows] == [3]
    assert "batch" not in str(caught.value)
    found = parsed(tmp_path, policy, reward_funcs=[{"name": "math", "gold_column": "gold"}])
    with pytest.raises(DataError, match="no gold column: expected 'gold'"):
        check_rows(make(found), load(found)[0])
    write_rows(file, 2, cases="[{")
    found = parsed(tmp_path, policy, reward_funcs=["code"])
    with pytest.raises(DataError, match="row 0 of the data set"):
        check_rows(make(found), load(found)[0])


# -- rewards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reward_funcs": None}, r"no reward: set reward_funcs, for example reward_funcs: \[math\]"),
        (
            {"supervision": "both"},
            r"recipe.yaml, line \d+: supervision: 'both' needs step rewards: set step_reward",
        ),
        ({"reward_funcs": ["maths"]}, r"recipe.yaml, line \d+: reward_funcs\[0\]: no 'maths' \(did you mean 'math'"),
        (
            {"reward_funcs": [{"name": "math", "weight": 1}], "reward_weights": [1.0]},
            r"reward_weights: weights stand in reward_funcs too: write them once",
        ),
        ({"reward_funcs": [{"name": "math", "weight": "big"}]}, r"reward_funcs\[0\]: weight: expected a number, found"),
        ({"reward_funcs": ["composite"]}, r"reward_funcs\[0\]: composite needs parts, a list such as"),
        ({"callbacks": ["early_stoping"]}, r"callbacks: no 'early_stoping' \(did you mean 'early_stopping'"),
        ({"step_reward": "equatoins"}, r"step_reward: no 'equatoins' \(did you mean 'equations'\?\)"),
    ],
)
def test_faults_in_names(policy: Path, tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainerConfigError, match=message):
        make(parsed(tmp_path, policy, **given))


def test_step_rewards_of_equations(policy: Path, tmp_path: Path) -> None:
    from markscheme.trainer import StepReward  # noqa: PLC0415

    given = {"name": "equations", "splitter": "\n", "wrong": -1.0, "max_claims": 5}
    found = parsed(tmp_path, policy, step_reward=given, callbacks=[])
    tokenizer = character_tokenizer()
    steps: Any = make(found, tokenizer).steps
    assert isinstance(steps, StepReward)
    assert steps._judge.max_claims == 5
    ids = tokenizer("2+2=4\n3+3=7\nso it is").input_ids
    assert steps(completions=["2+2=4\n3+3=7\nso it is"], completion_ids=[ids]) == [[(5, 1.0), (11, -1.0), (19, None)]]
    with pytest.raises(
        TrainerConfigError, match=r"step_reward: .*takes no argument 'max_clams': did you mean 'max_claims'"
    ):
        make(parsed(tmp_path, policy, step_reward={"name": "equations", "max_clams": 5}), tokenizer)


def test_composites(policy: Path, tmp_path: Path) -> None:
    inner = {"name": "composite", "parts": [f"{tmp_path / 'mine.py'}:length", "think_format_reward"]}
    parts = [{"name": "math", "weight": 2.0, "reading": "auto"}, {**inner, "weight": -1.0}]
    found = parsed(tmp_path, policy, reward_funcs=[{"name": "composite", "parts": parts, "combine": "sum"}])
    made = make(found)
    (reward,) = made.rewards
    assert [weight for _, weight in reward.parts] == [2.0, -1.0]
    assert reward.combine == "sum"
    assert made.callbacks[1].alarms["composite_reward"] is reward.parts[0][0].scorer.alarm, "the alarm inside is heard"
    check_rows(made, load(found)[0])
    file = tmp_path / "rows.jsonl"
    file.write_text('{"question": "1+1", "answer": "$$("}\n')
    with pytest.raises(GoldError):
        check_rows(made, load(found)[0])


def test_step_rewards_from_a_rollouts_field(policy: Path, tmp_path: Path) -> None:
    assert make(parsed(tmp_path, policy, step_reward="field:step_rewards")).steps == "step_rewards"


def test_a_reward_model_comes_first(policy: Path, tmp_path: Path) -> None:
    parts = make(parsed(tmp_path, policy, reward_model_name_or_path="some/model"))
    assert parts.rewards[0] == "some/model"
    assert parts.weights is None


def test_settings_are_all_fields(tmp_path: Path) -> None:
    """The tests' own recipe holds no field that does not exist."""
    assert set(settings(tmp_path, tmp_path)) <= set(recipe.FieldParser(recipe.KINDS).options)
