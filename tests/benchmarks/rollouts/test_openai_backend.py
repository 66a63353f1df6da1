"""Against a real server on the loopback that speaks OpenAI's protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from markscheme.benchmarks.rollouts import Generated, Prompt, Sampling
from markscheme.benchmarks.rollouts.openai_backend import OpenAIBackend, ServerError
from markscheme.verifiers.errors import DataError
from openai_server import Server, serving

pytest.importorskip("httpx", reason="needs httpx: pip install markscheme[bench]")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def backend(server: Server) -> OpenAIBackend:
    made = OpenAIBackend(server.url, "model")
    made.first_wait = 0.01
    return made


def test_chat_and_plain(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    sampling = Sampling(n=2, temperature=0.7, top_k=4, stop=("\n",))
    chat = Prompt(messages=({"role": "user", "content": "1 + 1"},))
    assert backend(server).generate([chat], sampling, 5) == [
        [Generated("m0", 10, "stop"), Generated("m1", 10, "length")]
    ]
    assert backend(server).generate([Prompt(text="1 + 1 =")], sampling, 5)[0][1] == Generated("t1", 10, "length")
    first, second = server.asked
    assert first["path"] == "/v1/chat/completions"
    assert second["path"] == "/v1/completions"
    assert first["key"] == "Bearer secret"
    assert {"n": 2, "temperature": 0.7, "top_k": 4, "stop": ["\n"], "seed": 5}.items() <= first.items()


def test_answers_keep_the_order_of_the_prompts(server: Server) -> None:
    prompts = [Prompt(text=str(n)) for n in range(40)]
    assert len(backend(server).generate(prompts, Sampling(), 0)) == 40
    assert sorted(int(one["prompt"]) for one in server.asked) == list(range(40))
    assert len({one["seed"] for one in server.asked}) == 40


def test_within_a_running_loop(server: Server) -> None:
    async def cell() -> list[list[Generated]]:
        return backend(server).generate([Prompt(text="1 + 1 =")], Sampling(), 0)

    assert asyncio.run(cell()) == [[Generated("t0", 10, "stop")]]


def test_seeds_stand_as_far_apart_as_a_prompt_has_completions(server: Server) -> None:
    backend(server).generate([Prompt(text=str(n)) for n in range(3)], Sampling(n=4, temperature=1.0), 7)
    assert {one["prompt"]: one["seed"] for one in server.asked} == {"0": 7, "1": 11, "2": 15}


def test_what_fails_for_now_is_tried_again(server: Server) -> None:
    server.statuses = [429, 503]
    assert backend(server).generate([Prompt(text="a")], Sampling(), 0) == [[Generated("t0", 10, "stop")]]
    assert len(server.asked) == 3
    server.statuses = [500] * 20
    with pytest.raises(ServerError, match="failed 6 times; the last time: status 500"):
        backend(server).generate([Prompt(text="a")], Sampling(), 0)


def test_a_refusal_is_shown(server: Server) -> None:
    server.statuses = [400]
    server.body = b'{"error": "no such model"}'
    with pytest.raises(DataError, match=r"refuses: status 400: .*no such model"):
        backend(server).generate([Prompt(text="a")], Sampling(), 0)
    server.body = b"<html>"
    with pytest.raises(DataError, match="expected JSON, found '<html>': is this the URL up to and with /v1"):
        backend(server).generate([Prompt(text="a")], Sampling(), 0)
    server.body = b'{"choices": []}'
    with pytest.raises(DataError, match="asked for 1 completions, got 0"):
        backend(server).generate([Prompt(text="a")], Sampling(), 0)
