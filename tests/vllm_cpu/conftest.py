"""vLLM itself, on a CPU: `make test-vllm` makes the environment and runs these. Elsewhere they are skipped.

Each engine lives in a process of its own: vLLM binds threads and sets up process groups for good.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
NEEDED = "needs vLLM's CPU build: make test-vllm"

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # engines live in the script's own process
    "TRL_EXPERIMENTAL_SILENCE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB; vLLM would take a good part of the machine's memory
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # threads stay where the scheduler puts them: a CI machine is shared
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}


def has_vllm() -> bool:
    return importlib.util.find_spec("vllm") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.train)
            # What vLLM, TRL and transformers warn of among themselves is theirs to mend.
            item.add_marker(pytest.mark.filterwarnings("default"))
            if not has_vllm():
                item.add_marker(pytest.mark.skip(reason=NEEDED))


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """Of every process with an engine: this one's, with the same modules, and vLLM's settings for tests."""
    path = os.pathsep.join([str(HERE.parent), *(entry for entry in sys.path if entry)])
    return {**os.environ, **ENVIRONMENT, "PYTHONPATH": path}


class Ended(dict[str, Any]):
    """What a script left: ``code``, ``output`` (the end of what it printed) and what it wrote."""


@pytest.fixture(scope="session")
def forge(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The process that runs scripts; see `scripts/forge.py`."""
    command = [sys.executable, str(HERE / "scripts" / "forge.py")]
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    yield process
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.fixture(scope="session")
def script(forge: subprocess.Popen[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Run a script of `scripts/` with settings; return what it wrote, its exit ``code`` and its ``output``'s end."""

    def run(name: str, settings: dict[str, Any], **variables: str) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp(name)
        (folder / "settings.json").write_text(json.dumps(settings))
        assert forge.stdin is not None
        assert forge.stdout is not None
        forge.stdin.write(json.dumps({"script": name, "folder": str(folder), "variables": variables}) + "\n")
        forge.stdin.flush()
        answer = forge.stdout.readline()
        assert answer, f"the process that runs scripts ended with {forge.wait()}"
        found, output = folder / "found.json", (folder / "output.txt").read_text()
        written = json.loads(found.read_text()) if found.exists() else {}
        return {**json.loads(answer), "output": output[-8000:], **written}

    return run


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy of a few thousand weights; a head is 32 wide, the least that vLLM's attention takes on a CPU."""
    from tinymodels import save_policy  # noqa: PLC0415

    return save_policy(tmp_path_factory.mktemp("policy"), hidden=128)


@pytest.fixture(scope="session")
def other_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with other weights."""
    from tinymodels import save_policy  # noqa: PLC0415

    return save_policy(tmp_path_factory.mktemp("other"), hidden=128, seed=1)
