"""``markscheme sample`` and ``eval --model`` with a server's URL: what it is asked, and what a stopped run keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes import Run, read_jsonl, write_jsonl
from openai_server import Server, serving

pytest.importorskip("httpx", reason="needs httpx: pip install markscheme[bench]")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [{"question": f"What is {i} + {i}?", "answer": f"It is {2 * i}.\n#### {2 * i}"} for i in range(40)]
    return write_jsonl(tmp_path / "gsm8k.jsonl", rows)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def asked(server: Server, data: Path, *more: object) -> tuple[object, ...]:
    return ("gsm8k", "--model", "m", "--backend", server.url, "--data", data, *more)


def test_what_a_server_is_asked(run: Run, server: Server, data: Path, tmp_path: Path) -> None:
    """Turns of examples, n, the preset's settings, and a seed of each problem's own that is the same the next time."""
    args = asked(server, data, "--limit", 2, "-n", 4, "--shots", 2, "--preset", "focused", "--seed", 7)
    text = run("eval", *args, "--completions", tmp_path / "s.jsonl").stdout
    assert "problems: 2" in text
    assert "pass@4: 0.0 %\nmaj@4: 0.0 %" in text
    first = sorted(server.asked, key=lambda body: body["messages"][-1]["content"])
    assert {(body["n"], body["temperature"], body["top_k"], body["model"]) for body in first} == {(4, 0.7, 4, "m")}
    roles = [message["role"] for message in first[0]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert first[0]["messages"][-1]["content"].endswith("What is 0 + 0?")
    assert first[0]["messages"][1]["content"].endswith("The answer is \\boxed{43}.")
    assert first[0]["seed"] != first[1]["seed"]
    server.asked.clear()
    run("sample", *args, "-o", tmp_path / "again.jsonl")
    assert sorted(server.asked, key=lambda body: body["messages"][-1]["content"]) == first
    server.asked.clear()
    run("sample", *args, "-o", tmp_path / "other.jsonl", "--seed", 8)
    assert not {body["seed"] for body in server.asked} & {body["seed"] for body in first}


def test_a_plain_prompt(run: Run, server: Server, data: Path, tmp_path: Path) -> None:
    run("sample", *asked(server, data, "--limit", 1, "--style", "plain", "--shots", 1), "-o", tmp_path / "s.jsonl")
    (body,) = server.asked
    assert body["path"] == "/v1/completions"
    assert body["temperature"] == 0
    assert body["prompt"].endswith("The answer is \\boxed{43}.\n\nQuestion: What is 0 + 0?\nAnswer:")
    assert body["stop"] == ["\nQuestion:"]


def test_a_server_that_refuses_half_way_loses_nothing(run: Run, server: Server, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    args = ("sample", *asked(server, data), "-o", out)
    server.statuses = [200] * 32 + [400] * 8
    assert "refuses: status 400" in run(*args, code=2).stderr
    kept = out.read_bytes()
    assert [row["index"] for row in read_jsonl(out)] == list(range(32))
    server.asked.clear()
    server.statuses = []
    assert "samples of 40 problems" in run(*args).stdout
    assert len({str(one["messages"]) for one in server.asked}) == 8, "no problem of those that are kept"
    assert out.read_bytes().startswith(kept)
    assert [row["index"] for row in read_jsonl(out)] == list(range(40))
    server.asked.clear()
    run("eval", *asked(server, data), "--completions", out)
    assert not server.asked
    changed = run(*args, "--temperature", 0.5, code=2).stderr
    assert "are of another model or other settings" in changed


def test_the_bar_goes_on_from_what_is_there(
    run: Run, server: Server, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[str, int, int]] = []
    moved: list[int] = []

    @contextmanager
    def bar(what: str, total: int, done: int = 0) -> Iterator[Callable[[int], None]]:
        drawn.append((what, total, done))
        yield moved.append

    monkeypatch.setattr("markscheme.cli.progress.bar", bar)
    args = ("sample", *asked(server, data), "-o", tmp_path / "s.jsonl")
    run(*args, "--limit", 33)
    run(*args)
    assert drawn == [("sampling", 33, 0), ("sampling", 40, 33)]
    assert moved == [32, 1, 7]
