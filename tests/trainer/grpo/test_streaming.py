"""Completions that are finished one by one are judged while the others are generated. With vLLM: tests/vllm_cpu."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tinytraining import MARKS, build, every_third, questions, scripted, varied

from markscheme.trainer import streaming  # isort: skip
from markscheme.verifiers import MathVerifier, Verdict  # isort: skip
from markscheme.verifiers.rewards import Ahead, MathReward  # isort: skip

torch = pytest.importorskip("torch")
pytestmark = MARKS


class Told(MathVerifier):
    """Keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__("last_number")
        self.texts: list[str] = []

    def verify(self, completion: str, gold: str) -> Verdict:
        self.texts.append(completion)
        return super().verify(completion, gold)


def one_by_one(prompts: list[Any], trainer: Any, *, rows: Any = None) -> Any:
    """The completions of `scripted`, told of one after the other, the last first."""
    made = scripted(prompts, trainer)
    for row in reversed(range(len(prompts))) if rows is None else rows:
        trainer.begin_rewards(row, made["completion_ids"][row])
    return made


def slowly(prompts: list[Any], trainer: Any) -> Any:
    """The same; the batch is not whole before every verdict that was begun is there."""
    made = one_by_one(prompts, trainer)
    assert not wait([one.future for one in trainer._overlap.begun], timeout=20).not_done
    return made


def without_time(trainer: Any) -> list[dict[str, Any]]:
    timed = ("time", "runtime", "per_second", "verification/", "flos")
    return [{k: v for k, v in entry.items() if not any(t in k for t in timed)} for entry in trainer.state.log_history]


@pytest.mark.parametrize("chats", [False, True])
def test_verdicts_are_begun_before_the_batch_is_whole(policy: Path, tmp_path: Path, *, chats: bool) -> None:
    data = questions(16).map(lambda row: {"answer": str(row["number"] % 3)})
    if chats:
        data = data.map(lambda row: {"prompt": [{"role": "user", "content": row["prompt"]}]})
    ended = []
    for which in ("none", "known"):
        verifier = Told()
        trainer = build(
            policy,
            tmp_path / which,
            overlap_rewards=which,
            log_completions=True,
            max_steps=3,
            train_dataset=data,
            reward_funcs=[MathReward(verifier=verifier), varied],
            rollout_func=slowly,
        )
        trainer.train()
        ended.append((without_time(trainer), trainer._logs, sorted(set(verifier.texts))))
        assert [entry["verification/early_frac"] for entry in trainer.state.log_history[:3]] == [
            float(which == "known")
        ] * 3
    assert ended[0] == ended[1]


def test_a_part_of_a_batch_and_steps(policy: Path, tmp_path: Path) -> None:
    """Half of the rows are told of; what was begun for rows that change is worth nothing, and harms nothing."""
    began: list[int] = []

    class Steps:
        any_thread = True

        def begin(self, *, completion_ids: Any, number: Any, **columns: Any) -> list[Any]:
            began.append(len(completion_ids))
            assert len(number) == len(columns["completions"]) == 1
            raise RuntimeError("told with the batch, if it matters there")

        def __call__(self, completion_ids: Any, **_: Any) -> Any:
            return every_third(completion_ids)

    trainer = build(
        policy,
        tmp_path,
        max_steps=1,
        supervision="process",
        step_reward_func=Steps(),
        rollout_func=lambda prompts, trainer: one_by_one(prompts, trainer, rows=range(4)),
    )
    with pytest.warns(RuntimeWarning, match=r"begin failed \(RuntimeError: told with the batch"):
        trainer.train()
    assert began == [1] * 4
    assert trainer.state.log_history[0]["verification/early_frac"] == 0.0
    with pytest.raises(IndexError, match="there is no row 8, the batch has 8"):
        build(policy, tmp_path, rollout_func=lambda _, trainer: trainer.begin_rewards(8, [3]), max_steps=1).train()


def test_a_failed_step_waits_for_nothing_that_never_comes(policy: Path, tmp_path: Path) -> None:
    class Server:
        __name__, any_thread = "server", True

        def __init__(self) -> None:
            self.promised: list[Future[float]] = []

        def begin(self, **_: Any) -> list[Future[float]]:
            self.promised.append(Future())  # of a client that has threads of its own
            return self.promised[-1:]

        def __call__(self, completion_ids: Any, **_: Any) -> Any:
            raise ConnectionError("gone")

    server = Server()
    trainer = build(policy, tmp_path, reward_funcs=[server], rollout_func=one_by_one, max_steps=1)
    with pytest.raises(ConnectionError):
        trainer.train()
    assert len(server.promised) == 8
    assert all(one.cancelled() for one in server.promised)


def test_only_verdicts_that_were_given_early_count_as_early(policy: Path, tmp_path: Path) -> None:
    until = threading.Event()

    class Slow:
        __name__, any_thread = "slow", True

        def __init__(self) -> None:
            self.ahead = Ahead[float](threads=1)

        def begin(self, *, completion_ids: Any, **_: Any) -> Any:
            return [self.ahead.begin(tuple(ids), lambda: float(until.wait(20))) for ids in completion_ids]

        def __call__(self, completion_ids: Any, **_: Any) -> list[float]:
            def batch(rows: list[int]) -> list[float]:
                until.set()
                return [0.0 for _ in rows]

            return self.ahead.complete([tuple(ids) for ids in completion_ids], batch)

    trainer = build(policy, tmp_path, reward_funcs=[Slow()], rollout_func=one_by_one, max_steps=1)
    trainer.train()
    assert trainer.state.log_history[0]["verification/early_frac"] == 1 / 8


