"""Faults of reward functions are named: the function, the row, the fix."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, every_third, scripted

from markscheme.trainer.collect import (  # isort: skip
    Steps,
    check_groups,
    check_model_rewards,
    collect_step_rewards,
    is_async,
    name_of,
    named,
)
from markscheme.verifiers.errors import RewardError, StepRewardError  # isort: skip

pytestmark = MARKS

INPUTS: list[dict[str, Any]] = [{"prompt": "1+1=", "answer": "2"}, {"prompt": "2+2=", "answer": "4"}]
BATCH: dict[str, Any] = {
    "prompts": ["1+1=", "2+2="],
    "completions": ["2", "four"],
    "completion_ids": [[5, 6, 7], [5, 6, 7, 8, 1]],
}


def collect(returned: Any) -> list[Steps]:
    return collect_step_rewards(lambda **_: returned, INPUTS, **BATCH)


def test_steps_come_back_as_given() -> None:
    assert collect([None, [(1, 0.5), [3, None], (4, True)]]) == [Steps([], []), Steps([1, 3, 4], [0.5, None, 1.0])]
    assert collect(([], ((2, 1),)[:0])) == [Steps([], []), Steps([], [])]


def test_the_function_is_called_as_trl_calls_reward_functions() -> None:
    def function(
        prompts: list[str], completions: list[str], completion_ids: Any, answer: list[str], **more: Any
    ) -> Any:
        assert (prompts, completions, answer) == (BATCH["prompts"], BATCH["completions"], ["2", "4"])
        assert more == {"trainer_state": 7}
        return [[(len(ids) - 1, 1.0)] for ids in completion_ids]

    assert collect_step_rewards(function, INPUTS, **BATCH, trainer_state=7)[1] == Steps([4], [1.0])


def test_an_async_function_is_waited_for_inside_a_running_loop() -> None:
    async def function(completion_ids: Any, **_: Any) -> Any:
        await asyncio.sleep(0)
        return [[(0, 0.0)] for _ in completion_ids]

    async def notebook() -> list[Steps]:
        return collect_step_rewards(function, INPUTS, **BATCH)

    assert asyncio.run(notebook()) == [Steps([0], [0.0])] * 2


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, r"the step rewards of <lambda> are NoneType, but there are 2 completions: return one list"),
        ([[]], "are 1 entries, but there are 2 completions"),
        ([[], 0.5], r"row 1 of the batch \(prompt '2\+2='\): expected a list of \(index, reward\) or None, got 0.5"),
        ([[], "none"], "row 1 .*got 'none'"),
        ([[], [0.5, 1.0]], r"row 1 .*, step 0: expected \(index of its last token, reward or None\), got 0.5"),
        ([[(1.0, 1.0)], []], r"row 0 .*, step 0: expected .* got \(1.0, 1.0\)"),
        ([[], [(0, "right")]], r"row 1 .*, step 0: expected .* got \(0, 'right'\)"),
        ([[], [(1, 1.0), (5, 1.0)]], r"row 1 .*, step 1: its last token has index 5, expected 2 … 4 \(0-based in the"),
        ([[(3, 1.0)], []], r"row 0 .*, step 0: its last token has index 3, expected 0 … 2"),
        ([[(-1, 1.0)], []], "row 0 .*, step 0: its last token has index -1, expected 0 … 2"),
        ([[(1, 1.0), (1, 1.0)], []], "row 0 .*, step 1: its last token has index 1, expected 2 … 2"),
        ([[], [(0, 1.0), (1, float("nan"))]], "row 1 .*, step 1: the reward is nan; return None for a step without"),
        ([[(0, float("inf"))], []], "row 0 .*, step 0: the reward is inf"),
    ],
)
def test_what_cannot_be_used_is_named_with_row_step_and_fix(returned: Any, message: str) -> None:
    with pytest.raises(StepRewardError, match=message):
        collect(returned)


def test_steps_from_a_field_of_the_rollouts() -> None:
    inputs = [{**row, "steps": [(0, 1.0)]} for row in INPUTS]
    assert collect_step_rewards("steps", inputs, **BATCH) == [Steps([0], [1.0])] * 2
    del inputs[1]["steps"]
    with pytest.raises(StepRewardError, match=r"missing: row 1 .* no field 'steps' \(fields: answer, prompt\)"):
        collect_step_rewards("steps", inputs, **BATCH)


def reading(answer: list[str], **_: Any) -> list[float]:
    return [float({"2": 1.0}[text]) for text in answer]


async def reading_async(answer: list[str], **_: Any) -> list[float]:
    return reading(answer)


@pytest.mark.parametrize("function", [reading, reading_async])
def test_a_function_that_raises_keeps_its_error_and_is_named_with_its_row(function: Any) -> None:
    batch = {**BATCH, "answer": ["2", "4"]}
    with pytest.raises(KeyError, match="4") as caught:
        result = named(function)(**batch)
        asyncio.run(result)
    (note,) = caught.value.__notes__
    assert note.startswith(f"Reward function '{function.__name__}' raised on row 1 of the batch (prompt '2+2=').")
    assert note.endswith("Mend it, or return None for what it cannot score.")
    with pytest.raises(KeyError, match="on row 1 of the batch"):
        collect_step_rewards(function, INPUTS, **BATCH)


def test_a_function_that_raises_on_the_whole_batch_only() -> None:
    def function(prompts: list[str], **_: Any) -> list[float]:
        if len(prompts) > 1:
            raise RuntimeError("one at a time")
        return [1.0]

    with pytest.raises(RuntimeError, match="raised on the whole batch, but on none of its rows alone"):
        named(function)(**BATCH)


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_rewards_that_are_no_numbers_are_named(value: float) -> None:
    function = named(lambda **_: [None, value], "mine", finite=True)
    with pytest.raises(RewardError, match=rf"'mine' returned {value} for row 1 .*return None for a completion"):
        function(**BATCH)
    assert named(lambda **_: (None, 1), "mine", finite=True)(**BATCH) == [None, 1]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "'mine' returned NoneType for 2 completions: return a list with one number, or None, for each"),
        ("ab", "'mine' returned str for 2 completions"),
        (["0.5", 1.0], r"'mine' returned '0.5' for row 0 .*expected a finite number; return None"),
        ([None, [1.0]], r"'mine' returned \[1.0\] for row 1 "),
    ],
)
def test_rewards_that_are_no_list_of_numbers_are_named(returned: Any, message: str) -> None:
    with pytest.raises(RewardError, match=message):
        named(lambda **_: returned, "mine", finite=True)(**BATCH)


def test_reward_models_must_give_numbers() -> None:
    torch = pytest.importorskip("torch")
    functions, names = [torch.nn.Linear(1, 1), len], ["judge", "len"]
    check_model_rewards(torch.tensor([[0.5, float("nan")], [1.0, 0.0]]), functions, names)  # a function's None is NaN
    with pytest.raises(RewardError, match=r"model 'judge' gave inf for completion 1 of all ranks' 3 \(and 1 more\)"):
        check_model_rewards(torch.tensor([[0.5, 0.0], [float("inf"), 0.0], [float("nan"), 0.0]]), functions, names)


def test_groups_that_are_not_whole() -> None:
    check_groups(6, 6, group_size=4, ranks=2)
    with pytest.raises(RewardError, match="returned 5 completions for 6 prompts"):
        check_groups(6, 5, group_size=4, ranks=2)
    with pytest.raises(RewardError, match=r"6 completions on 1 rank\(s\) do not make groups of 4"):
        check_groups(6, 6, group_size=4, ranks=1)


class Async:
    async def __call__(self, **_: Any) -> list[float]:
        return [1.0]


class Sync:
    def __call__(self, **_: Any) -> list[float]:
        return [1.0]


@pytest.mark.parametrize(
    ("function", "name", "waits"),
    [
        (reading, "reading", False),
        (reading_async, "reading_async", True),
        (functools.partial(functools.partial(reading_async), more=1), "reading_async", True),
        (functools.partial(Sync()), "Sync", False),
        (Async(), "Async", True),
    ],
)
def test_functions_are_told_apart_as_trl_does(function: Any, name: str, *, waits: bool) -> None:
    utils = pytest.importorskip("trl.trainer.utils")
    assert (name_of(function), is_async(function)) == (name, waits)
    assert (utils.get_callable_name(function), utils.is_async_callable(function)) == (name, waits)


# -- the same, inside a training run -----------------------------------------------------------------------------------


def test_a_reward_model_without_a_number_stops_the_run(policy: Path, tmp_path: Path) -> None:
    """TRL takes NaN for None, and trains on with losses of 0."""
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(policy, num_labels=1)
    model.score.weight.data.fill_(float("nan"))
    trainer = build(policy, tmp_path, reward_funcs=[model], max_steps=1)
    with pytest.raises(
        RewardError, match=r"gave nan for completion 0 of all ranks' 8 \(and 7 more\): load it in float"
    ):
        trainer.train()


def short_rollout(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    return {key: values[:-1] for key, values in scripted(prompts, trainer).items()}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"step_reward_func": lambda **_: None}, StepRewardError, "are NoneType, but there are 8 completions"),
        (
            {"step_reward_func": lambda completion_ids, **_: [[(99, 1.0)] for _ in completion_ids]},
            StepRewardError,
            "row 0 .*, step 0: its last token has index 99",
        ),
        ({"step_reward_func": "steps"}, StepRewardError, "step rewards are missing: row 0"),
        ({"reward_funcs": lambda prompts, **_: [float("nan")] * len(prompts)}, RewardError, "returned nan for row 0"),
        ({"reward_funcs": reading}, TypeError, "raised on row 0 of the batch"),
        ({"rollout_func": short_rollout}, RewardError, "returned 7 completions for 8 prompts"),
    ],
    ids=["none", "index", "field", "nan", "raises", "group"],
)
def test_a_run_stops_with_the_name_of_the_fault(
    policy: Path, tmp_path: Path, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    steps = {"step_reward_func": every_third, **given}
    trainer = build(policy, tmp_path, supervision="process", **steps)
    functions = trainer.reward_funcs
    with pytest.raises(error, match=message):
        trainer.train()
    assert trainer.reward_funcs is functions
