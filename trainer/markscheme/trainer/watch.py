"""The broken-verifier alarm as a callback: it hears the alarms of every reward function, and can end the run."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import torch
from transformers import TrainerControl, TrainerState, TrainingArguments

from markscheme.trainer.callbacks import RememberingCallback, observed
from markscheme.trainer.collect import is_async, name_of
from markscheme.trainer.plain_alarm import PlainAlarm, numbers, numbers_of_steps
from markscheme.verifiers.errors import RewardError
from markscheme.verifiers.rewards.alarm import BrokenVerifierAlarm, RewardAlarm
from markscheme.verifiers.rewards.trl import completion_text

Action = Literal["warn", "stop", "raise"]
_ZERO_STD = "frac_reward_zero_std"  # TRL's metric: the share of groups whose rewards are all equal


class BrokenVerifierCallback(RememberingCallback):
    """Acts on broken rewards: warns, ends the run, or raises; on every process alike.

    Give it the reward functions through `watch` before the trainer gets them::

        guard = BrokenVerifierCallback(action="stop")
        trainer = ProcessGRPOTrainer(…, reward_funcs=guard.watch_all([MathReward(), length_reward]), callbacks=[guard])

    Our reward functions carry a `BrokenVerifierAlarm`, which this hears; the rewards of any other function are watched
    by a `PlainAlarm` (always the same; never there), and so are step rewards (`watch_steps`). Beside them it reads
    TRL's metric of groups whose rewards are all equal: when every group of ``dead_logs`` logs in a row is, nothing is
    learnt from outcomes.

    Each process hears its own rewards; after every step they agree, so that one alarm ends the run everywhere. The
    number of warnings so far is logged as ``reward_alarms``. What was told is kept in the checkpoints and not told
    again.

    Args:
        action: "warn" (the alarms do so themselves), "stop" to end the run after the step, "raise" to raise there.
        window: of the `PlainAlarm` of each function without an alarm; steps have one eight times as long.
        dead_logs: logs in a row without any difference within a group, for a warning; 0 for none.

    Attributes:
        alarms: the alarms by the name of what they watch.
        messages: this process's warnings, of the alarms and its own.

    Raises:
        ValueError: an unknown action, or a number out of range.
    """

    def __init__(self, action: Action = "warn", *, window: int = 256, dead_logs: int = 20) -> None:
        if action not in ("warn", "stop", "raise"):
            raise ValueError(f'expected action="warn", "stop" or "raise", not {action!r}')
        if window < 2 or dead_logs < 0:
            raise ValueError(f"expected window >= 2 and dead_logs >= 0, not {window} and {dead_logs}")
        self.action = action
        self.window = window
        self.dead_logs = dead_logs
        self.alarms: dict[str, BrokenVerifierAlarm | PlainAlarm] = {}
        self._own: list[str] = []
        self._dead = 0
        self._total = 0  # warnings so far, on all processes
        self._heard = 0  # of this process, at the last step

    @property
    def messages(self) -> list[str]:
        """This process's warnings."""
        return [message for alarm in self.alarms.values() for message in alarm.messages] + self._own

    # -- what is watched ----------------------------------------------------------------------------------------------

    def watch(self, function: Any) -> Any:
        """Return the reward function to give to the trainer: ``function`` itself if it has alarms, else one like it.

        A reward model (a module, or its name) is returned as it is: its rewards differ by nature.
        """
        if isinstance(function, str | torch.nn.Module):
            return function
        name = name_of(function)
        if carried := list(alarms_of(function)):
            for own in carried:
                self._add(name, own)
            return function
        alarm = PlainAlarm(f"the rewards of {name}", self.window)
        self._add(name, alarm)

        def look(rewards: Any, batch: dict[str, Any]) -> Any:
            rewards = list(rewards) if isinstance(rewards, Iterator) else rewards
            if (found := numbers(rewards)) is not None:
                alarm.observe(found, [completion_text(one) for one in batch.get("completions", [])])
            return rewards

        return _listening(function, look)

    def watch_all(self, functions: Sequence[Any]) -> list[Any]:
        """Return the reward functions to give to the trainer; as `watch`, for each."""
        return [self.watch(function) for function in functions]

    def watch_steps(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the step-reward function to give to the trainer."""
        name = name_of(function)
        alarm = PlainAlarm(f"the step rewards of {name}", 8 * self.window)
        self._add(name, alarm)

        def look(steps: Any, batch: dict[str, Any]) -> Any:
            if isinstance(steps, Sequence):  # what can be read once only, such as zip(ends, rewards), is kept
                steps = [list(one) if isinstance(one, Iterator) else one for one in steps]
            if (found := numbers_of_steps(steps)) is not None:
                alarm.observe(found, [completion_text(one) for one in batch.get("completions", [])])
            return steps

        return _listening(function, look)

    def _add(self, name: str, alarm: BrokenVerifierAlarm | PlainAlarm) -> None:
        if any(alarm is other for other in self.alarms.values()):
            return
        number = 1 + sum(key == name or key.startswith(f"{name}#") for key in self.alarms)
        self.alarms[name if number == 1 else f"{name}#{number}"] = alarm

    # -- memory -------------------------------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        """Return what the alarms have counted and told."""
        alarms = {name: alarm.memory() for name, alarm in self.alarms.items()}
        return {"alarms": alarms, "own": self._own, "dead": self._dead, "total": self._total}

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``. Each process takes that of the first, which made the checkpoint."""
        for name, alarm in self.alarms.items():
            if name in memory["alarms"]:
                alarm.recall(memory["alarms"][name])
        self._own, self._dead, self._total = list(memory["own"]), memory["dead"], memory["total"]
        self._heard = len(self.messages)

    def reset(self) -> None:
        """Begin a run: alarms that were told before it do not count for it."""
        self._own, self._dead, self._total = [], 0, 0
        self._heard = len(self.messages)

    # -- events -------------------------------------------------------------------------------------------------------

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Log the number of warnings; look at the groups' differences, which are the same on every process."""
        del args, control, kwargs
        if logs is None or "loss" not in logs:
            return
        logs["reward_alarms"] = self._total
        if state.log_history:
            state.log_history[-1]["reward_alarms"] = self._total
        share = observed(logs, _ZERO_STD)
        if share is None or not self.dead_logs:
            return
        self._dead = self._dead + 1 if share >= 1.0 else 0
        if self._dead == self.dead_logs and state.is_world_process_zero:
            self._own.append(
                f"in {self._dead} logs in a row no group had two completions with different rewards: nothing is learnt "
                "from outcomes. The reward may not depend on the completion, the prompts may all be too easy or too "
                "hard, or the completions of a group may be the same (temperature)."
            )
            warnings.warn(self._own[-1], RewardAlarm, stacklevel=2)
        self.remember(state)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Agree with the other processes on whether anything was heard, and act."""
        del kwargs
        messages = self.messages
        new = len(messages) - self._heard
        self._heard = len(messages)
        total = _sum_over_processes(new, args.device)
        self._total += total
        self.remember(state)
        if total == 0 or self.action == "warn":
            return
        control.should_training_stop = True
        if self.action == "raise":
            told = messages[-1] if new else "another process heard it; its warning holds the sample"
            raise RewardError(f"step {state.global_step}: {told}")


def alarms_of(function: Any) -> Iterable[BrokenVerifierAlarm]:
    """Find the alarms that a reward function carries: its own, its scorer's, and those of a composite's parts."""
    for holder in (function, getattr(function, "scorer", None)):
        alarm = getattr(holder, "alarm", None)
        if isinstance(alarm, BrokenVerifierAlarm):
            yield alarm
    for part in getattr(function, "parts", None) or ():
        yield from alarms_of(part[0] if isinstance(part, tuple) else part)


def _listening(function: Callable[..., Any], look: Callable[[Any, dict[str, Any]], Any]) -> Callable[..., Any]:
    """The same function, async if it is, with the same name; ``look`` sees what it returns."""

    def call(**batch: Any) -> Any:
        return look(function(**batch), batch)

    async def call_async(**batch: Any) -> Any:
        return look(await function(**batch), batch)

    wrapped: Callable[..., Any] = call_async if is_async(function) else call
    functools.update_wrapper(wrapped, function, updated=())
    wrapped.__name__ = name_of(function)
    for name in ("any_thread", "begin"):
        if (said := getattr(function, name, None)) is not None:
            setattr(wrapped, name, said)
    return wrapped


def _sum_over_processes(count: int, device: torch.device) -> int:
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return count
    total = torch.tensor(count, device=device)
    torch.distributed.all_reduce(total)
    return int(total)