@pytest.mark.filterwarnings("ignore:odd.begin failed .TypeError:RuntimeWarning")
@pytest.mark.parametrize("returned", [None, [True], [None, 5], 5])
def test_what_is_no_future_is_passed_over(policy: Path, tmp_path: Path, returned: Any) -> None:
    class Odd:
        __name__, any_thread = "odd", True

        def begin(self, **_: Any) -> Any:
            return returned

        def __call__(self, completion_ids: Any, **_: Any) -> list[float]:
            return varied(completion_ids)

    trainer = build(policy, tmp_path, reward_funcs=[Odd()], rollout_func=one_by_one, max_steps=1)
    trainer.train()
    assert trainer.state.log_history[0]["verification/early_frac"] == 0.0


def test_groups_that_are_refilled(policy: Path, tmp_path: Path) -> None:
    data = questions(16).map(lambda row: {"answer": str(row["number"] % 3)})
    verifier = Told()
    trainer = build(
        policy,
        tmp_path,
        refill_rounds=2,
        max_steps=2,
        train_dataset=data,
        reward_funcs=[MathReward(verifier=verifier)],
        rollout_func=slowly,
    )
    trainer.train()
    assert [entry["verification/early_frac"] for entry in trainer.state.log_history[:2]] == [1.0, 1.0]
    assert max(entry["refill/rounds"] for entry in trainer.state.log_history[:2]) > 0


# -- which completions an engine finished ------------------------------------------------------------------------------


class Engine:
    """As much of vLLM's engine as is listened to: requests are finished by twos, the last first, in two steps each."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, list[int]]] = []

    def add_request(self, request_id: str, prompt: list[int], *, priority: int = 0) -> str:
        self.waiting.append((request_id, prompt))
        return f"{request_id}-internal"

    def step(self) -> list[Any]:
        done, self.waiting = self.waiting[-2:], self.waiting[:-2]
        return [
            SimpleNamespace(request_id=request_id, finished=finished, outputs=[SimpleNamespace(token_ids=(*prompt, 7))])
            for request_id, prompt in done
            for finished in (False, True)
        ]


def fake(engine: Any, **given: Any) -> Any:
    generation = SimpleNamespace(
        llm=SimpleNamespace(llm_engine=engine),
        tensor_parallel_size=given.pop("tensor_parallel_size", 1),
        tp_group=None,
    )
    attributes = {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "rollout_func": None,
        "tools": None,
        "environments": None,
        "processing_class": object(),
        "vllm_generation": generation,
    }
    return SimpleNamespace(**attributes | given)


def generate(engine: Engine, first: int, count: int) -> None:
    for row in range(count):
        engine.add_request(str(first + row), [row], priority=0)
    while engine.waiting:
        engine.step()


def test_rows_are_told_as_they_are_finished() -> None:
    engine, told = Engine(), []
    for first in (0, 17):
        with streaming.finished(fake(engine), 3, lambda row, ids: told.append((row, ids))):
            generate(engine, first, 3)
        assert told == [(1, [1, 7]), (2, [2, 7]), (0, [0, 7])]
        told.clear()
    generate(engine, 30, 3)
    assert told == []


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_of_a_tensor_parallel_group_hears_of_its_own_rows(monkeypatch: pytest.MonkeyPatch, rank: int) -> None:
    monkeypatch.setattr(torch.distributed, "get_rank", lambda group: rank)
    engine, told = Engine(), {}
    with streaming.finished(fake(engine, tensor_parallel_size=2), 2, told.__setitem__):
        generate(engine, 5, 4)
    assert told == {0: [2 * rank, 7], 1: [2 * rank + 1, 7]}


def test_where_no_engine_tells_nothing_is_listened_to() -> None:
    engine = Engine()
    assert streaming.engine_of(fake(engine)) is engine
    for given in (
        {"use_vllm": False},
        {"vllm_mode": "server"},
        {"rollout_func": scripted},
        {"tools": [print]},
        {"environments": [object()]},
        {"processing_class": SimpleNamespace(response_schema={"x": 1})},
        {"processing_class": SimpleNamespace(tokenizer=SimpleNamespace(response_template="x"))},
        {"vllm_generation": SimpleNamespace()},
    ):
        assert streaming.engine_of(fake(engine, **given)) is None, given
        with streaming.finished(fake(engine, **given), 3, lambda *_: pytest.fail("told")):
            generate(engine, 0, 3)


def test_the_engine_is_left_as_it_was_by_an_error() -> None:
    engine = Engine()
    with pytest.raises(ZeroDivisionError), streaming.finished(fake(engine), 3, lambda *_: None):
        raise ZeroDivisionError
    assert vars(engine).keys() == {"waiting"}, "and can be let go of: nothing in it refers to it"
    engine.step = one = list
    with streaming.finished(fake(engine), 3, lambda *_: None):
        pass
    assert engine.step is one
