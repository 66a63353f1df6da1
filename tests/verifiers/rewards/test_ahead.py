"""Verdicts begun while others of their batch are generated are those of a batch that was judged at once."""

from __future__ import annotations

import contextvars
import copy
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from types import SimpleNamespace
from typing import Any

import pytest

from markscheme.verifiers import GoldError, MathVerifier, Outcome, Verdict
from markscheme.verifiers.rewards import CompositeReward, MathReward, ahead
from markscheme.verifiers.rewards.ahead import Ahead
from markscheme.verifiers.rewards.scoring import Scorer

COMPLETIONS = [r"\boxed{4}", r"\boxed{5}", "no idea", r"\boxed{2+2}"]
GOLDS = ["4", "4", "4", "5"]


class Counting:
    """The math verifier, with the calls that it got and how many of them ran at a time."""

    any_thread = True

    def __init__(self, act: Callable[[int], None] = lambda _: None) -> None:
        self.act, self.calls = act, []
        self.running, self.most = 0, 0
        self.real = MathVerifier("boxed")

    def verify(self, completion: str, gold: str) -> Verdict:
        self.calls.append((completion, threading.current_thread() is threading.main_thread()))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            self.act(len(self.calls))
            return self.real.verify(completion, gold)
        finally:
            self.running -= 1


def begun(reward: Any, rows: Any = range(4)) -> list[Any]:
    """Begin rows one after the other, as they are finished."""
    return [one for row in rows for one in reward.begin(completions=[COMPLETIONS[row]], answer=[GOLDS[row]])]


def logged(reward: Any) -> tuple[Any, ...]:
    columns: dict[str, Any] = {}
    rates: dict[str, float] = {}
    found = reward(completions=COMPLETIONS, answer=GOLDS, log_extra=columns.__setitem__, log_metric=rates.__setitem__)
    return found, columns, rates


@pytest.mark.parametrize("rows", [[], [2], [3, 0], [1, 2, 0, 3], [0, 0, 1]])
def test_rewards_and_logs_are_those_of_a_batch_judged_at_once(rows: list[int]) -> None:
    reward = MathReward()
    assert len(begun(reward, rows)) == len(rows)
    assert logged(reward) == logged(MathReward())
    assert logged(reward) == logged(MathReward()), "and of the next batch"


def test_nothing_is_judged_twice_or_two_at_a_time_by_anothers_verifier() -> None:
    verifier = Counting(lambda _: time.sleep(0.01))
    reward = MathReward(verifier=verifier)
    for one in begun(reward, [1, 0, 1]):
        one.result()
    assert [text for text, _ in verifier.calls] == [COMPLETIONS[1], COMPLETIONS[0]]
    logged(reward)
    assert sorted(text for text, _ in verifier.calls) == sorted(COMPLETIONS)
    assert [main for _, main in verifier.calls] == [False, False, True, True]
    assert verifier.most == 1


def test_the_batch_waits_for_what_still_runs() -> None:
    until = threading.Event()
    verifier = Counting(lambda _: until.wait(20) and None)
    reward = MathReward(verifier=verifier)
    begun(reward)
    threading.Timer(0.1, until.set).start()
    assert logged(reward)[0] == [1.0, 0.0, 0.0, 0.0]
    assert len(verifier.calls) == 4


def test_a_verdict_that_failed_is_given_with_the_batch() -> None:
    def at_first(call: int) -> None:
        if call == 1:
            raise OSError("for now")

    verifier = Counting(at_first)
    reward = MathReward(verifier=verifier)
    (one, *_) = begun(reward)
    assert isinstance(one.exception(), OSError)
    assert logged(reward)[0] == [1.0, 0.0, 0.0, 0.0]
    assert len(verifier.calls) == 5


def test_an_error_is_the_batchs() -> None:
    def always(_: int) -> None:
        raise OSError("no disk")

    reward = MathReward(verifier=Counting(always))
    begun(reward)
    with pytest.raises(OSError, match="no disk"):
        logged(reward)


