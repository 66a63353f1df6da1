"""A real vLLM server, started by the command that a recipe's rollouts come to."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FORKED = {"VLLM_WORKER_MULTIPROC_METHOD": "fork"}  # the engine's process does not import everything again
SECONDS = 600
"""For a server to come up, on a machine that does other things too."""


@pytest.fixture(scope="module")
def url(policy: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    import httpx  # noqa: PLC0415

    from markscheme.trainer.rollouts import Rollouts, server_command  # noqa: PLC0415

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rollouts = Rollouts.read({"mode": "server", "dtype": "float32", "enforce_eager": True, "max_model_len": 64})
    server = server_command(rollouts, str(policy), SimpleNamespace(vllm_server_port=port))
    output = tmp_path_factory.mktemp("server") / "output.txt"
    with output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "scripts" / "serve.py"), *server.command[1:]],
            env={**environment, **server.environment, "VLLM_ENABLE_V1_MULTIPROCESSING": "1", **FORKED},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + SECONDS
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                    break
            assert process.poll() is None, output.read_text()[-6000:]
            assert time.monotonic() < end, output.read_text()[-6000:]
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def test_completions_by_openais_protocol_are_transformers(url: str, policy: Path) -> None:
    from markscheme.benchmarks.rollouts import Prompt, Sampling, open_backend  # noqa: PLC0415

    prompts = [Prompt(text=text) for text in ("1+1=", "20+7=", "(3-1)*8=", "5*5=")]
    sampling = Sampling(max_tokens=12)
    theirs = open_backend("transformers", str(policy), dtype="float32").generate(prompts, sampling, 0)
    ours = open_backend(f"{url}/v1", str(policy)).generate(prompts, sampling, 0)
    assert [[one.text for one in group] for group in ours] == [[one.text for one in group] for group in theirs]


def test_what_trls_client_asks_of_it_is_there(url: str) -> None:
    """All that comes before weights are sent, which needs CUDA."""
    from trl.generation.vllm_client import VLLMClient  # noqa: PLC0415

    client = VLLMClient(base_url=url)
    assert client.get_world_size() == 1
    info: dict[str, Any] = client.get_server_info()
    assert info["model_config"]["logprobs_mode"] == "processed_logprobs"
    assert info["weight_transfer_config"] is not None
    with pytest.raises(NotImplementedError, match="needs a CUDA device"):
        client.init_communicator(device="cpu")
    made = client.generate([[3, 4, 5]], n=2, max_tokens=4, temperature=0.7, top_k=4)
    assert [len(ids) for ids in made["logprobs"]] == [len(ids) for ids in made["completion_ids"]]
