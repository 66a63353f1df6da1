"""The routes with a real sandbox."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from .conftest import ScriptedSandbox, Serve, require_level, wait_until

if TYPE_CHECKING:
    import httpx

ADD = "print(sum(map(int, input().split())))"


def test_health_and_openapi(real: httpx.Client) -> None:
    health = real.get("/health").json()
    assert health["status"] == "ok"
    assert health["level"] in {2, 3}
    assert (health["workers"], health["queue"], health["pending"]) == (2, 64, 0)
    paths = real.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/grade", "/health", "/judge", "/run", "/run_code", "/score"}
    assert real.get("/docs").status_code == 404


@pytest.mark.parametrize(
    ("asked", "outcome", "answer"),
    [
        ({"completion": "so \\boxed{\\frac12}", "gold": "0.5"}, "correct", "\\frac12"),
        ({"completion": "so \\boxed{3}", "gold": "0.5", "reading": "boxed"}, "incorrect", "3"),
        ({"completion": "I cannot say.", "gold": "0.5", "reading": "boxed"}, "unreadable", None),
        ({"answer": "", "gold": "1"}, "unreadable", ""),
        ({"answer": "50", "gold": "50\\%", "policy": {"percent": "strict"}}, "incorrect", "50"),
    ],
)
def test_grade(real: httpx.Client, asked: dict[str, object], outcome: str, answer: str | None) -> None:
    verdict = real.post("/grade", json=asked).json()
    assert (verdict["outcome"], verdict["answer"]) == (outcome, answer)
    assert verdict["detail"]


@pytest.mark.parametrize(
    "asked",
    [
        {"gold": "1"},
        {"gold": "1", "answer": "1", "completion": "1"},
        {"answer": "1"},
        {"answer": "1", "gold": "1", "reading": "?"},
    ],
)
def test_grade_says_what_is_missing(real: httpx.Client, asked: dict[str, object]) -> None:
    assert real.post("/grade", json=asked).status_code == 422


def test_run(real: httpx.Client) -> None:
    program = (
        "import sys\nprint(input(), sys.argv[1:])\nsys.stdout.flush()\nsys.stdout.buffer.write(b'\\xff')\nsys.exit(3)"
    )
    done = real.post("/run", json={"code": program, "stdin": "é\n", "argv": ["a", "b"]}).json()
    assert (done["outcome"], done["exit_code"], done["signal"]) == ("runtime_error", 3, None)
    assert done["stdout"] == "é ['a', 'b']\n\ufffd"
    assert done["level"] in {2, 3}
    assert "result" not in done


def test_limits_are_clamped(serve: Serve) -> None:
    sandbox = ScriptedSandbox()
    client = serve(sandbox)
    huge = {"cpu_seconds": 1e9, "wall_seconds": 1e9, "memory_bytes": 2**60, "processes": 64, "output_bytes": 2**40}
    done = client.post("/run", json={"code": "x", "limits": huge}).json()
    most = client.app.state.engine.settings.limits
    assert sandbox.limits == [most.model_copy(update={"files": 0})]
    assert done["limits"] == sandbox.limits[0].model_dump()
    small = {"cpu_seconds": 0.5, "memory_bytes": 1, "output_bytes": 10}
    done = client.post("/run", json={"code": "x", "limits": small}).json()
    assert (done["limits"]["cpu_seconds"], done["limits"]["memory_bytes"]) == (0.5, 64 * 2**20)
    for bad in ({"cpu_seconds": -1}, {"cpu_seconds": "NaN"}, {"speed": 1}, {"processes": 0}):
        assert client.post("/run", json={"code": "x", "limits": bad}).status_code == 422


def test_what_the_level_does_not_give_is_said(serve: Serve) -> None:
    answer = serve(ScriptedSandbox(level=2)).post("/run", json={"code": "x", "limits": {"files": 1}})
    assert (answer.status_code, "need level 3" in answer.json()["detail"]) == (422, True)


def test_a_run_ends_at_its_limits(real: httpx.Client) -> None:
    done = real.post("/run", json={"code": "while True: pass", "limits": {"cpu_seconds": 0.2}}).json()
    assert done["outcome"] == "time"
    done = real.post("/run", json={"code": "print('x' * 100)", "limits": {"output_bytes": 10}}).json()
    assert (done["outcome"], done["stdout"]) == ("output", "x" * 10)


def test_judge(real: httpx.Client) -> None:
    cases = [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "2 2\n", "stdout": "4\n"}]
    verdict = real.post("/judge", json={"solution": ADD, "cases": cases}).json()
    assert (verdict["outcome"], verdict["score"], len(verdict["cases"])) == ("correct", 1.0, 2)
    verdict = real.post("/judge", json={"completion": f"```python\n{ADD}\n```", "cases": cases}).json()
    assert verdict["outcome"] == "correct"
    wrong = {"solution": "print(3)", "cases": cases, "score": "fraction"}
    verdict = real.post("/judge", json=wrong).json()
    assert (verdict["outcome"], verdict["score"], verdict["reason"]) == ("incorrect", 0.5, "wrong_answer")
    calls = [{"function": "f", "arguments": [1], "expected": 2}]
    assert real.post("/judge", json={"solution": "def f(x): return x + 1", "cases": calls}).json()["score"] == 1.0
    assert (
        real.post("/judge", json={"solution": "def f(x): return 2", "tests": "assert f(1) == 2"}).json()["score"] == 1.0
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"solution": "x", "cases": []}, "no cases are never a pass"),
        ({"solution": "x"}, '"cases"'),
        ({"solution": "x", "cases": [{}]}, "case 0"),
        ({"solution": "x", "tests": "def ("}, "not Python"),
        ({"solution": "x", "cases": [{"stdin": "", "stdout": ""}] * 1001}, "at most 1000"),
        ({"cases": [{"stdin": "", "stdout": ""}]}, "completion or solution"),
    ],
)
def test_judge_says_what_is_wrong_with_its_cases(real: httpx.Client, asked: dict[str, object], said: str) -> None:
    answer = real.post("/judge", json=asked)
    assert answer.status_code == 422
    assert said in str(answer.json()["detail"])


def test_lone_surrogates_in_cases_are_refused(real: httpx.Client) -> None:
    body = b'{"solution": "x", "cases": [{"stdin": "\\ud800", "stdout": ""}]}'
    answer = real.post("/judge", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422


def test_a_client_that_goes_ends_its_running_program(real: httpx.Client) -> None:
    import httpx

    asked = {"code": "while True: pass", "limits": {"cpu_seconds": 10}}
    start = time.monotonic()
    with pytest.raises(httpx.ReadTimeout):
        real.post("/run", json=asked, timeout=0.3)
    wait_until(lambda: real.get("/health").json()["pending"] == 0)
    calls = [
        threading.Thread(target=real.post, args=("/run",), kwargs={"json": {"code": "print(1)"}}) for _ in range(4)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert time.monotonic() - start < 8, "the program ran on to its limit of 10 s"


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/judge", {"solution": "while True: pass", "cases": [{"stdin": "", "stdout": ""}] * 9, "score": "fraction"}),
        ("/run_code", {"code": "while (true);", "language": "nodejs"}),
    ],
)
def test_a_client_that_goes_ends_its_judgement(real: httpx.Client, path: str, asked: dict[str, object]) -> None:
    import httpx

    if path == "/run_code":
        require_level(3)
    start = time.monotonic()
    with pytest.raises(httpx.ReadTimeout):
        real.post(path, json=asked, timeout=0.7)
    wait_until(lambda: real.get("/health").json()["pending"] == 0)
    assert time.monotonic() - start < 8, "the program ran on to its limit of 10 s"


def test_many_clients_at_once(real: httpx.Client) -> None:
    answers: list[str] = []

    def ask(number: int) -> None:
        answers.append(real.post("/run", json={"code": f"print({number})"}).json()["stdout"])

    calls = [threading.Thread(target=ask, args=(n,)) for n in range(24)]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert sorted(answers) == sorted(f"{n}\n" for n in range(24))