def test_a_broken_verdict_is_tried_again() -> None:
    class Once(Counting):
        def verify(self, completion: str, gold: str) -> Verdict:
            verdict = super().verify(completion, gold)
            return verdict.model_copy(update={"outcome": Outcome.BROKEN}) if len(self.calls) == 1 else verdict

    reward = MathReward(verifier=Once())
    begun(reward, [0])[0].result()
    assert logged(reward)[0] == [1.0, 0.0, 0.0, 0.0]


def test_golds_that_cannot_be_read_are_told_with_their_rows() -> None:
    reward = MathReward()
    assert list(reward.begin(completions=["x"], answer=[""])) == []
    with pytest.raises(GoldError, match="row 1"):
        reward(completions=["x", "y"], answer=["1", ""])


def test_the_alarm_sees_the_batch_once() -> None:
    class Seeing:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def observe(self, verdicts: Any, *_: Any) -> None:
            self.seen.append(len(verdicts))

    alarm = Seeing()
    reward = MathReward(alarm=alarm)  # type: ignore[arg-type]
    begun(reward)
    logged(reward)
    assert alarm.seen == [4]


def test_parts_of_a_composite_begin() -> None:
    first, second = Counting(), Counting()
    parts: Any = [
        (MathReward(verifier=first, name="one"), 1.0),
        (MathReward(verifier=second, name="two"), 2.0),
        (lambda completions, **_: [0.0] * len(completions), 1.0),
    ]
    reward = CompositeReward(parts)
    for one in begun(reward):
        one.result()
    assert logged(reward)[0] == [0.75, 0.0, 0.0, 0.0]
    assert len(first.calls) == len(second.calls) == 4


def test_what_nobody_asks_for_is_dropped_with_the_next_batch() -> None:
    until, store = threading.Event(), Ahead[int](threads=2)
    running, _ = (store.begin(name, lambda: int(until.wait(20))) for name in ("running", "too"))
    waiting = store.begin("waiting", lambda: 2)
    assert running is not None
    assert waiting is not None
    asked: list[list[int]] = []
    assert store.complete(["a", "b"], lambda rows: asked.append(rows) or rows) == [0, 1]
    assert asked == [[0, 1]]
    assert waiting.cancelled()
    until.set()
    assert running.result() == 1
    assert store.complete(["waiting"], lambda rows: [7 for _ in rows]) == [7]


def test_what_waits_for_a_thread_is_judged_as_a_batch_beside_what_runs() -> None:
    until, store = threading.Event(), Ahead[int](threads=2)
    for n in range(6):
        store.begin(n, lambda n=n: until.wait(20) and 10 + n)
    asked: list[list[int]] = []

    def batch(rows: list[int]) -> list[int]:
        asked.append(rows)
        until.set()
        return [20 + row for row in rows]

    assert store.complete([5, 4, 3, 2, 1, 0, 6], batch) == [20, 21, 22, 23, 11, 10, 26]
    assert asked == [[0, 1, 2, 3, 6]]


def test_what_cannot_be_asked_twice_at_a_time_is_not() -> None:
    """Neither beside the batch nor for another reward function."""
    at_work: list[int] = []
    most: list[int] = []
    stores = [Ahead[int](alone=True) for _ in range(2)]

    def judge() -> int:
        at_work.append(1)
        time.sleep(0.03)
        most.append(len(at_work))
        return at_work.pop()

    def batch(rows: list[int]) -> list[int]:
        return [judge() for _ in rows]

    for n in range(3):
        for store in stores:
            store.begin(n, judge)
    while not at_work:
        time.sleep(0.001)
    for store in stores:  # as the parts of a composite
        assert store.complete([0, 1, 2, 3], batch) == [1] * 4
    assert set(most) == {1}


