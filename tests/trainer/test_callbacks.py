"""The callbacks on real runs of TRL's GRPOTrainer, and on events made by hand."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.train,
    # TRL 1.16 uses names that transformers 5.24 calls deprecated (gradient_checkpointing and its kin).
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),
]
NEEDED = "needs torch and TRL: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
trl = pytest.importorskip("trl", reason=NEEDED)
datasets = pytest.importorskip("datasets", reason=NEEDED)
transformers = pytest.importorskip("transformers", reason=NEEDED)

from markscheme.trainer import callbacks, watch  # noqa: E402
from markscheme.verifiers.errors import RewardError  # noqa: E402
from markscheme.verifiers.rewards import BrokenVerifierAlarm, MathReward, RewardAlarm  # noqa: E402
from tinymodels import save_policy  # noqa: E402


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy"), hidden=16, layers=1)


def differing(completion_ids: list[list[int]], **_: Any) -> list[float]:
    return [sum(ids) % 7 / 6 for ids in completion_ids]


def constant(completions: list[str], **_: Any) -> list[float]:
    return [0.5] * len(completions)


def silent(completions: list[str], **_: Any) -> list[float | None]:
    return [None] * len(completions)


def make_trainer(policy: Path, folder: Path, reward_funcs: Any, added: list[Any], **given: Any) -> Any:
    settings: dict[str, Any] = {
        "per_device_train_batch_size": 4,
        "num_generations": 2,
        "max_completion_length": 6,
        "max_steps": 3,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        "learning_rate": 1e-3,
    }
    rows = {"prompt": [f"{i}+{i}=" for i in range(8)], "answer": [str(2 * i) for i in range(8)]}
    return trl.GRPOTrainer(
        model=str(policy),
        reward_funcs=reward_funcs,
        args=trl.GRPOConfig(output_dir=str(folder), **{**settings, **given}),
        train_dataset=datasets.Dataset.from_dict(rows),
        callbacks=added,
    )


def logged(trainer: Any, metric: str) -> list[float]:
    return [entry[metric] for entry in trainer.state.log_history if metric in entry]


class Reporter(transformers.TrainerCallback):  # type: ignore[misc]
    """What TensorBoard or wandb would be given."""

    def __init__(self) -> None:
        self.logs: list[dict[str, Any]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self.logs.append(dict(logs))


def test_the_average_of_a_run_and_after_a_resume(policy: Path, tmp_path: Path) -> None:
    saving = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    whole = make_trainer(policy, tmp_path, differing, [callbacks.RewardEMACallback()], **saving)
    whole.train()
    rewards, averages = logged(whole, "reward"), logged(whole, "reward_ema")
    assert len(rewards) == len(averages) == 4
    for count, average in enumerate(averages, 1):
        weights = [0.9 ** (count - i) for i in range(1, count + 1)]
        expected = sum(w * r for w, r in zip(weights, rewards, strict=False)) / sum(weights)
        assert math.isclose(average, expected, rel_tol=1e-9)

    mine = callbacks.RewardEMACallback()
    again = make_trainer(policy, tmp_path, differing, [mine], **saving)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert logged(again, "reward_ema")[:2] == averages[:2], "they stand in the checkpoint"
    weights, seen = [0.729, 0.81, 0.9, 1.0], logged(again, "reward")
    expected = sum(w * r for w, r in zip(weights, seen, strict=True)) / sum(weights)
    assert math.isclose(mine.value, expected, rel_tol=1e-9), "all four rewards count, the resumed two among them"


def test_added_first_the_average_reaches_the_reporters(policy: Path, tmp_path: Path) -> None:
    reporter = Reporter()
    trainer = make_trainer(policy, tmp_path, differing, [reporter], max_steps=2)
    average, stopping = callbacks.RewardEMACallback(), callbacks.EarlyStoppingOnPlateau()
    callbacks.add_first(trainer, average, stopping)
    assert trainer.callback_handler.callbacks[:2] == [average, stopping]
    trainer.train()
    assert [logs["reward_ema"] for logs in reporter.logs if "reward" in logs] == logged(trainer, "reward_ema")


def test_a_checkpoint_made_without_a_callback_is_resumed_with_it(policy: Path, tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 1}
    make_trainer(policy, tmp_path, differing, [], max_steps=1, **saving).train()
    added = [callbacks.RewardEMACallback(), callbacks.RewardEMACallback("loss", 0.5)]
    trainer = make_trainer(policy, tmp_path, differing, added, max_steps=2, **saving)
    trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-1"))
    assert added[0].ema.count == added[1].ema.count == 1
    assert {"markscheme.RewardEMACallback.reward", "markscheme.RewardEMACallback.loss"} <= set(
        trainer.state.stateful_callbacks
    )


def test_a_second_run_begins_anew(policy: Path, tmp_path: Path) -> None:
    average = callbacks.RewardEMACallback()
    trainer = make_trainer(policy, tmp_path, differing, [average], max_steps=2)
    trainer.train()
    trainer.train()
    assert average.ema.count == 2


@pytest.mark.parametrize(
    ("rule", "settings", "why"),
    [
        ("literal", {}, "the average went from 0.5 to 0.5 over the last 5 observations"),
        ("slope", {"warmup": 2, "min_window": 8}, "over the last 8 observations (mean 0.5) the slope is"),
    ],
)
def test_a_flat_run_ends_early(policy: Path, tmp_path: Path, rule: Any, settings: dict[str, Any], why: str) -> None:
    stopping = callbacks.EarlyStoppingOnPlateau(rule=rule, **settings)
    trainer = make_trainer(policy, tmp_path, constant, [stopping], max_steps=40)
    with pytest.warns(UserWarning, match="training stops at step") as told:
        trainer.train()
    assert trainer.state.global_step == {"literal": 6, "slope": 12}[rule]
    assert stopping.stopped is not None
    assert f"reward no longer rises: {why}" in stopping.stopped
    assert sum("training stops" in str(one.message) for one in told) == 1


def test_early_stopping_goes_on_after_a_resume(policy: Path, tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 4}
    make_trainer(
        policy, tmp_path, constant, [callbacks.EarlyStoppingOnPlateau(rule="literal")], max_steps=4, **saving
    ).train()
    trainer = make_trainer(
        policy, tmp_path, constant, [callbacks.EarlyStoppingOnPlateau(rule="literal")], max_steps=40, **saving
    )
    with pytest.warns(UserWarning, match="training stops at step 6"):
        trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert trainer.state.global_step == 6


def events(callback: Any, logs: list[dict[str, Any]]) -> Any:
    """Let a callback hear logs; return the control."""
    state, control = transformers.TrainerState(), transformers.TrainerControl()
    callback.on_train_begin(None, state, control)
    for entry in logs:
        state.log_history.append(dict(entry))
        callback.on_log(None, state, control, logs=entry)
    return control


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "0.5", True])
def test_what_is_no_number_is_passed_over(value: Any) -> None:
    average = callbacks.RewardEMACallback()
    logs = [{"reward": 1.0}, {"reward": value}, {"loss": 1.0}, {"reward": 1.0}]
    events(average, logs)
    assert average.ema.count == 2
    assert "reward_ema" not in logs[1]


def test_a_metric_that_never_comes_is_told_once() -> None:
    stopping = callbacks.EarlyStoppingOnPlateau("rewards/math/mean")
    log = {"loss": 0.0, "rewards/math_reward/mean": 1.0, "kl": 0.0}
    with pytest.warns(UserWarning, match="which 20 logs did not hold; near it: rewards/math_reward/mean") as told:
        events(stopping, [dict(log) for _ in range(60)])
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # With several optimiser steps a generation, only one in so many logs holds a reward.
        events(callbacks.EarlyStoppingOnPlateau("kl"), [dict(log), *[{"loss": 0.0} for _ in range(60)]])


def test_rules_and_settings_are_checked() -> None:
    with pytest.raises(ValueError, match='rule="slope" or "literal", not \'fast\''):
        callbacks.EarlyStoppingOnPlateau(rule="fast")
    with pytest.raises(TypeError, match="confidence"):
        callbacks.EarlyStoppingOnPlateau(rule="literal", confidence=0.9)


# -- the alarm ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "figures"), [(constant, "the last 8 are all 0.5"), (silent, "8 in a row are None")]
)
def test_a_broken_function_ends_the_run(policy: Path, tmp_path: Path, function: Any, figures: str) -> None:
    guard = watch.BrokenVerifierCallback("stop", window=8)
    funcs = [guard.watch(function), differing] if function is silent else guard.watch_all([function])
    trainer = make_trainer(policy, tmp_path, funcs, [guard], max_steps=10)
    assert trainer.reward_func_names[0] == function.__name__
    with pytest.warns(RewardAlarm, match=figures):
        trainer.train()
    assert trainer.state.global_step == 2, "two steps of four completions fill the window"
    assert len(guard.messages) == 1
    assert f"the rewards of {function.__name__} look broken: {figures}" in guard.messages[0]
    assert "sample completion: '" in guard.messages[0]
    assert logged(trainer, "reward_alarms") == [0, 1]


def test_our_own_alarm_is_heard(policy: Path, tmp_path: Path) -> None:
    reward = MathReward(alarm=BrokenVerifierAlarm(window=8, name="math_reward"))
    guard = watch.BrokenVerifierCallback("raise")
    assert guard.watch_all([reward, differing])[0] is reward
    assert list(guard.alarms) == ["math_reward", "differing"]
    trainer = make_trainer(policy, tmp_path, [reward], [guard], max_steps=10)
    with (
        pytest.warns(RewardAlarm, match="8 UNREADABLE"),
        pytest.raises(RewardError, match="step 2: math_reward look broken: of the last 8 completions"),
    ):
        trainer.train()


def test_a_warning_alone_does_not_stop(policy: Path, tmp_path: Path) -> None:
    guard = watch.BrokenVerifierCallback(window=8)
    trainer = make_trainer(policy, tmp_path, guard.watch_all([constant]), [guard], max_steps=4)
    with pytest.warns(RewardAlarm, match="look broken"):
        trainer.train()
    assert trainer.state.global_step == 4
    assert len(guard.messages) == 1, "told once while it lasts"


def test_what_was_told_is_not_told_again_after_a_resume(policy: Path, tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    first = watch.BrokenVerifierCallback(window=8)
    with pytest.warns(RewardAlarm):
        make_trainer(policy, tmp_path, first.watch_all([constant]), [first], max_steps=2, **saving).train()
    second = watch.BrokenVerifierCallback("stop", window=8)
    trainer = make_trainer(policy, tmp_path, second.watch_all([constant]), [second], max_steps=4, **saving)
    trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert trainer.state.global_step == 4
    assert second.messages == first.messages
    assert logged(trainer, "reward_alarms") == [0, 1, 1, 1]


def test_groups_without_a_difference_are_told() -> None:
    guard = watch.BrokenVerifierCallback(dead_logs=3)
    dead, alive = {"loss": 0.0, "frac_reward_zero_std": 1.0}, {"loss": 0.0, "frac_reward_zero_std": 0.5}
    with pytest.warns(RewardAlarm, match="in 3 logs in a row no group had two completions with different rewards"):
        events(guard, [dict(one) for one in (dead, dead, alive, dead, dead, dead, dead)])
    assert len(guard.messages) == 1
    quiet = watch.BrokenVerifierCallback(dead_logs=0)
    events(quiet, [dict(dead) for _ in range(50)])
    assert quiet.messages == []


def test_plain_alarms_tell_once_and_again_after_an_end() -> None:
    alarm = watch.PlainAlarm("rewards", 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = [alarm.observe([reward], ["text"]) is not None for reward in [1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1]]
    assert told == [False] * 3 + [True] + [False] * 6 + [True]


def test_async_functions_stay_async() -> None:
    async def slow(completions: list[str], **_: Any) -> list[float]:
        return [1.0] * len(completions)

    watched = watch.BrokenVerifierCallback().watch(slow)
    assert trl.trainer.utils.is_async_callable(watched)
    assert watched.__name__ == "slow"
    import asyncio  # noqa: PLC0415

    assert asyncio.run(watched(completions=["a", "b"])) == [1.0, 1.0]


def test_what_a_function_says_of_itself_is_kept() -> None:
    reward = MathReward()
    watched = watch.BrokenVerifierCallback().watch(reward)
    (one,) = watched.begin(completions=["\\boxed{4}"], answer=["4"])
    assert watched.any_thread
    assert one.result().score == 1.0
    assert not hasattr(watch.BrokenVerifierCallback().watch(lambda completions, **_: [0.0]), "begin")


def test_step_rewards_are_watched() -> None:
    def steps(completions: list[str], **_: Any) -> list[Any]:
        return [[(0, 1.0), (3, 1.0)], None]

    guard = watch.BrokenVerifierCallback(window=2)
    watched = guard.watch_steps(steps)
    with pytest.warns(RewardAlarm, match="the step rewards of steps look broken: the last 16 are all 1"):
        for _ in range(8):
            assert watched(completions=["a", "b"]) == steps(["a", "b"])


@pytest.mark.parametrize("returned", [None, 1.0, ["right"], [[1.0]], [[("a", "b")]], [[(0, 1.0, 2)]]])
def test_what_is_no_reward_is_left_to_the_trainer_to_name(returned: Any) -> None:
    guard = watch.BrokenVerifierCallback()
    assert guard.watch_all([lambda **_: returned])[0](completions=["a"]) == returned
    assert guard.watch_steps(lambda **_: returned)(completions=["a"]) == returned
    assert guard.messages == []


def test_rewards_that_can_be_read_once_reach_the_trainer() -> None:
    guard = watch.BrokenVerifierCallback()
    steps = guard.watch_steps(lambda **_: [zip([0, 3], [1.0, None], strict=True), None])(completions=["a", "b"])
    assert [one and list(one) for one in steps] == [[(0, 1.0), (3, None)], None]
    assert list(guard.watch(lambda **_: iter([1.0, None]))(completions=["a", "b"])) == [1.0, None]


def test_reward_models_are_left_alone() -> None:
    guard, module = watch.BrokenVerifierCallback(), torch.nn.Linear(1, 1)
    assert guard.watch_all(["some/reward-model", module]) == ["some/reward-model", module]
    assert guard.alarms == {}


@pytest.mark.parametrize("settings", [{"action": "panic"}, {"window": 1}, {"dead_logs": -1}])
def test_the_alarms_settings_are_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected action=|expected window >= 2"):
        watch.BrokenVerifierCallback(**settings)
