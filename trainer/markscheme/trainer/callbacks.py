"""Callbacks for a run of TRL's GRPOTrainer or ours: the reward's moving average, and early stopping.

They read the logged metrics. Those are gathered over all processes before they are logged, so every process sees the
same figures and decides alike. One observation is one logged value: with ``logging_steps=1`` (TRL's default is 10) that
is one optimiser step, otherwise a mean over ``logging_steps`` of them.

What a callback remembers is written into each checkpoint and read back on resume, by itself. transformers' own way
(`ExportableState`) is not used: it is off unless ``restore_callback_states_from_checkpoint=True``, it replaces the
object that you hold by a new one, resuming from a checkpoint that was made without the callback ends in a KeyError at
the next save, and of two callbacks of one class the first states saved are restored, not the last (transformers 5.24).
"""

from __future__ import annotations

import difflib
import math
import warnings
from typing import Any, Literal, cast

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from markscheme.trainer.plateau import LiteralRule, Rule, SlopeRule
from markscheme.trainer.trend import Ema

_PATIENT = 20  # logs without a metric after which its name is taken to be wrong

__all__ = ["EarlyStoppingOnPlateau", "RememberingCallback", "RewardEMACallback", "add_first"]


class RememberingCallback(TrainerCallback):
    """A callback whose memory is kept in the checkpoints, under a key of its own."""

    @property
    def key(self) -> str:
        """The name under which the memory is kept; different for every callback of a run."""
        return f"markscheme.{type(self).__name__}"

    def memory(self) -> dict[str, Any]:
        """Return what going on later needs, as JSON values."""
        raise NotImplementedError

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget everything: a run begins."""
        raise NotImplementedError

    def remember(self, state: TrainerState) -> None:
        """Put the memory where the next checkpoint takes it from."""
        _kept(state)[self.key] = self.memory()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Go on where the checkpoint was made, or begin."""
        del args, control, kwargs
        saved = _kept(state).get(self.key)
        if state.global_step > 0 and saved is not None:
            self.recall(saved)
        else:
            self.reset()


class RewardEMACallback(RememberingCallback):
    """Adds a metric's exponential moving average to the logs, as ``<metric>_ema``.

    The recursion is m_t = α·m_{t-1} + (1 - α)·x_t, m_0 = 0, and the logged value m_t/(1 - α^t), so that the first
    average is the first reward and not a tenth of it (`trend.Ema`). Logs without the metric, or with None or nan for
    it, are passed over.

    The value goes into ``state.log_history``. Reporters (TensorBoard, wandb) run in the order in which callbacks were
    added
    and stand before yours: with `add_first` the value reaches them too.

    Args:
        metric: the logged metric: "reward", "rewards/<name>/mean", "kl" …
        alpha: the weight of the past, in [0, 1).

    Raises:
        ValueError: ``alpha`` is out of range.
    """

    def __init__(self, metric: str = "reward", alpha: float = 0.9) -> None:
        self.metric = metric
        self.ema = Ema(alpha)

    @property
    def key(self) -> str:
        """The name under which the memory is kept."""
        return f"{super().key}.{self.metric}"

    @property
    def value(self) -> float:
        """The average; nan before the first observation."""
        return self.ema.value

    def memory(self) -> dict[str, Any]:
        """Return the recursion's state."""
        return {"moment": self.ema.moment, "count": self.ema.count}

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``."""
        self.ema = Ema(self.ema.alpha, memory["moment"], memory["count"])

    def reset(self) -> None:
        """Forget everything."""
        self.ema = Ema(self.ema.alpha)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take the metric in and log the average beside it."""
        del args, control, kwargs
        value = observed(logs, self.metric)
        if logs is None or value is None:
            return
        logs[f"{self.metric}_ema"] = average = self.ema.add(value)
        if state.log_history:
            state.log_history[-1][f"{self.metric}_ema"] = average
        self.remember(state)


