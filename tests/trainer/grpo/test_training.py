"""What reaches TRL's loss and TRL's logs when steps count."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, chats, every_third, losses, questions, scripted, varied

torch = pytest.importorskip("torch")
from markscheme.trainer import credit, reporting  # noqa: E402

pytestmark = MARKS


def batch(trainer: Any) -> dict[str, Any]:
    """What TRL would train on next, before it is shuffled."""
    rows = next(iter(trainer.get_train_dataloader()))
    return trainer._generate_and_score_completions(rows)


def lists(trainer: Any, output: dict[str, Any]) -> tuple[list[list[int]], list[list[float | None]], list[list[int]]]:
    ids = [
        row[mask.bool()].tolist() for row, mask in zip(output["completion_ids"], output["completion_mask"], strict=True)
    ]
    steps = every_third(ids)
    return ids, [[r for _, r in row] for row in steps], [[e for e, _ in row] for row in steps]


@pytest.mark.parametrize("form", ["sum", "min", "delta", "clip"])
def test_process_advantages_are_those_of_credit(policy: Path, tmp_path: Path, form: str) -> None:
    trainer = build(
        policy, tmp_path, supervision="process", credit=form, step_reward_func=every_third, rollout_func=scripted
    )
    output = batch(trainer)
    _, rewards, ends = lists(trainer, output)
    expected = credit.process_advantages(rewards, ends, 4, output["completion_ids"].size(1), credit=form)  # type: ignore[arg-type]
    assert output["advantages"].shape == output["completion_ids"].shape and expected.abs().max() > 0.1
    assert torch.equal(output["advantages"], expected)


def test_the_settings_reach_credit(policy: Path, tmp_path: Path) -> None:
    given = {"supervision": "process", "step_reward_func": every_third, "rollout_func": scripted}
    plain = batch(build(policy, tmp_path, **given, scale_rewards="none"))
    _, rewards, ends = lists(None, plain)
    length = plain["completion_ids"].size(1)
    centred = credit.process_advantages(rewards, ends, 4, length, std="none")
    assert torch.equal(plain["advantages"], centred)
    baseline = batch(build(policy, tmp_path, **given, step_baseline=True, step_std="population"))
    process = credit.process_advantages(rewards, ends, 4, length, std="population")
    assert torch.equal(baseline["advantages"], process - credit.step_count_baseline(process, rewards, ends))
    tempered = batch(build(policy, tmp_path, **given, credit="min", min_tau=1.0))
    assert torch.equal(
        tempered["advantages"], credit.process_advantages(rewards, ends, 4, length, credit="min", tau=1.0)
    )
    clipped = batch(build(policy, tmp_path, **given, credit="clip", clip_eta=0.25))
    assert torch.equal(
        clipped["advantages"], credit.process_advantages(rewards, ends, 4, length, credit="clip", eta=0.25)
    )


def test_first_error_places_the_outcomes_advantage(policy: Path, tmp_path: Path) -> None:
    options = {"prefix_credit": 0.25, "flawed_weight": 0.1}
    trainer = build(
        policy,
        tmp_path,
        supervision="process",
        credit="first_error",
        error_threshold=0.4,
        step_reward_func=every_third,
        rollout_func=scripted,
        **options,
    )
    output = batch(trainer)
    ids, rewards, ends = lists(trainer, output)
    outcome = torch.tensor(varied(ids))
    length = output["completion_ids"].size(1)
    expected = credit.first_error_advantages(outcome, rewards, ends, 4, length, threshold=0.4, **options)
    assert torch.equal(output["advantages"], expected)
    assert len(expected.unique()) > 4


def test_both_is_the_weighted_sum_with_trls_own_outcome(policy: Path, tmp_path: Path) -> None:
    given = {"step_reward_func": every_third, "rollout_func": scripted}
    outcome = batch(build(policy, tmp_path, **given))["advantages"]
    process = batch(build(policy, tmp_path, supervision="process", **given))["advantages"]
    weights = {"outcome_weight": 0.5, "process_weight": 2.0}
    both = batch(build(policy, tmp_path, supervision="both", **weights, **given))
    expected = (0.5 * outcome.unsqueeze(1) + 2 * process) * both["completion_mask"]
    assert torch.allclose(both["advantages"], expected, atol=1e-6)


def test_a_constant_group_gets_exact_zero_where_trl_leaves_a_rest(policy: Path, tmp_path: Path) -> None:
    def constant(prompts: list[Any], **_: Any) -> list[float]:
        return [0.7] * len(prompts)

    given = {"reward_funcs": constant, "rollout_func": scripted, "num_generations": 8}
    rest = batch(build(policy, tmp_path, **given))["advantages"]
    assert 0 < rest.abs().max() < 1e-3  # TRL's, untouched
    culling = build(policy, tmp_path, cull_zero_variance=True, **given)
    assert not batch(culling)["advantages"].any()
    assert set(culling._logs["advantages"]) == {0.0}


def test_rewards_normalised_apart_are_equal_only_one_by_one(policy: Path, tmp_path: Path) -> None:
    """2·[0, 1, …] + [0, -2, …] is constant; normalised first, the two do not cancel. A constant group has TRL's 0."""

    def teaches(number: list[int]) -> list[float]:
        return [float(row % 2) if n % 2 else 0.5 for row, n in enumerate(number)]

    given = {
        "reward_funcs": [lambda number, **_: teaches(number), lambda number, **_: [-2 * r for r in teaches(number)]],
        "reward_weights": [2.0, 1.0],
        "multi_objective_aggregation": "normalize_then_sum",
        "rollout_func": scripted,
        "shuffle_dataset": False,
    }
    theirs = batch(build(policy, tmp_path, **given))["advantages"]
    trainer = build(policy, tmp_path, cull_zero_variance=True, cull_inexact=True, **given)
    assert torch.equal(batch(trainer)["advantages"], theirs)
    assert theirs.abs().gt(0.5).tolist() == [False] * 4 + [True] * 4
    trainer = build(policy, tmp_path, cull_zero_variance=True, cull_inexact=True, max_steps=1, **given)
    trainer.train()
    assert trainer.state.log_history[0]["groups/zero_variance_frac"] == 0.5


