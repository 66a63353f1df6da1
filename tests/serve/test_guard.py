"""What a request must bring before anything looks at it."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from .conftest import TOKEN, ScriptedSandbox, Serve, wait_until

if TYPE_CHECKING:
    import httpx

RUN = {"code": "hello"}


@pytest.fixture
def client(scripted: httpx.Client) -> httpx.Client:
    return scripted


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Token {TOKEN}", "Bearer é",
     "Basic !!!", "Basic " + base64.b64encode(b"any:wrong").decode(), "Basic " + base64.b64encode(b"any").decode()],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/run", "/health", "/openapi.json", "/nowhere"])
def test_a_token_is_needed_everywhere(client: httpx.Client, header: str | None, path: str) -> None:
    client.headers.pop("authorization")
    given = {} if header is None else {"authorization": header.encode("utf-8")}
    answer = client.request("POST" if path == "/run" else "GET", path, headers=given, json=RUN)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert client.sandbox.started == 0


def test_the_token_as_bearer_or_as_the_password_of_a_url(client: httpx.Client) -> None:
    assert client.post("/run", json=RUN).json()["stdout"] == "hello"
    client.headers.pop("authorization")
    url = client.base_url.copy_with(username="any", password=TOKEN, path="/run")
    assert client.post(url, json=RUN).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1", 200), ("localhost:8377", 200), ("LOCALHOST", 200), ("[::1]:80", 200), ("evil.example", 400),
     ("127.0.0.1.evil.example", 400), ("localhost:80:80", 400), ("[::1", 400), ("192.0.2.7", 400), ("", 400)],
)  # fmt: skip
def test_the_host_header_names_this_server(client: httpx.Client, host: str, status: int) -> None:
    assert client.post("/run", json=RUN, headers={"host": host}).status_code == status


def test_other_names_are_allowed_by_name(serve: Serve) -> None:
    client = serve(ScriptedSandbox(), allowed_hosts={"judge.example"})
    assert client.post("/run", json=RUN, headers={"host": "judge.example:443"}).status_code == 200
    assert client.post("/run", json=RUN, headers={"host": "other.example"}).status_code == 400


@pytest.mark.parametrize(
    ("origin", "status"), [("http://localhost:3000", 200), ("https://evil.example", 403), ("null", 403)]
)
def test_pages_of_other_sites_are_refused(client: httpx.Client, origin: str, status: int) -> None:
    assert client.post("/run", json=RUN, headers={"origin": origin}).status_code == status


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
def test_only_json_is_read(client: httpx.Client, kind: str) -> None:
    answer = client.post("/run", content=json.dumps(RUN), headers={"content-type": kind})
    assert (answer.status_code, answer.json()["detail"]) == (415, "the content type must be application/json")
    assert client.post(
        "/run", content=json.dumps(RUN), headers={"content-type": "application/json; charset=utf-8"}
    ).is_success


def test_a_long_body_is_refused_with_and_without_its_length(client: httpx.Client) -> None:
    long = json.dumps({"code": "x" * 5000}).encode()
    kind = {"content-type": "application/json"}
    assert client.post("/run", content=long, headers=kind).status_code == 413
    assert client.post("/run", content=iter([long[:3000], long[3000:]]), headers=kind).status_code == 413
    assert client.sandbox.started == 0


def test_a_body_that_never_comes_is_not_waited_for(client: httpx.Client) -> None:
    head = (
        f"POST /run HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n"
        "content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", client.base_url.port)) as raw:
        raw.sendall(head.encode())
        raw.settimeout(10)
        assert b" 408 " in raw.recv(100)


def test_what_is_not_understood_is_said_without_echo(client: httpx.Client) -> None:
    for body in (b"{", b"[]", b'{"code": 5, "\\ud800": "XYZZY"}', b'{"code": "\\ud800"}', b"[" * 1500):
        answer = client.post("/run", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in {400, 422}, answer.text
        assert "XYZZY" not in answer.text
        assert "Traceback" not in answer.text


def test_a_failure_inside_tells_the_client_and_the_log_nothing_of_the_program(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = client.post("/run", json={"code": "boom"})
    assert answer.status_code == 500
    identity = answer.headers["x-request-id"]
    assert answer.json() == {"detail": f"internal error; request {identity}"}
    assert f"{identity} failed: ZeroDivisionError at " in caplog.text
    assert "secret" not in caplog.text


def test_the_log_has_identities_and_no_code(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        answer = client.post("/run", json={"code": "PROGRAM"}, headers={"x-request-id": "theirs"})
        client.get("/a%0d%0aforged%1b[2J")
    assert f"{answer.headers['x-request-id']} POST '/run' 200" in caplog.text
    assert "theirs" not in caplog.text
    assert "PROGRAM" not in caplog.text
    assert TOKEN not in caplog.text
    assert "\x1b" not in caplog.text
    assert "\nforged" not in caplog.text


def test_a_full_queue_answers_429_and_empties(serve: Serve) -> None:
    sandbox = ScriptedSandbox()
    client = serve(sandbox, workers=1, queue=1)
    calls = [threading.Thread(target=_ignored, args=(client, "slow")) for _ in range(2)]
    for call in calls:
        call.start()
    wait_until(lambda: client.get("/health").json()["pending"] == 2)
    assert sandbox.started == 1
    answer = client.post("/run", json=RUN)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    for call in calls:
        call.join()
    wait_until(lambda: client.get("/health").json()["pending"] == 0)
    assert client.post("/run", json=RUN).status_code == 200


def test_a_client_that_goes_ends_its_program_and_drops_what_waits(serve: Serve) -> None:
    sandbox = ScriptedSandbox()
    client = serve(sandbox, workers=1, queue=8)
    first = threading.Thread(target=_ignored, args=(client, "slow", 3.0))
    first.start()
    wait_until(lambda: sandbox.started == 1)
    others = [threading.Thread(target=_ignored, args=(client, "slow", 0.5)) for _ in range(3)]
    for call in others:
        call.start()
    for call in others:
        call.join()
    wait_until(lambda: client.get("/health").json()["pending"] == 1)
    assert (sandbox.started, sandbox.cancelled) == (1, 0)
    first.join()
    wait_until(lambda: client.get("/health").json()["pending"] == 0)
    assert (sandbox.started, sandbox.cancelled) == (1, 1)


def test_no_token_is_for_loopback_only(serve: Serve) -> None:
    from pydantic import ValidationError

    from markscheme.serve import Settings

    assert serve(ScriptedSandbox(), token=None).post("/run", json=RUN).status_code == 200
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.com"):
        with pytest.raises(ValidationError, match="only a loopback address"):
            Settings(host=host, token=None)
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        assert Settings(host=host, token=None).host == host


def test_all_addresses_bound_means_addresses_pass_and_names_do_not() -> None:
    from markscheme.serve import Settings

    settings = Settings(host="0.0.0.0", token=TOKEN)
    assert settings.allows_host("192.0.2.7:8377")
    assert settings.allows_host("[2001:db8::1]:8377")
    assert not settings.allows_host("evil.example")
    assert TOKEN not in repr(settings)


def _ignored(client: httpx.Client, code: str, seconds: float = 1.0) -> None:
    """Ask, and go away before the answer."""
    import httpx

    url = client.base_url.join("/run")
    with contextlib.suppress(httpx.TimeoutException):
        httpx.post(url, json={"code": code}, headers=client.headers, timeout=seconds, trust_env=False)
