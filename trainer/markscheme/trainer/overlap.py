"""Scoring that never waits: reward functions run beside the passes that follow generation.

TRL calls reward functions once the log-probabilities of the old policy and of the reference are there, though all that
the functions need is known as soon as the completions are. Here they start then, in threads; when TRL calls them, the
answer is handed over. A call that is not the very call that was started is made as TRL makes it. Where completions are
known one by one, functions with a method ``begin`` start to judge each while others are still generated.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import nn
from trl import is_conversational

from markscheme.trainer.collect import NOT_COLUMNS, is_async, name_of

if TYPE_CHECKING:
    from markscheme.trainer.grpo import ProcessGRPOTrainer

LOGS = ("log_extra", "log_metric")
Interval = tuple[float, float]


class Call:
    """One call of a reward function, made in another thread. What it logs is kept until its answer is wanted."""

    def __init__(self, function: Callable[..., Any], batch: dict[str, Any]) -> None:
        self.logged: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.function = function
        self.batch = batch | {log: functools.partial(self._keep, log) for log in LOGS}
        self.future: Future[Any] = Future()
        self.started = self.ended = 0.0
        self.taken = False

    def _keep(self, log: str, *logged: Any, **named: Any) -> None:
        self.logged.append((log, logged, named))

    def made_by(self, make: Callable[[], Future[Any]]) -> Self:
        """Start the call."""
        self.started = time.perf_counter()
        self.future = make()
        self.future.add_done_callback(lambda _: setattr(self, "ended", time.perf_counter()))
        return self

    def is_of(self, batch: dict[str, Any]) -> bool:
        """Whether TRL's call is this one, not taken before: the same objects under the same names."""
        return (
            not self.taken
            and batch.keys() == self.batch.keys()
            and all(_same(value, self.batch[name]) for name, value in batch.items() if name not in LOGS)
        )

    def hand_over(self, batch: dict[str, Any]) -> Any:
        """The answer, or the error; before the answer, what was logged goes to TRL."""
        self.taken = True
        returned = self.future.result()
        for log, logged, named in self.logged:
            batch[log](*logged, **named)
        return returned


class Begun:
    """A verdict on one completion, started while others were generated; ``place`` is the completion's."""

    def __init__(self, place: tuple[int, int], future: Future[Any], started: float) -> None:
        self.place, self.future, self.started = place, future, started
        self.ended = started
        future.add_done_callback(lambda _: setattr(self, "ended", time.perf_counter()))


