from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from markscheme.verifiers.code.outcomes import Execution, Limits, RunOutcome

if TYPE_CHECKING:
    import httpx

TOKEN = "a-token-for-tests-0123456789"


class ScriptedSandbox:
    """Does what the program says: ``broken``, ``slow`` (until cancelled), ``boom``; else it finishes with its code."""

    def __init__(self, level: int = 3) -> None:
        self.level = level
        self.workers = 1
        self.limits: list[Limits | None] = []
        self.started = 0
        self.cancelled = 0

    async def arun(
        self, code: str, stdin: bytes | str = b"", argv: Sequence[str] = (), *, limits: Limits | None = None
    ) -> Execution:
        self.limits.append(limits)
        self.started += 1
        if code == "boom":
            raise ZeroDivisionError(f"secret {code}")
        if code == "broken":
            return Execution(outcome=RunOutcome.BROKEN, detail="the zygote is gone", level=self.level)
        if code == "slow":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        return Execution(outcome=RunOutcome.FINISHED, exit_code=0, stdout=code.encode(), level=self.level)

    async def acall(
        self, code: str, function: str, arguments: Sequence[Any] = (), keywords: Mapping[str, Any] | None = None,
        *, stdin: bytes = b"", limits: Limits | None = None, result_bytes: int = 0,
    ) -> Execution:  # fmt: skip
        return await self.arun(arguments[0][0], stdin, limits=limits)

    def reset(self) -> None:
        self.limits.clear()
        self.started = self.cancelled = 0

    def close(self) -> None:
        raise AssertionError("a sandbox that was given is not closed")


Serve = Callable[..., "httpx.Client"]


@pytest.fixture
def serve(request: pytest.FixtureRequest) -> Iterator[Serve]:
    """Start a real server on a free port; returns a client with the token. Settings by keyword."""
    with contextlib.ExitStack() as stack:

        def start(sandbox: object = None, scorer: object = None, **settings: Any) -> httpx.Client:
            return stack.enter_context(running(sandbox, scorer, **settings))

        yield start


@pytest.fixture(scope="session")
def scripted_server() -> Iterator[httpx.Client]:
    with running(ScriptedSandbox(), body_bytes=4096, body_seconds=0.5, files=2) as client:
        yield client


@pytest.fixture
def scripted(scripted_server: httpx.Client) -> httpx.Client:
    """A server with a scripted sandbox, small bodies and two files a request, shared by the tests."""
    scripted_server.sandbox.reset()
    scripted_server.headers["authorization"] = f"Bearer {TOKEN}"
    return scripted_server


@pytest.fixture(scope="session")
def real() -> Iterator[httpx.Client]:
    """One server with a real sandbox for all tests."""
    require_level(2)
    with running(workers=2) as client:
        yield client


def require_level(level: int) -> None:
    from markscheme.verifiers.code.sandbox.hosts import capabilities

    found = capabilities()
    if found.level < level:
        pytest.skip(f"this host gives level {found.level}: {found.why_not_higher}")


@contextlib.contextmanager
def running(sandbox: object = None, scorer: object = None, **settings: Any) -> Iterator[httpx.Client]:
    pytest.importorskip("fastapi", reason="needs FastAPI: pip install markscheme[serve]")
    uvicorn = pytest.importorskip("uvicorn", reason="needs uvicorn: pip install markscheme[serve]")
    httpx = pytest.importorskip("httpx", reason="the tests of the server need httpx")
    from markscheme.serve import Settings, create_app
    from markscheme.serve.server import options

    given = Settings(**{"token": TOKEN, "workers": 1, **settings})
    app = create_app(given, sandbox, scorer)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, **options(given)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        headers = {"authorization": f"Bearer {given.token}"} if given.token else {}
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with httpx.Client(base_url=base, headers=headers, timeout=30, trust_env=False) as client:
            client.sandbox = sandbox
            client.app = app
            yield client
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
    assert not thread.is_alive()


def wait_until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
