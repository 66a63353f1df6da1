"""Dynamic sampling: fresh prompts stand where groups were that teach nothing, as if they had been drawn at once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, chats, every_third, losses, questions, scripted, trl, varied

from markscheme.trainer.refill import Prompts  # isort: skip
from markscheme.verifiers.errors import RewardError, TrainerConfigError  # isort: skip

torch = pytest.importorskip("torch")
pytestmark = MARKS


def small_numbers_are_dead(completion_ids: Any, number: list[int], **_: Any) -> list[float]:
    """Groups differ for the numbers from 3 on."""
    return [0.7 if n < 3 else sum(ids) % 7 / 6 for ids, n in zip(completion_ids, number, strict=True)]


def all_dead(completion_ids: Any, **_: Any) -> list[float]:
    return [0.7] * len(completion_ids)


def telling(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    """A rollout function with everything that one may return."""
    made = scripted(prompts, trainer)
    return made | {
        "told": [f"told {prompt}" for prompt in prompts],
        "env_mask": [[1] * (len(ids) - 1) + [0] for ids in made["completion_ids"]],
        "common": 5,
    }


class Seen:
    """What the trainer made of its batches, and how many completions each generation had."""

    def __init__(self, trainer: Any) -> None:
        self.batches: list[dict[str, Any]] = []
        self.generated: list[int] = []
        score, generate = trainer._generate_and_score_completions, trl.GRPOTrainer._generate

        def scoring(inputs: Any) -> Any:
            output = score(inputs)
            self.batches.append(output)
            return output

        def counting(of: Any, prompts: list[Any]) -> Any:
            self.generated.append(len(prompts))
            return generate(of, prompts)

        trainer._generate_and_score_completions = scoring
        self.patch = counting


def run(policy: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, **given: Any) -> tuple[Any, Seen]:
    base: dict[str, Any] = {
        "reward_funcs": small_numbers_are_dead,
        "shuffle_dataset": False,
        "refill_rounds": 3,
        "log_completions": True,
        "max_steps": 1,
        "per_device_train_batch_size": 16,
    }
    trainer = build(policy, folder, **(base | given))
    seen = Seen(trainer)
    monkeypatch.setattr(trl.GRPOTrainer, "_generate", seen.patch)
    trainer.train()
    return trainer, seen


def test_dead_groups_give_way_to_fresh_prompts(policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, seen = run(policy, tmp_path, monkeypatch, supervision="both", step_reward_func=every_third)
    entry = trainer.state.log_history[0]
    assert seen.generated == [16, 12]  # the numbers 0, 1 and 2 were dead; 3 stays
    assert (entry["refill/rounds"], entry["refill/prompts"], entry["refill/live_frac"]) == (1, 3, 1.0)
    assert entry["groups/zero_variance_frac"] == 0.0 == entry["frac_reward_zero_std"]
    prompts = list(trainer._logs["prompt"])
    assert prompts[12:] == ["3+3="] * 4 and not {"0+0=", "1+1=", "2+2=", "3+3="} & {*prompts[:12]}
    assert all(len({*prompts[n : n + 4]}) == 1 for n in range(0, 16, 4)) and len({*prompts}) == 4
    (batch,) = seen.batches
    texts = trainer.processing_class.batch_decode(batch["prompt_ids"], skip_special_tokens=True)
    assert texts == prompts  # the tensors are of the prompts that the table shows
    rows = [
        ids[mask.bool()].tolist() for ids, mask in zip(batch["completion_ids"], batch["completion_mask"], strict=True)
    ]
    rewards = [sum(ids) % 7 / 6 for ids in rows]
    assert list(trainer._logs["rewards"]["small_numbers_are_dead"]) == pytest.approx(rewards)
    assert list(trainer._logs["extra"]["step_count"]) == [len(every_third([ids])[0]) for ids in rows]
    assert (
        len(trainer._logs["extra"]["step_advantages"]) == 16
        and batch["advantages"].shape == batch["completion_ids"].shape
    )


def test_a_refilled_batch_is_the_batch_of_those_prompts(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss is that of TRL on the same completions: nothing of the replaced groups is left in the tensors."""
    given = {"rollout_func": telling, "beta": 0.04, "num_iterations": 2}
    trainer, seen = run(policy, tmp_path, monkeypatch, **given)
    (batch,) = seen.batches
    mask = batch["tool_mask"] * batch["completion_mask"]
    lengths = batch["completion_mask"].sum(1)
    assert int(batch["num_items_in_batch"]) == int(mask.sum()) == int((lengths - 1).sum())
    assert batch["completion_ids"].shape[1] == int(lengths.max()) == batch["ref_per_token_logps"].shape[1]
    expected = trl.GRPOTrainer._get_per_token_logps_and_entropies(
        trainer,
        trainer.ref_model,
        torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1),
        torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1),
        batch["completion_ids"].size(1),
    )[0]
    scored = batch["completion_mask"].bool()
    assert torch.allclose(batch["ref_per_token_logps"][scored], expected[scored], atol=1e-5)
    rewards = torch.tensor(list(trainer._logs["rewards"]["small_numbers_are_dead"])).view(-1, 4)
    wanted = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
    assert torch.allclose(batch["advantages"].view(-1, 4), wanted, atol=1e-5)