class Overlap:
    """The reward functions of one batch of completions, and how long they took.

    Args:
        trainer: whose functions they are.
        which: ``"known"``: functions that say ``any_thread = True`` and async ones, which TRL runs in another thread
            itself; ``"all"``: every function that does not say ``any_thread = False``; ``"none"``.

    Leaving the ``with`` block waits for what still runs, so that nothing outlives a step that failed. Reward models
    (`torch.nn.Module`) always run when TRL calls them: sharded ones meet in collectives, which must keep their order.
    """

    def __init__(self, trainer: ProcessGRPOTrainer, which: str, inputs: list[dict[str, Any]]) -> None:
        self.trainer, self.which, self.inputs = trainer, which, inputs
        self.calls: list[Call] = []
        self.begun: list[Begun] = []
        self.rows = 0
        self._lock = threading.Lock()
        self._warned: set[int] = set()
        self.waits: list[Interval] = []
        self.late: list[Interval] = []
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self.trainer._overlap = self
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.trainer._overlap = None
        if kind is not None:  # what was logged for a batch that is given up belongs to no other
            self.trainer._pending_extra_logs.clear()
            self.trainer._pending_metrics.clear()
        for call in self.calls:
            call.future.cancel()
        wait([one.future for one in self.begun if not one.future.cancel()])
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)

    def begin(self, functions: Iterable[Any], row: int, completion_ids: list[int], fields: dict[str, Any]) -> None:
        """Have functions start to judge one completion while others are generated.

        What goes wrong is warned of and left to the call with the whole batch, which says where.

        Args:
            functions: those with a method ``begin`` that may run in another thread do.
            row: of the completion, in the batch.
            completion_ids: its ids.
            fields: what a rollout function returns for it beside them.

        Raises:
            IndexError: there is no such row.
        """
        if not 0 <= row < len(self.inputs):
            raise IndexError(f"begin_rewards: there is no row {row}, the batch has {len(self.inputs)}, from 0")
        for function in functions:
            if not callable(getattr(function, "begin", None)) or not starts_early(function, self.which):
                continue
            started = time.perf_counter()
            try:
                begun = list(function.begin(**self._batch_of(row, completion_ids, fields)) or ())
            except Exception as error:  # noqa: BLE001 - a fault of the data is told by the batch, with its row
                if id(function) not in self._warned:
                    self._warned.add(id(function))
                    what = f"{name_of(function)}.begin failed ({type(error).__name__}: {error})"
                    warnings.warn(f"{what}; such verdicts are given with the batch.", RuntimeWarning, stacklevel=2)
                continue
            with self._lock:
                place = self.rows, row
                self.begun += [Begun(place, one, started) for one in begun if isinstance(one, Future)]

    def _batch_of(self, row: int, completion_ids: list[int], fields: dict[str, Any]) -> dict[str, Any]:
        """A batch of one row, as reward functions get it."""
        columns = _columns([self.inputs[row]], {name: [value] for name, value in fields.items()})
        prompt, trainer = self.inputs[row]["prompt"], self.trainer
        (text,) = trainer.processing_class.batch_decode([completion_ids], skip_special_tokens=True)
        completion = [{"role": "assistant", "content": text}] if is_conversational({"prompt": prompt}) else text
        batch = {"prompts": [prompt], "completions": [completion], "completion_ids": [completion_ids]}
        return {**(columns or {}), **batch, "trainer_state": trainer.state}

    def start(self, functions: Iterable[Any], prompts: list[Any], made: Sequence[Any]) -> None:
        """Start the functions that may be, on what ``_generate`` returned.

        Fields that a rollout function returned are known by then too: functions get them as columns, as from TRL.
        """
        chosen = [f for f in functions if starts_early(f, self.which)]
        self.rows += len(prompts)
        completion_ids, completions, fields = made[1], made[3], made[5]
        columns = _columns(self.inputs, fields)
        if not chosen or columns is None or len(completions) != len(prompts):
            return  # TRL, or the checks before its calls, say what is wrong
        batch = {**columns, "prompts": prompts, "completions": completions, "completion_ids": completion_ids}
        batch["trainer_state"] = self.trainer.state
        if self.trainer.environments is not None:
            batch["environments"] = self.trainer.environments
        device = self.trainer.accelerator.device
        ready = functools.partial(torch.cuda.set_device, device) if device.type == "cuda" else None
        self._threads = self._threads or ThreadPoolExecutor(len(chosen), "reward", initializer=ready)
        self.calls += [self._started(Call(function, batch)) for function in chosen]

    def _started(self, call: Call) -> Call:
        loop = getattr(self.trainer, "async_loop", None)
        if is_async(call.function) and loop is not None:
            return call.made_by(lambda: asyncio.run_coroutine_threadsafe(_awaited(call), loop))
        threads, context = self._threads, contextvars.copy_context()
        assert threads is not None  # noqa: S101 - made by start
        return call.made_by(lambda: threads.submit(context.run, _run, call.function, call.batch))

    def collector(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function for TRL to call: async if it is, of the same name, and with the answer where there is one."""

        def find(batch: dict[str, Any]) -> Call | None:
            return next((call for call in self.calls if call.function is function and call.is_of(batch)), None)

        def collect(**batch: Any) -> Any:
            begun, call = time.perf_counter(), find(batch)
            try:
                return function(**batch) if call is None else call.hand_over(batch)
            finally:
                self._waited(begun, call)

        async def collect_async(**batch: Any) -> Any:
            begun, call = time.perf_counter(), find(batch)
            try:
                if call is None:
                    return await function(**batch)
                await asyncio.wait([asyncio.wrap_future(call.future)])
                return call.hand_over(batch)
            finally:
                self._waited(begun, call)

        chosen = collect_async if is_async(function) else collect
        chosen.__name__ = name_of(function)
        return chosen

    def _waited(self, begun: float, call: Call | None) -> None:
        self.waits.append((begun, time.perf_counter()))
        if call is None:
            self.late.append(self.waits[-1])

    def log(self) -> None:
        """Log, over all ranks, the seconds of verification, the hidden share, and that of completions begun early."""
        begun = [one for one in self.begun if not one.future.cancelled()]  # by whoever judged it with the batch
        took = [(call.started, call.ended) for call in self.calls] + [(one.started, one.ended) for one in begun]
        early = float(len({one.place for one in begun}))
        counted = [covered(took + self.late), covered(self.waits), early, float(self.rows)]
        counts = torch.tensor(counted, device=self.trainer.accelerator.device)
        total, waited, ahead, rows = self.trainer.accelerator.gather(counts).view(-1, 4).sum(0).tolist()
        metrics = self.trainer._metrics["train" if self.trainer.model.training else "eval"]
        metrics["verification/seconds"].append(total / self.trainer.accelerator.num_processes)
        metrics["verification/hidden_frac"].append(max(0.0, 1 - waited / total) if total else 0.0)
        metrics["verification/early_frac"].append(ahead / rows if rows else 0.0)


def starts_early(function: Any, which: str) -> bool:
    """Whether a reward function may run in another thread than the main one, beside the passes."""
    if isinstance(function, nn.Module | str) or not callable(function) or which == "none":
        return False
    said = getattr(function, "any_thread", None)
    return (said is not False) if which == "all" else bool(said or (said is None and is_async(function)))


def covered(intervals: Iterable[Interval]) -> float:
    """The length of the union of intervals: two functions at a time take their time once."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def _columns(inputs: list[dict[str, Any]], fields: dict[str, Any]) -> dict[str, list[Any]] | None:
    """The columns as TRL will hand them over, a rollout function's fields put into their rows; None if ragged."""
    rows = [dict(row) for row in inputs]
    for name, values in fields.items():
        for row, value in zip(rows, values if isinstance(values, list) else [values] * len(rows), strict=False):
            row[name] = value
    keys = [key for key in rows[0] if key not in NOT_COLUMNS]
    return {key: [row[key] for row in rows] for key in keys} if all(row.keys() >= {*keys} for row in rows) else None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
    return one is other


async def _awaited(call: Call) -> Any:
    return await call.function(**call.batch)


def _run(function: Callable[..., Any], batch: dict[str, Any]) -> Any:
    returned = function(**batch)
    return asyncio.run(returned) if inspect.iscoroutine(returned) else returned
