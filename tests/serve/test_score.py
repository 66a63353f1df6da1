"""/score: the judge of steps over HTTP."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from markscheme.verifiers.errors import StepDataError

from .conftest import ScriptedSandbox, Serve, wait_until

if TYPE_CHECKING:
    import httpx


class ScriptedJudge:
    """Scores a step by its length over 100; ``beyond`` has no score, ``bad`` cannot be laid out, ``slow`` waits."""

    threshold = 0.25

    def __init__(self) -> None:
        self.at_once = self.most_at_once = self.batches = 0
        self.let_go = threading.Event()
        self.lock = threading.Lock()

    def score_many(self, items: Any, *, done: Any = None) -> list[list[float]]:
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            bad = [(row, "", "step 0 holds the separator") for row, (_, steps) in enumerate(items) if "bad" in steps]
            if bad:
                raise StepDataError(bad)
            for _, steps in items:
                if "slow" in steps:
                    self.let_go.wait(20)
                self.batches += 1
                done(1)
            return [[math.nan if step == "beyond" else len(step) / 100 for step in steps] for _, steps in items]
        finally:
            with self.lock:
                self.at_once -= 1


@pytest.fixture
def judge() -> ScriptedJudge:
    return ScriptedJudge()


@pytest.fixture
def client(serve: Serve, judge: ScriptedJudge) -> httpx.Client:
    return serve(ScriptedSandbox(), judge, judge="somewhere/my-judge", steps=20, queue=2, workers=4)


def test_one_solution_and_several(client: httpx.Client) -> None:
    one = client.post("/score", json={"problem": "p", "steps": ["a" * 90, "b" * 40]})
    assert one.json() == {"scores": [[0.9, 0.4]], "solutions": [0.4], "threshold": 0.25, "judge": "my-judge"}
    several = {"solutions": [{"problem": "p", "steps": ["a" * 10]}, {"problem": "q", "steps": ["b" * 20, "beyond"]}]}
    found = client.post("/score", json={**several, "aggregation": "last"}).json()
    assert found["scores"] == [[0.1], [0.2, None]]
    assert found["solutions"] == [0.1, None]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "expected problem and steps, or solutions"),
        ({"problem": "p"}, "expected problem and steps, or solutions"),
        ({"problem": "p", "steps": ["a"], "solutions": [{"problem": "p", "steps": ["a"]}]}, "one of the two"),
        ({"problem": "p", "steps": []}, "at least 1"),
        ({"problem": "p", "steps": ["a"], "aggregation": "max"}, "softmin"),
        ({"problem": "p", "steps": ["a"] * 21}, "steps: at most 20 in one request, not 21"),
        (
            {"solutions": [{"problem": "p", "steps": ["x"]}, {"problem": "p", "steps": ["bad"]}]},
            "solution 1: step 0 holds",
        ),
    ],
)
def test_what_cannot_be_scored_is_said(client: httpx.Client, body: dict[str, Any], said: str) -> None:
    answer = client.post("/score", json=body)
    assert answer.status_code == 422
    assert said in answer.text


def test_a_server_without_a_judge_says_so(scripted: httpx.Client) -> None:
    answer = scripted.post("/score", json={"problem": "p", "steps": ["a"]})
    assert answer.status_code == 404
    assert "start it with --judge CHECKPOINT" in answer.text
    assert scripted.get("/health").json()["judge"] == ""


def test_requests_come_to_the_judge_one_at_a_time_and_leave_the_rest_free(
    client: httpx.Client, judge: ScriptedJudge
) -> None:
    slow = {"problem": "p", "steps": ["slow"]}
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(client.post, "/score", json=slow) for _ in range(3)]
        wait_until(lambda: client.get("/health").json()["scoring"] == 3)
        assert client.post("/score", json=slow).status_code == 429, "the judge's queue is full …"
        assert client.post("/run", json={"code": "hello"}).json()["stdout"] == "hello", "… and no one else waits for it"
        judge.let_go.set()
        assert [one.result().status_code for one in waiting] == [200] * 3
    assert judge.most_at_once == 1


def test_a_client_that_goes_ends_its_request_after_the_batch_at_work(
    client: httpx.Client, judge: ScriptedJudge
) -> None:
    import httpx

    body = {"solutions": [{"problem": "p", "steps": ["slow"]}, *[{"problem": "p", "steps": ["a"]}] * 5]}
    with pytest.raises(httpx.ReadTimeout):
        client.post("/score", json=body, timeout=0.3)
    time.sleep(0.2)
    judge.let_go.set()
    wait_until(lambda: client.get("/health").json()["scoring"] == 0)
    assert judge.batches == 1


def test_the_token_is_asked_for(client: httpx.Client) -> None:
    answer = client.post("/score", json={"problem": "p", "steps": ["a"]}, headers={"authorization": "Bearer no"})
    assert answer.status_code == 401


@pytest.mark.train
def test_a_trained_judge_is_loaded_and_served(serve: Serve, tmp_path: Any) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
    pytest.importorskip("transformers", reason="needs transformers: pip install markscheme[train]")
    import tiny_judges as tiny
    from markscheme.prm.scoring import PRMScorer

    folder = tiny.save_small_judge(tmp_path / "judge")
    client = serve(ScriptedSandbox(), judge=str(folder), judge_format="trl")
    problem, steps = tiny.SHORT
    found = client.post("/score", json={"problem": problem, "steps": steps}).json()
    expected = PRMScorer.from_pretrained(folder, format="trl").score(problem, steps)
    assert found["scores"][0] == pytest.approx(expected, abs=1e-6)
    assert found["judge"] == "judge"