def test_the_table_of_completions_holds_the_steps(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pandas = pytest.importorskip("pandas")

    def steps(completion_ids: list[list[int]], **_: Any) -> Any:
        return [None if row == 1 else [(0, 0.5), (1, None)] for row, _ in enumerate(completion_ids)]

    trainer = build(
        policy,
        tmp_path,
        supervision="process",
        step_reward_func=steps,
        rollout_func=scripted,
        log_completions=True,
        max_steps=1,
    )
    trainer.train()
    table = pandas.read_parquet(tmp_path / "completions" / "completions_00001.parquet")
    assert table["step_count"].tolist() == [2, 0] + [2] * 6
    assert [json.loads(text) for text in table["step_rewards"][:2]] == [[0.5, None], []]
    assert [json.loads(text) for text in table["step_ends"][:2]] == [[0, 1], []]
    assert [len(json.loads(text)) for text in table["step_advantages"][:2]] == [2, 0]
    assert table["advantage"].tolist() == [0.0] * 8  # every step has the same reward
    assert "step_c" in capsys.readouterr().out


def test_metrics_say_what_the_steps_were(policy: Path, tmp_path: Path) -> None:
    def steps(completion_ids: list[list[int]], **_: Any) -> Any:
        return [[(0, 1.0), (1, 0.0)] if row % 2 else None for row, _ in enumerate(completion_ids)]

    trainer = build(
        policy,
        tmp_path,
        supervision="process",
        step_reward_func=steps,
        rollout_func=scripted,
        reward_funcs=lambda number, **_: [float(n % 2) for n in number],
        cull_zero_variance=True,
        max_steps=1,
    )
    trainer.train()
    logged = trainer.state.log_history[0]
    assert logged["groups/zero_variance_frac"] == 1.0  # rewards are a prompt's, so equal in its group
    assert logged["groups/culled_frac"] == 0.5  # completions without steps have no advantage
    assert (logged["steps/count"], logged["steps/length"], logged["steps/unscored_frac"]) == (1.0, 1.0, 0.5)
    assert logged["rewards/process/mean"] == 0.5
    assert logged["rewards/outcome/mean"] == logged["reward"]


def test_logged_advantages_are_means_over_the_tokens(policy: Path, tmp_path: Path) -> None:
    trainer = build(policy, tmp_path, supervision="process", step_reward_func=every_third, rollout_func=scripted)
    output = batch(trainer)
    mask = output["completion_mask"]
    means = (output["advantages"] * mask).sum(1) / mask.sum(1)
    assert list(trainer._logs["advantages"]) == pytest.approx(means.tolist())
    batch(trainer)
    assert len(trainer._logs["advantages"]) == 8  # as long as TRL keeps it


def half_cut_off(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    """Completions of which every other one does not come to its end."""
    rollout = scripted(prompts, trainer)
    end = trainer.processing_class.eos_token_id
    for row, ids in enumerate(rollout["completion_ids"]):
        ids[-1] = ids[0] if row % 2 else end
    return rollout


ARMS: dict[str, dict[str, Any]] = {
    "accumulated": {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 4},
    "reused": {"num_iterations": 2, "steps_per_generation": 2, "max_steps": 4},
    "culled": {"cull_zero_variance": True, "loss_type": "dr_grpo", "scale_rewards": "none"},
    "kl": {"beta": 0.04, "loss_type": "grpo", "num_iterations": 2},
    "chats": {"train_dataset": chats(8)},
    "truncated": {"mask_truncated_completions": True, "cull_zero_variance": True, "rollout_func": half_cut_off},
    "evaluated": {
        "eval_dataset": questions(4),
        "eval_strategy": "steps",
        "eval_steps": 1,
        "num_generations_eval": 2,
        "cull_zero_variance": True,
    },
    "padded": {"pad_to_multiple_of": 8, "cull_zero_variance": True},
    "several": {"reward_funcs": [varied, lambda prompts, **_: [None] * len(prompts)], "reward_weights": [1.0, 2.0]},
}


@pytest.mark.filterwarnings("ignore:All reward functions returned None")
@pytest.mark.parametrize(
    ("arm", "supervision"), [*((arm, "process") for arm in ARMS), ("kl", "both"), ("evaluated", "both")]
)
def test_it_trains(policy: Path, tmp_path: Path, arm: str, supervision: str) -> None:
    trainer = build(policy, tmp_path, supervision=supervision, step_reward_func=every_third, **ARMS[arm])
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.train()
    assert len(losses(trainer)) == trainer.args.max_steps and all(math.isfinite(loss) for loss in losses(trainer))
    assert any(not torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))
    if arm == "truncated":
        assert trainer.state.log_history[0]["completions/clipped_ratio"] == 0.5
    if arm == "evaluated":
        evaluated = [entry for entry in trainer.state.log_history if "eval_loss" in entry]
        assert len(evaluated) == 2 and evaluated[0]["eval_steps/count"] > 0
    if arm == "several":
        assert trainer.state.log_history[0]["rewards/outcome/mean"] == trainer.state.log_history[0]["reward"]


def test_an_adapter_trains_alone(policy: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    trainer = build(
        policy,
        tmp_path,
        supervision="process",
        step_reward_func=every_third,
        peft_config=peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
        cull_zero_variance=True,
        rollout_func=scripted,
    )
    before = {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}
    trainer.train()
    moved = {name for name, p in trainer.model.named_parameters() if not torch.equal(before[name], p)}
    assert moved and all("lora" in name for name in moved)


def test_steps_from_the_rollout_function(policy: Path, tmp_path: Path) -> None:
    def rollout(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        output = scripted(prompts, trainer)
        return {**output, "step_scores": every_third(output["completion_ids"])}

    given = {"supervision": "process", "num_generations": 4}
    field = batch(build(policy, tmp_path, step_reward_func="step_scores", rollout_func=rollout, **given))
    function = batch(build(policy, tmp_path, step_reward_func=every_third, rollout_func=scripted, **given))
    assert torch.equal(field["advantages"], function["advantages"])


def test_a_batch_whose_steps_have_no_reward_warns_once(
    policy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def none(completion_ids: list[list[int]], **_: Any) -> Any:
        return [[(0, None)] for _ in completion_ids]

    type(reporting.logger).warning_once.cache_clear()
    trainer = build(policy, tmp_path, supervision="process", step_reward_func=none, rollout_func=scripted)
    trainer.train()
    assert losses(trainer) == [0.0, 0.0]
    assert sum("No step of a whole batch has a reward" in record.message for record in caplog.records) == 1