class EarlyStoppingOnPlateau(RememberingCallback):
    """Ends a run whose reward no longer rises.

    ``rule="slope"`` stops when even the upper confidence bound of the reward's slope means an improvement of less than
    0.1 % in 5 observations, or when the reward falls (`plateau.SlopeRule` defines both exactly). How many observations
    a plateau takes depends on the noise; docs/training.md has the figures. ``rule="literal"`` is the plain rule, an
    average that improved by less than 0.1 % over 5 observations, which soon stops a run that rises.

    Why it stopped stands in ``stopped`` and is warned about once.

    Args:
        metric: the logged metric.
        rule: "slope", or "literal".
        settings: those of `plateau.SlopeRule` (``min_improvement``, ``patience``, ``confidence``, ``warmup``,
            ``min_window``, ``max_window``, ``scale``) or of `plateau.LiteralRule` (``min_improvement``, ``patience``,
            ``warmup``, ``alpha``).

    Raises:
        ValueError: an unknown rule, or a setting out of range.
        TypeError: a setting that the rule does not have.
    """

    def __init__(self, metric: str = "reward", rule: Literal["slope", "literal"] = "slope", **settings: Any) -> None:
        if rule not in ("slope", "literal"):
            raise ValueError(f'expected rule="slope" or "literal", not {rule!r}')
        self.metric = metric
        self.settings = settings
        self.stopped: str | None = None
        self._make = SlopeRule if rule == "slope" else LiteralRule
        self.rule: Rule = self._make(**settings)
        self._missed = 0

    @property
    def key(self) -> str:
        """The name under which the memory is kept."""
        return f"{super().key}.{self.metric}"

    def memory(self) -> dict[str, Any]:
        """Return the rule's memory."""
        return self.rule.memory()

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on from ``memory``."""
        self.reset()
        self.rule.recall(memory)

    def reset(self) -> None:
        """Forget everything."""
        self.rule, self.stopped, self._missed = self._make(**self.settings), None, 0

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take the metric in; end the run where the rule says so."""
        del args, kwargs
        value = observed(logs, self.metric)
        if value is None:
            self._look_for_metric(logs)
            return
        self._missed = -1
        found = self.rule.observe(value)
        self.remember(state)
        if found is None or self.stopped is not None:
            return
        control.should_training_stop = True
        what = "no longer rises" if found == "plateau" else "falls"
        self.stopped = f"training stops at step {state.global_step}: {self.metric} {what}: {self.rule.explain()}"
        if state.is_world_process_zero:
            warnings.warn(self.stopped, stacklevel=2)

    def _look_for_metric(self, logs: dict[str, Any] | None) -> None:
        """Warn, once, where the metric has never been among the logs of training steps."""
        if self._missed < 0 or not logs or "loss" not in logs:
            return
        self._missed += 1
        if self._missed == _PATIENT:
            near = difflib.get_close_matches(self.metric, logs, n=3, cutoff=0.4)
            hint = f"; near it: {', '.join(near)}" if near else f"; the metrics are {', '.join(sorted(logs))}"
            warnings.warn(
                f"early stopping watches {self.metric!r}, which {_PATIENT} logs did not hold{hint}", stacklevel=3
            )


def _kept(state: TrainerState) -> dict[str, Any]:
    """What is saved of callbacks: a dictionary, whatever its annotation says."""
    return cast(dict[str, Any], state.stateful_callbacks)


def observed(logs: dict[str, Any] | None, metric: str) -> float | None:
    """Return a logged value, or None where there is none or it is no finite number."""
    value = (logs or {}).get(metric)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value)


def add_first(trainer: Any, *callbacks: TrainerCallback) -> None:
    """Give a trainer callbacks that run before the reporters, so that what they add to the logs is reported.

    Args:
        trainer: a ``transformers.Trainer``.
        callbacks: in the order in which they are to run.
    """
    handler = trainer.callback_handler
    for callback in callbacks:
        trainer.add_callback(callback)
    added = handler.callbacks[-len(callbacks) :] if callbacks else []
    handler.callbacks[:] = [*added, *handler.callbacks[: len(handler.callbacks) - len(added)]]
