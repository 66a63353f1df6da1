"""Reward functions that run beside the log-probability passes give what they give when they wait."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, every_third, losses, questions, scripted, varied

from markscheme.trainer.overlap import Overlap, covered, starts_early  # isort: skip
from markscheme.trainer import ProcessGRPOTrainer, StepReward  # isort: skip
from markscheme.verifiers.errors import RewardError, TrainerConfigError  # isort: skip
from markscheme.verifiers.rewards import CompositeReward, MathReward  # isort: skip
from markscheme.verifiers.steps import EquationStepVerifier  # isort: skip

torch = pytest.importorskip("torch")
pytestmark = MARKS

PASSES: dict[str, Any] = {"beta": 0.04, "num_iterations": 2}  # of the reference, and of the old policy


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("reward")]


def logging(completion_ids: Any, number: Any, log_extra: Any, log_metric: Any, **_: Any) -> list[float | None]:
    log_extra("tokens", [len(ids) for ids in completion_ids])
    log_metric("first", float(number[0]))
    log_metric(value=1.0, name="second")
    log_extra(values=list(number), column="numbers")
    return [None if n == 1 else float(n % 2) for n in number]


async def awaited(completion_ids: Any, **_: Any) -> list[float]:
    return [len(ids) / 12 for ids in completion_ids]


def of_field(told: list[int], completion_ids: Any, **_: Any) -> list[float]:
    return [value % 3 for value in told]


def telling(prompts: list[Any], trainer: Any) -> dict[str, Any]:
    return scripted(prompts, trainer) | {"told": [7 * row for row in range(len(prompts))], "common": "same"}


def run(policy: Path, folder: Path, which: str, **given: Any) -> Any:
    trainer = build(
        policy,
        folder,
        overlap_rewards=which,
        log_completions=True,
        supervision="both",
        step_reward_func=every_third,
        reward_funcs=[varied, logging, awaited, of_field],
        rollout_func=telling,
        **(PASSES | {"max_steps": 3} | given),
    )
    trainer.train()
    return trainer


def without_time(trainer: Any) -> list[dict[str, Any]]:
    timed = ("time", "runtime", "per_second", "verification/", "flos")
    return [{k: v for k, v in entry.items() if not any(t in k for t in timed)} for entry in trainer.state.log_history]


def test_results_logs_and_tables_are_those_of_functions_that_wait(policy: Path, tmp_path: Path) -> None:
    waiting, early = (run(policy, tmp_path / which, which) for which in ("none", "all"))
    assert without_time(waiting) == without_time(early)
    assert losses(early) and waiting._logs == early._logs
    assert {"tokens", "numbers", "step_rewards"} <= early._logs["extra"].keys()
    for one, other in zip(waiting.model.parameters(), early.model.parameters(), strict=True):
        assert torch.equal(one, other)


def held_up(trainer: Any, until: threading.Event, *, seconds: float = 20.0) -> list[bool]:
    """Make the passes wait for an event; whether it came is noted."""
    came: list[bool] = []
    passes = trainer._get_per_token_logps_and_entropies

    @functools.wraps(passes)
    def waiting(*arguments: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            came.append(until.wait(seconds))
        return passes(*arguments, **named)

    trainer._get_per_token_logps_and_entropies = waiting
    return came


@pytest.mark.parametrize("kind", ["function", "async", "with a rollout's field", "steps"])
def test_every_kind_of_function_runs_while_the_passes_do(policy: Path, tmp_path: Path, kind: str) -> None:
    begun = threading.Event()

    def function(completion_ids: Any, **_: Any) -> list[float]:
        begun.set()
        return varied(completion_ids)

    async def function_async(completion_ids: Any, **_: Any) -> list[float]:
        return function(completion_ids)

    def with_field(completion_ids: Any, told: Any, common: Any, **_: Any) -> list[float]:
        assert len(told) == len(completion_ids) and set(common) == {"same"}
        return function(completion_ids)

    def steps(completion_ids: Any, **_: Any) -> Any:
        begun.set()
        return every_third(completion_ids)

    kinds: dict[str, Any] = {"function": function, "async": function_async, "with a rollout's field": with_field}
    given: dict[str, Any] = {"reward_funcs": [kinds.get(kind, varied)], "rollout_func": telling, "max_steps": 1}
    given |= {"step_reward_func": steps, "supervision": "process"} if kind == "steps" else {}
    trainer = build(policy, tmp_path, overlap_rewards="all", **PASSES, **given)
    came = held_up(trainer, begun)
    trainer.train()
    assert came and all(came)


def test_by_default_only_functions_that_say_so_leave_the_main_thread(policy: Path, tmp_path: Path) -> None:
    seen: dict[str, bool] = {}

    def silent(completion_ids: Any, **_: Any) -> list[float]:
        seen["silent"] = threading.current_thread() is threading.main_thread()
        return varied(completion_ids)

    def saying(completion_ids: Any, **_: Any) -> list[float]:
        seen["saying"] = threading.current_thread() is threading.main_thread()
        return varied(completion_ids)

    saying.any_thread = True  # type: ignore[attr-defined]
    build(policy, tmp_path, reward_funcs=[silent, saying], max_steps=1).train()
    assert seen == {"silent": True, "saying": False}


class Own:
    """A verifier of a user's."""


