"""``markscheme serve``: its token, its options, and the process itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from fakes import Run
from markscheme.serve import tokens
from markscheme.serve.settings import Settings
from markscheme.verifiers.code.sandbox.hosts import capabilities

TOKEN = "a-token-for-tests-0123456789"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings that servers were started with; none is."""
    found: list[Settings] = []
    monkeypatch.delenv(tokens.VARIABLE, raising=False)
    monkeypatch.setattr("markscheme.serve.server.serve", found.append)
    return found


def test_a_token_is_made_and_shown_once(run: Run, started: list[Settings]) -> None:
    result = run("serve")
    (settings,) = started
    assert settings.token is not None
    assert len(settings.token) >= 40
    assert result.output.count(settings.token) == 1
    assert f"token (shown once): {settings.token}" in result.stderr
    assert "http://127.0.0.1:8377" in result.stderr
    run("serve")
    assert started[1].token != settings.token


def test_the_token_of_the_environment(run: Run, started: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tokens.VARIABLE, TOKEN)
    result = run("serve")
    assert started[0].token == TOKEN
    assert TOKEN not in result.output
    assert tokens.VARIABLE not in os.environ


def test_the_token_of_a_file(run: Run, started: list[Settings], tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    for mode in (0o644, 0o640, 0o602):
        file.chmod(mode)
        assert (
            f"others may use this file (mode {mode:04o}); chmod 600 it"
            in run("serve", "--token-file", file, code=2).stderr
        )
    assert not started
    file.chmod(0o600)
    run("serve", "--token-file", file)
    assert started[0].token == TOKEN


@pytest.mark.parametrize("text", ["", "short", "with a space in it all", "é" * 20])
def test_what_is_no_token(run: Run, started: list[Settings], tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    assert "at least 16 characters" in run("serve", "--token-file", file, code=2).stderr
    assert "No such file" in run("serve", "--token-file", tmp_path / "absent", code=2).stderr
    assert "regular file" in run("serve", "--token-file", "/dev/null", code=2).stderr
    assert not started


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_no_token_is_refused_where_others_can_reach(run: Run, started: list[Settings], host: str) -> None:
    assert "only for a loopback address" in run("serve", "--no-token", "--host", host, code=2).stderr
    assert not started


def test_no_token_on_loopback(run: Run, started: list[Settings], tmp_path: Path) -> None:
    assert "token" not in run("serve", "--no-token", "--host", "::1").stderr
    assert started[0].token is None
    assert "exclude each other" in run("serve", "--no-token", "--token-file", tmp_path, code=2).stderr


def test_options_reach_the_settings(run: Run, started: list[Settings]) -> None:
    run("serve", "--port", 9000, "--workers", 3, "--queue", 5, "--level", "2", "--cpu-seconds", 2, "--memory-mb", 256,
        "--allowed-host", "a.example", "--allowed-host", "b.example",
        "--judge", "owner/judge", "--judge-format", "pure", "--dtype", "bfloat16")  # fmt: skip
    (settings,) = started
    assert (settings.judge, settings.judge_format, settings.judge_dtype) == ("owner/judge", "pure", "bfloat16")
    assert settings.judge_name == "judge"
    assert (settings.port, settings.workers, settings.queue, settings.level) == (9000, 3, 5, 2)
    assert (settings.limits.cpu_seconds, settings.limits.memory_bytes) == (2, 256 * 2**20)
    assert settings.allowed_hosts == {"a.example", "b.example"}
    assert "strongest" in run("serve", "--level", "4", code=2).stderr
    assert "protects nothing" in run("serve", "--level", "1").stderr


def test_the_extra_is_named_where_it_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "install markscheme[serve]" in run("serve", "--no-token", code=2).stderr


def test_the_process_serves_and_ends(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="needs uvicorn: pip install markscheme[serve]")
    if not capabilities().level:
        pytest.skip("this host gives no safe level")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "markscheme.cli", "serve", "--port", str(port), "--workers", "1"]
    env = {**os.environ, tokens.VARIABLE: TOKEN}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        done = _ask(port, {"code": f"import os\nprint({TOKEN!r} in str(os.environ), 6 * 7)"})
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert done["stdout"] == "False 42\n"
    assert "POST '/run' 200" in said
    assert TOKEN not in said
    assert "Traceback" not in said


def _ask(port: int, asked: dict[str, object], seconds: float = 30.0) -> dict[str, object]:
    headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/run", json.dumps(asked).encode(), headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + seconds
    while True:
        try:
            with opener.open(request) as answer:
                return json.load(answer)
        except urllib.error.URLError as error:
            if isinstance(error, urllib.error.HTTPError) or time.monotonic() > end:
                raise
            time.sleep(0.1)
