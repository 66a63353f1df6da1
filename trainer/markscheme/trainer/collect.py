"""Calls of reward functions whose faults are named: the function, the row, the fix."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from torch import Tensor, nn

from markscheme.verifiers.errors import RewardError, StepRewardError

NOT_COLUMNS = ("prompt", "completion", "completion_ids")


class Steps(NamedTuple):
    """A completion's steps: the index of each step's last token, and its reward or None."""

    ends: list[int]
    rewards: list[float | None]


def collect_step_rewards(
    source: Callable[..., Any] | str, inputs: Sequence[dict[str, Any]], /, **batch: Any
) -> list[Steps]:
    """Each completion's step rewards, checked.

    Args:
        source: A function that is called as TRL calls reward functions (it may be async), or the name of a column of
            ``inputs`` (a field that the rollout function returned).
        inputs: The rows of the batch.
        batch: What the function gets besides the columns: ``prompts``, ``completions``, ``completion_ids`` …

    Raises:
        StepRewardError: rewards are missing, not finite, or their indices are not those of tokens in order.
    """
    lengths = [len(ids) for ids in batch["completion_ids"]]
    if isinstance(source, str):
        if missing := [row for row, columns in enumerate(inputs) if source not in columns]:
            fields = ", ".join(sorted(inputs[missing[0]]))
            raise StepRewardError(
                f"step rewards are missing: {_row(missing[0], batch)} has no field {source!r} (fields: {fields}). Let "
                f"the rollout function return {source!r}: a list of (index of a step's last token, reward) for each "
                "completion."
            )
        returned: Any = [columns[source] for columns in inputs]
    else:
        columns = {key: [row[key] for row in inputs] for key in inputs[0] if key not in NOT_COLUMNS}
        returned = _wait(named(source)(**columns, **batch))
    if not isinstance(returned, Sequence) or len(returned) != len(lengths):
        came = f"{len(returned)} entries" if isinstance(returned, Sequence) else type(returned).__name__
        raise StepRewardError(
            f"the step rewards of {name_of(source)} are {came}, but there are {len(lengths)} completions: return one "
            "list of (index of the step's last token, reward) per completion, or None for one without steps."
        )
    return [
        _read(steps, length, _row(row, batch))
        for row, (steps, length) in enumerate(zip(returned, lengths, strict=True))
    ]


def check_groups(prompts: int, completions: int, group_size: int, ranks: int) -> None:
    """See that the batch is made of whole groups.

    Raises:
        RewardError: the rollout function returned too few or too many completions, or a group is not whole.
    """
    if completions != prompts:
        raise RewardError(
            f"the rollout function returned {completions} completions for {prompts} prompts: every prompt comes once "
            "for each member of its group, so return one completion for each, in their order."
        )
    if prompts * ranks % group_size:
        raise RewardError(
            f"{prompts} completions on {ranks} rank(s) do not make groups of {group_size}: choose a batch size (in "
            "evaluation per_device_eval_batch_size) whose product with the ranks is a multiple of num_generations."
        )


def _read(steps: Iterable[Any] | None, length: int, where: str) -> Steps:
    read = Steps([], [])
    if isinstance(steps, str | bytes | dict) or not isinstance(steps, Iterable | None):
        raise StepRewardError(f"{where}: expected a list of (index, reward) or None, got {steps!r:.80}")
    for number, step in enumerate(steps or ()):
        try:
            end, reward = step
            end, reward = operator.index(end), None if reward is None else float(reward)
        except (TypeError, ValueError) as error:
            raise StepRewardError(
                f"{where}, step {number}: expected (index of its last token, reward or None), got {step!r:.80}"
            ) from error
        after = read.ends[-1] if read.ends else -1
        if not after < end < length:
            raise StepRewardError(
                f"{where}, step {number}: its last token has index {end}, expected {after + 1} … {length - 1} (0-based "
                f"in the completion of {length} tokens, each step after the one before)."
            )
        if reward is not None and not math.isfinite(reward):
            raise StepRewardError(
                f"{where}, step {number}: the reward is {reward}; return None for a step without one."
            )
        read.ends.append(end)
        read.rewards.append(reward)
    return read


def named(function: Callable[..., Any], name: str | None = None, *, finite: bool = False) -> Callable[..., Any]:
    """The same function (async if it is); what it raises is noted with the row at fault.

    The error keeps its type: the note stands below it in the traceback. To find the row, the failed call is repeated
    row by row until one fails. With ``finite``, what is no list of numbers and None raises a ``RewardError``, and so
    does a reward that is NaN or infinite, where TRL reads NaN as None and lets an infinite reward make every advantage
    of its group NaN.
    """
    name = name or name_of(function)

    def note(error: Exception, batch: dict[str, Any]) -> None:
        row = _failing_row(function, batch)
        where = "on the whole batch, but on none of its rows alone" if row is None else f"on {_row(row, batch)}"
        error.add_note(f"Reward function {name!r} raised {where}. Mend it, or return None for what it cannot score.")

    def check(rewards: Any, batch: dict[str, Any]) -> Any:
        count = len(batch["prompts"])
        if isinstance(rewards, str | bytes | dict) or not isinstance(rewards, Iterable):
            raise RewardError(
                f"reward function {name!r} returned {type(rewards).__name__} for {count} completions: return a list "
                "with one number, or None, for each."
            )
        for row, reward in enumerate(rewards := list(rewards)):
            if row < count and reward is not None and not _is_finite(reward):
                raise RewardError(
                    f"reward function {name!r} returned {reward!r:.80} for {_row(row, batch)}: expected a finite "
                    "number; return None for a completion that cannot be scored."
                )
        return rewards

    @functools.wraps(function)
    def call(**batch: Any) -> Any:
        try:
            returned = function(**batch)
        except Exception as error:
            note(error, batch)
            raise
        return check(returned, batch) if finite else returned

    @functools.wraps(function)
    async def call_async(**batch: Any) -> Any:
        try:
            returned = await function(**batch)
        except Exception as error:
            note(error, batch)
            raise
        return check(returned, batch) if finite else returned

    return call_async if is_async(function) else call


def check_model_rewards(rewards: Tensor, functions: Sequence[Any], names: Sequence[str]) -> None:
    """See that the rewards (B, functions) that reward models gave are finite; ``named`` sees to those of functions.

    Raises:
        RewardError: one is NaN or infinite, which says nothing of its completion: the model overflows or is broken.
    """
    for column, (function, name) in enumerate(zip(functions, names, strict=True)):
        if isinstance(function, nn.Module) and (faults := (~rewards[:, column].isfinite()).nonzero()).numel():
            row = int(faults[0])
            raise RewardError(
                f"reward model {name!r} gave {float(rewards[row, column])} for completion {row} of all ranks' "
                f"{len(rewards)} (and {len(faults) - 1} more): load it in float32 or bfloat16 if it overflows, and "
                "look at its weights."
            )


def name_of(function: Callable[..., Any] | str) -> str:
    """A reward function's name in messages; a partial's is its function's, as in TRL."""
    if isinstance(function, str):
        return function
    function = _inner(function)
    return str(getattr(function, "__name__", type(function).__name__))


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call returns a coroutine: of an async function, a partial of one, or an object with an async call."""
    function = _inner(function)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _is_finite(reward: Any) -> bool:
    try:
        return math.isfinite(reward)
    except (TypeError, ValueError, OverflowError):
        return False


def _wait(value: Any) -> Any:
    """What a coroutine returns, run in a thread of its own: this one may have a running loop (a notebook's)."""
    if not inspect.iscoroutine(value):
        return value
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, value).result()


def _failing_row(function: Callable[..., Any], batch: dict[str, Any]) -> int | None:
    rows = len(batch["prompts"])
    batch = batch | {log: _drop for log in ("log_extra", "log_metric") if log in batch}
    for row in range(rows):
        one = {key: [v[row]] if isinstance(v, list) and len(v) == rows else v for key, v in batch.items()}
        try:
            _wait(function(**one))
        except Exception:  # noqa: BLE001
            return row
    return None


def _drop(*_: Any, **__: Any) -> None:
    """Log nothing: the call only looks for a fault."""


def _row(row: int, batch: dict[str, Any]) -> str:
    return f"row {row} of the batch (prompt {str(batch['prompts'][row])[-80:]!r})"