def test_columns_fields_and_logs_go_with_their_completion(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def reading(
        prompts: Any, completion_ids: Any, number: Any, told: Any, common: Any, log_extra: Any, **_: Any
    ) -> Any:
        asked.extend(zip(prompts, told, number, common, strict=True))
        log_extra("number", list(number))
        log_extra("first", [ids[0] for ids in completion_ids])
        return small_numbers_are_dead(completion_ids, number)

    trainer, seen = run(policy, tmp_path, monkeypatch, reward_funcs=reading, rollout_func=telling)
    assert all((told, common) == (f"told {prompt}", 5) and prompt == f"{n}+{n}=" for prompt, told, n, common in asked)
    extra = trainer._logs["extra"]
    assert [f"{n}+{n}=" for n in extra["number"]] == list(trainer._logs["prompt"])
    assert list(extra["first"]) == seen.batches[0]["completion_ids"][:, 0].tolist()
    assert len(asked) == sum(seen.generated)  # nothing is scored twice


def test_it_ends_with_the_rounds_or_with_the_prompts(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"reward_funcs": all_dead, "refill_rounds": 2}
    trainer, seen = run(policy, tmp_path / "rounds", monkeypatch, **given)
    entry = trainer.state.log_history[0]
    assert seen.generated == [16, 16, 16]
    assert (entry["refill/rounds"], entry["refill/prompts"], entry["refill/live_frac"]) == (2, 8, 0.0)
    monkeypatch.undo()
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    trainer, seen = run(policy, tmp_path / "prompts", monkeypatch, **given, train_dataset=questions(5))
    entry = trainer.state.log_history[0]
    assert seen.generated == [16, 4] and (entry["refill/rounds"], entry["refill/prompts"]) == (1, 1)


def test_a_function_can_be_named_that_decides(policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [varied, small_numbers_are_dead]
    _, seen = run(policy, tmp_path / "sum", monkeypatch, reward_funcs=functions)
    assert seen.generated == [16]
    monkeypatch.undo()
    _, seen = run(policy, tmp_path / "named", monkeypatch, reward_funcs=functions, refill_on="small_numbers_are_dead")
    assert seen.generated == [16, 12]


def test_off_is_trls_and_evaluation_is_left_alone(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, seen = run(policy, tmp_path, monkeypatch, refill_rounds=0)
    assert seen.generated == [16] and "refill/rounds" not in trainer.state.log_history[0]
    trainer.args.refill_rounds = 3
    trainer.evaluate(questions(2))
    assert seen.generated == [16, 8]


def test_chats_overlap_and_culling_go_with_it(policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def long(completions: Any, completion_ids: Any, prompts: Any, log_extra: Any, **_: Any) -> list[float]:
        assert all(c[0]["role"] == "assistant" for c in completions)
        log_extra("asked", [p[0]["content"] for p in prompts])
        return [
            0.5 if p[0]["content"] in ("0+0=", "1+1=") else sum(i) % 7
            for p, i in zip(prompts, completion_ids, strict=True)
        ]

    given = {"train_dataset": chats(12), "cull_zero_variance": True, "overlap_rewards": "all"}
    trainer, seen = run(policy, tmp_path, monkeypatch, reward_funcs=long, **given)
    assert seen.generated == [16, 8]
    contents = list(trainer._logs["extra"]["asked"])
    assert contents[8:] == ["2+2="] * 4 + ["3+3="] * 4 and not {"0+0=", "1+1="} & {*contents}


def test_a_run_taken_up_again_draws_the_same_prompts(policy: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "reward_funcs": small_numbers_are_dead,
        "refill_rounds": 2,
        "save_strategy": "steps",
        "save_steps": 1,
        "max_steps": 4,
        "per_device_train_batch_size": 4,
        "steps_per_generation": 2,
        "max_completion_length": 4,
        "log_completions": True,
        "train_dataset": questions(9),
    }
    whole = build(policy, tmp_path / "whole", **given)
    whole.train()
    assert whole._prompts.drawn > 0
    for step in (1, 2, 3):
        checkpoint = shutil.copytree(
            tmp_path / "whole" / f"checkpoint-{step}", tmp_path / str(step) / f"checkpoint-{step}"
        )
        again = build(policy, tmp_path / str(step), **(given | {"save_strategy": "no"}))
        again.train(resume_from_checkpoint=str(checkpoint))
        assert losses(again) == losses(whole) and again._prompts.drawn == whole._prompts.drawn
        later = list(again._logs["prompt"])
        assert not later or list(whole._logs["prompt"])[-len(later) :] == later


def test_every_prompt_comes_before_any_comes_again() -> None:
    source = Prompts(questions(6), seed=3)
    first = [source.draw(2, set()) for _ in range(6)]
    numbers = [row["number"] for two in first for row in two]
    assert sorted(numbers[:6]) == sorted(numbers[6:]) == list(range(6)) and numbers[:6] != numbers[6:]
    again = Prompts(questions(6), seed=3)
    again.drawn = 4
    assert [row["number"] for row in again.draw(2, set())] == numbers[4:6]
    taken = {repr(f"{n}+{n}=") for n in range(5)}
    assert [row["number"] for row in again.draw(3, taken)] == [5] and again.draw(1, taken) == []
    assert Prompts(questions(6), seed=4).draw(6, set()) != Prompts(questions(6), seed=3).draw(6, set())


def stream() -> Any:
    return questions(8).to_iterable_dataset()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"train_dataset": stream}, "a IterableDataset, from which a resumed run cannot draw the same prompts"),
        ({"refill_on": "correct"}, "refill_on='correct': the reward functions are small_numbers_are_dead"),
        ({"tools": True}, "does not work with tools or environments, whose state belongs to the prompts"),
    ],
)
def test_what_cannot_be_right_is_refused(
    policy: Path, tmp_path: Path, given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {key: value() if callable(value) else value for key, value in given.items()}
    if given.pop("tools", False):  # a tokenizer that renders tools is more than this test needs
        made = trl.GRPOTrainer.__init__
        monkeypatch.setattr(
            trl.GRPOTrainer, "__init__", lambda t, *a, **k: (made(t, *a, **k), setattr(t, "tools", [max]))[0]
        )
    with pytest.raises(TrainerConfigError, match=message):
        build(policy, tmp_path, reward_funcs=small_numbers_are_dead, refill_rounds=1, **given)


def test_columns_that_cannot_be_told_apart_are_an_error(policy: Path, tmp_path: Path) -> None:
    def logging(completion_ids: Any, log_extra: Any, **_: Any) -> list[float]:
        log_extra("one", [1])
        return varied(completion_ids)

    message = (
        "a reward function logged the column 'one' with 1 values for 8 completions: with refill_rounds it must have"
    )
    trainer = build(policy, tmp_path, reward_funcs=logging, refill_rounds=1)
    with pytest.raises(RewardError, match=message):
        trainer.train()
    assert trainer._pending_extra_logs == {} and trainer._batch is None