def test_which_functions_start_early() -> None:
    def refusing(**_: Any) -> None: ...

    refusing.any_thread = False  # type: ignore[attr-defined]
    cases: list[tuple[Any, bool, bool]] = [
        (varied, False, True),
        (awaited, True, True),
        (refusing, False, False),
        (MathReward(), True, True),
        (MathReward(verifier=Own()), False, False),  # type: ignore[arg-type]
        (CompositeReward([(MathReward(), 1.0)]), True, True),
        (CompositeReward([(MathReward(), 1.0), (varied, 1.0)]), False, False),
        (StepReward(EquationStepVerifier(), tokenizer=None), True, True),  # type: ignore[arg-type]
        (StepReward(lambda steps: [1.0 for _ in steps], tokenizer=None), False, False),  # type: ignore[arg-type]
        (torch.nn.Linear(1, 1), False, False),
        ("field", False, False),
        (None, False, False),
    ]
    for function, known, every in cases:
        assert (starts_early(function, "known"), starts_early(function, "all")) == (known, every), function
        assert not starts_early(function, "none")


def test_an_unknown_choice_is_refused(policy: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainerConfigError, match="overlap_rewards='some': expected one of 'known', 'all', 'none'"):
        build(policy, tmp_path, overlap_rewards="some")


def failing(completions: list[str], number: list[int], log_extra: Any, **_: Any) -> list[float]:
    log_extra("kept", [1] * len(number))
    if 3 in number:
        raise ZeroDivisionError("no")
    return [0.5] * len(completions)


async def failing_async(**batch: Any) -> list[float]:
    return failing(**batch)


def fault(policy: Path, folder: Path, which: str, function: Any, **given: Any) -> tuple[BaseException, Any]:
    trainer = build(policy, folder, overlap_rewards=which, shuffle_dataset=False, max_steps=4, **PASSES, **given)
    trainer.reward_funcs = [function]
    with pytest.raises((ZeroDivisionError, RewardError, ValueError)) as caught:
        trainer.train()
    assert not threads()
    return caught.value, trainer


@pytest.mark.parametrize("function", [failing, failing_async])
def test_an_error_is_told_as_without_overlap(policy: Path, tmp_path: Path, function: Any) -> None:
    given = {"reward_funcs": [function]}
    error, _ = fault(policy, tmp_path, "none", function, **given)
    early, trainer = fault(policy, tmp_path, "all", function, **given)
    assert (type(early), str(early), early.__notes__) == (type(error), str(error), error.__notes__)
    assert "on row 4 of the batch (prompt '3+3='" in early.__notes__[0]
    assert trainer._pending_extra_logs == {} and trainer._overlap is None


def not_finite(completions: list[str], **_: Any) -> list[float]:
    return [float("inf")] * len(completions)


def too_few(completions: list[str], **_: Any) -> list[float]:
    return [0.0]


