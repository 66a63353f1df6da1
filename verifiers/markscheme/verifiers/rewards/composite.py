"""Several reward functions as one: ``CompositeReward([(MathReward(), 1.0), (CodeReward(), 1.0)])``.

TRL can weigh reward functions itself (``reward_weights``), but it adds a missing reward as 0: a completion that a part
cannot judge loses that part's share, which is a reward for what can be judged only. Here it loses the weight too.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import warnings
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal

from markscheme.verifiers.errors import DataError

RewardFunction = Callable[..., Any]
Combine = Literal["mean", "sum"]


class CompositeReward:
    """The weighted mean of the rewards that there are; a reward function as TRL calls it.

    With weights w_k and the rewards r_k of the parts that gave one: Σ w_k r_k / Σ |w_k|. A part that gives None for a
    completion takes no part in either sum; where none gives one the reward is None. ``combine="sum"`` leaves the
    division out: then a completion that a part cannot judge is at a disadvantage beside those it can.

    Parts are called with what TRL gives; coroutine functions are awaited, all of a batch at once. Each part's mean is
    logged as ``<name>/<part>/mean`` and the share it could judge as ``<name>/<part>/scored``, and its rewards become a
    column of the table of completions.

    Args:
        parts: reward functions and their weights; a negative weight is a penalty.
        combine: "mean" or "sum".
        name: ``__name__``, under which TRL logs the reward.

    Raises:
        ValueError: no parts, a weight that is 0 or not finite, or two parts of one name.
        TypeError: a part that cannot be called, or without a weight.
    """

    __name__: str

    def __init__(
        self,
        parts: Sequence[tuple[RewardFunction, float]],
        *,
        combine: Combine = "mean",
        name: str = "composite_reward",
    ) -> None:
        if combine not in ("mean", "sum"):
            raise ValueError(f'combine must be "mean" or "sum", not {combine!r}')
        if not parts:
            raise ValueError("a composite reward needs parts: [(MathReward(), 1.0), …]")
        for pair in parts:
            if not isinstance(pair, Sequence) or len(pair) != 2:
                raise TypeError(f"a part must come with its weight, as (MathReward(), 1.0), not {type(pair).__name__}")
            part, weight = pair
            if not callable(part):
                raise TypeError(f"a part must be a reward function, not {type(part).__name__}: (MathReward(), 1.0)")
            if not math.isfinite(weight) or weight == 0:
                raise ValueError(f"the weight of {_name(part)} must be finite and not 0, not {weight!r}")
        names = [_name(part) for part, _ in parts]
        if twice := sorted({one for one in names if names.count(one) > 1}):
            raise ValueError(f"two parts are called {twice[0]!r}: give one another name=…")
        self.__name__ = name
        self.parts = [(part, float(weight)) for part, weight in parts]
        self.combine: Combine = combine
        self.any_thread = all(getattr(part, "any_thread", False) for part, _ in self.parts)

    def __call__(self, *args: Any, **kwargs: Any) -> list[float | None]:
        """Return one reward a completion, or None where no part gives one.

        Raises:
            DataError: a part returns another number of rewards than there are completions, or one that is no
                finite number.
        """
        given = [part(*args, **kwargs) for part, _ in self.parts]
        waiting = {n: one for n, one in enumerate(given) if inspect.isawaitable(one)}
        if waiting:
            for n, found in zip(waiting, _run(_all(list(waiting.values()))), strict=True):
                given[n] = found
        completions = kwargs.get("completions", args[1] if len(args) > 1 else ())
        rewards = [_checked(part, found, len(completions)) for (part, _), found in zip(self.parts, given, strict=True)]
        self._log(rewards, kwargs.get("log_extra"), kwargs.get("log_metric"))
        weights = [weight for _, weight in self.parts]
        return [self._combined(row, weights) for row in zip(*rewards, strict=True)]

    def begin(self, **batch: Any) -> list[Future[Any]]:
        """Have the parts that can start to judge completions of the next batch; see ``MathReward.begin``."""
        begun: list[Future[Any]] = []
        for part, _ in self.parts:
            if callable(begin := getattr(part, "begin", None)):
                try:
                    begun += begin(**batch) or ()
                except Exception as error:  # noqa: BLE001 - the call tells it, with its row; what others began counts
                    what = f"{_name(part)}.begin failed ({type(error).__name__}: {error})"
                    warnings.warn(f"{what}; its verdicts are given with the batch.", RuntimeWarning, stacklevel=2)
        return begun

    def _combined(self, row: Sequence[float | None], weights: Sequence[float]) -> float | None:
        there = [(reward, weight) for reward, weight in zip(row, weights, strict=True) if reward is not None]
        if not there:
            return None
        total = sum(weight * reward for reward, weight in there)
        return total / sum(abs(weight) for _, weight in there) if self.combine == "mean" else total

    def _log(self, rewards: Sequence[Sequence[float | None]], log_extra: Any, log_metric: Any) -> None:
        for (part, _), found in zip(self.parts, rewards, strict=True):
            name = f"{self.__name__}/{_name(part)}"
            there = [reward for reward in found if reward is not None]
            if log_extra is not None:
                log_extra(name, list(found))
            if log_metric is not None and found:
                log_metric(f"{name}/scored", len(there) / len(found))
                if there:
                    log_metric(f"{name}/mean", sum(there) / len(there))


def _name(part: RewardFunction) -> str:
    return str(getattr(part, "__name__", type(part).__name__))


def _checked(part: RewardFunction, rewards: Any, count: int) -> list[float | None]:
    found = list(rewards) if isinstance(rewards, Sequence) else None
    if found is None or len(found) != count:
        came = f"{len(found)} rewards" if found is not None else type(rewards).__name__
        raise DataError(f"{_name(part)}: expected one reward, or None, for each of {count} completions; it gave {came}")
    values: list[float | None] = []
    for row, reward in enumerate(found):
        try:
            value = None if reward is None else float(reward)
        except (TypeError, ValueError):
            value = math.nan
        if value is not None and not math.isfinite(value):
            raise DataError(
                f"{_name(part)}: completion {row}: reward {reward!r:.80}; expected a finite number, and None for a "
                "completion without one"
            )
        values.append(value)
    return values


async def _all(waiting: Sequence[Any]) -> list[Any]:
    return list(await asyncio.gather(*waiting))


def _run(work: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """Run to the end; in a thread of its own where this one's event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


__all__ = ["Combine", "CompositeReward"]