def test_verdicts_can_be_begun_from_many_threads() -> None:
    store, calls, go = Ahead[int](threads=8), [], threading.Barrier(8)

    def tell() -> None:
        go.wait()
        for n in range(50):
            store.begin(n, lambda n=n: calls.append(n) or n)

    threads = [threading.Thread(target=tell) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    wait([store.begin(n, lambda: -1) for n in range(50)])  # type: ignore[list-item]
    assert store.complete(list(range(50)), lambda rows: [-1 for _ in rows]) == list(range(50))
    assert sorted(calls) == list(range(50))


def test_what_a_subclass_makes_of_a_batch_is_not_begun() -> None:
    class Judging(Scorer):
        def judge(self, completions: Any, golds: Any) -> Any:
            return [verdict.model_copy(update={"score": 0.5}) for verdict in super().judge(completions, golds)]

    class Verifying(Scorer):
        def _verify(self, completions: Any, golds: Any) -> Any:
            return [verdict.model_copy(update={"score": 0.5}) for verdict in super()._verify(completions, golds)]

    class Many(MathVerifier):
        def verify_many(self, completions: Any, golds: Any, *rest: Any, **more: Any) -> Any:
            found = super().verify_many(completions, golds, *rest, **more)
            return [verdict.model_copy(update={"score": 0.5}) for verdict in found]

    for scorer in (Judging(), Verifying(), Scorer(verifier=Many("boxed"))):
        for one in scorer.begin([r"\boxed{4}"], ["4"]):
            one.result()
        assert [verdict.score for verdict in scorer.judge([r"\boxed{4}"], ["4"])] == [0.5], type(scorer)


def test_a_part_that_cannot_begin_leaves_the_others_alone() -> None:
    class Part:
        def __init__(self, name: str, begin: Any) -> None:
            self.__name__, self.any_thread = name, True
            if begin is not None:
                self.begin = begin

        def __call__(self, completions: Any, **_: Any) -> list[float]:
            return [0.0] * len(completions)

    def failing(**_: Any) -> Any:
        raise ConnectionError("no server")

    parts = [(Part("nothing", None), 1.0), (Part("none", lambda **_: None), 1.0), (Part("failing", failing), 1.0)]
    reward = CompositeReward([(MathReward(), 1.0), *parts, (MathReward(name="again"), 1.0)])
    with pytest.warns(RuntimeWarning, match=r"failing.begin failed \(ConnectionError: no server\)"):
        assert len(begun(reward, [0])) == 2


def test_threads_have_the_callers_context_and_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    told = contextvars.ContextVar("told", default="nothing")
    told.set("something")
    chosen = threading.local()
    cuda = SimpleNamespace(
        is_initialized=lambda: True, current_device=lambda: 3, set_device=lambda at: setattr(chosen, "device", at)
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    store = Ahead[tuple[str, int]]()
    one = store.begin("a", lambda: (told.get(), chosen.device))
    assert one is not None
    assert one.result() == ("something", 3)


def test_no_more_is_begun_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MOST", 2)
    store = Ahead[int]()
    begun = [store.begin(n, lambda n=n: n) for n in (0, 1, 2, 0)]
    assert [one is None for one in begun] == [False, False, True, False]
    wait([one for one in begun if one])
    assert store.complete([2, 1, 0], lambda rows: [10 + row for row in rows]) == [10, 1, 0]


def test_copies_hold_nothing_of_the_original() -> None:
    reward = MathReward()
    begun(reward)
    for other in (copy.deepcopy(reward), pickle.loads(pickle.dumps(reward))):
        assert logged(other) == logged(MathReward())
    assert logged(reward) == logged(MathReward())


def test_a_fork_judges_for_itself() -> None:
    store, until = Ahead[int](), threading.Event()
    store.begin("a", lambda: int(until.wait(20)))
    child = os.fork()
    if child == 0:
        found = store.complete(["a"], lambda rows: [5 for _ in rows])
        (again := store.begin("a", lambda: 6)) and again.result(10)
        os._exit(0 if found == [5] and store.complete(["a"], lambda _: [7]) == [6] else 1)
    assert os.waitpid(child, 0)[1] == 0
    until.set()
    assert store.complete(["a"], lambda _: [9]) == [1]