@pytest.mark.parametrize("function", [not_finite, too_few])
def test_what_cannot_be_used_is_told_as_without_overlap(policy: Path, tmp_path: Path, function: Any) -> None:
    error, early = (fault(policy, tmp_path, which, function)[0] for which in ("none", "all"))
    assert (type(early), str(early)) == (type(error), str(error))


def test_nothing_is_left_of_a_step_whose_pass_fails(policy: Path, tmp_path: Path) -> None:
    done = threading.Event()

    def slow(completions: list[str], log_extra: Any, **_: Any) -> list[float]:
        log_extra("mine", [0] * len(completions))
        time.sleep(0.2)
        done.set()
        return [float(n % 2) for n in range(len(completions))]

    trainer = build(policy, tmp_path, overlap_rewards="all", reward_funcs=[slow], max_steps=1, **PASSES)
    passes = trainer._get_per_token_logps_and_entropies

    def broken(*_: Any, **__: Any) -> Any:
        raise MemoryError("out of memory")

    trainer._get_per_token_logps_and_entropies = broken
    with pytest.raises(MemoryError):
        trainer.train()
    assert done.is_set() and not threads() and trainer._overlap is None
    assert trainer._pending_extra_logs == {}
    trainer._get_per_token_logps_and_entropies = passes
    trainer.train()
    assert len(losses(trainer)) == 1


class Changing(ProcessGRPOTrainer):
    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> Any:
        inputs = [row | {"number": 100 + row["number"]} for row in inputs]
        return super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)


def test_a_call_that_trl_makes_otherwise_is_made_again(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def reading(number: list[int], **_: Any) -> list[float]:
        seen.append(number[0])
        return [float(n % 3) for n in range(len(number))]

    monkeypatch.setattr("tinytraining.trainers.ProcessGRPOTrainer", Changing)
    trainer = build(policy, tmp_path, overlap_rewards="all", reward_funcs=[reading], shuffle_dataset=False, max_steps=1)
    trainer.train()
    assert sorted(seen) == [0, 100] and trainer.state.log_history[0]["verification/hidden_frac"] >= 0.0


def test_evaluation_overlaps_too(policy: Path, tmp_path: Path) -> None:
    trainer = build(
        policy, tmp_path, overlap_rewards="all", eval_dataset=questions(4), per_device_eval_batch_size=8, **PASSES
    )
    begun = threading.Event()
    trainer.reward_funcs = [lambda completion_ids, **_: begun.set() or varied(completion_ids)]
    came = held_up(trainer, begun)
    figures = trainer.evaluate()
    assert came and all(came) and 0 <= figures["eval_verification/hidden_frac"] <= 1


def asleep(completions: list[str], **_: Any) -> list[float]:
    time.sleep(0.3)
    return [float(n % 2) for n in range(len(completions))]


@pytest.mark.parametrize(("which", "least", "most"), [("all", 0.9, 1.0), ("none", 0.0, 0.05)])
def test_the_hidden_share_is_logged(policy: Path, tmp_path: Path, which: str, least: float, most: float) -> None:
    trainer = build(policy, tmp_path, overlap_rewards=which, reward_funcs=[asleep], max_steps=1, **PASSES)
    held_up(trainer, threading.Event(), seconds=0.25)  # two passes
    trainer.train()
    entry = trainer.state.log_history[0]
    assert least <= entry["verification/hidden_frac"] <= most
    assert 0.3 <= entry["verification/seconds"] < 1.0


def test_functions_at_a_time_count_once() -> None:
    assert covered([]) == 0.0
    assert covered([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0), (5.0, 5.5)]) == 4.0


def test_ragged_rows_are_left_to_trl(policy: Path, tmp_path: Path) -> None:
    trainer = build(policy, tmp_path, overlap_rewards="all")
    overlap = Overlap(trainer, "all", [{"prompt": "a", "one": 1}, {"prompt": "b"}])
    overlap.start([varied], ["a", "b"], (None, [[1], [2]], None, ["x", "y"], None, {}))
    assert overlap.calls == []
