"""What every request passes before anything reads it: host, origin, token, type, size. And the log, without code."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from markscheme.serve.tokens import bears

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from markscheme.serve.settings import Settings

logger = logging.getLogger("markscheme.serve")
GONE = 499
"""What the log shows for a client that has gone (nginx's number)."""


class Refused(Exception):
    """A request that is not let through: its status and one sentence."""

    def __init__(self, status: int, detail: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


class _Headers(NamedTuple):
    pairs: list[tuple[bytes, bytes]]

    def one(self, name: bytes) -> bytes | None:
        """The header's value; None where it is absent. Raises Refused where it is there twice."""
        found = [value for key, value in self.pairs if key == name]
        if len(found) > 1:
            raise Refused(400, f"more than one {name.decode()} header")
        return found[0] if found else None


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        identity, start, status = uuid.uuid4().hex[:16], time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(b"x-request-id", identity.encode()), (b"cache-control", b"no-store")]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        try:
            body = await self._checked(scope, receive)
            await self.app(scope, _replaying(body, receive), answer)
        except Refused as refused:
            await _refuse(answer, refused)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the client learns nothing of it
            _log_failure(identity, error)
            if not status:
                await _refuse(answer, Refused(500, f"internal error; request {identity}"))
        finally:
            took = 1000 * (time.perf_counter() - start)
            path = scope["path"][:80].encode("ascii", "backslashreplace").decode()
            logger.info("%s %s %r %d %.1f ms", identity, scope["method"], path, status or GONE, took)

    async def _checked(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of a request that passes. Raises Refused for one that does not."""
        headers = _Headers(scope["headers"])
        host = headers.one(b"host")
        if host is None or not self.settings.allows_host(host.decode("latin-1")):
            raise Refused(400, "the Host header does not name this server; see --allowed-host")
        origin = headers.one(b"origin")
        if origin is not None and not self._own(origin.decode("latin-1")):
            raise Refused(403, "requests of other sites' pages are refused")
        token = self.settings.token
        if token is not None and not bears(headers.one(b"authorization") or b"", token):
            raise Refused(401, "a token is needed: Authorization: Bearer …", ((b"www-authenticate", b"Bearer"),))
        if scope["method"] in {"POST", "PUT", "PATCH"}:
            kind = (headers.one(b"content-type") or b"").split(b";")[0].strip().lower()
            if kind != b"application/json":
                raise Refused(415, "the content type must be application/json")
        length = headers.one(b"content-length")
        if length is not None and (not length.isdigit() or int(length[:20]) > self.settings.body_bytes):
            raise self._too_long()
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                return await self._body(receive)
        except TimeoutError:
            raise Refused(408, "the body took too long to arrive") from None

    def _own(self, origin: str) -> bool:
        try:
            return self.settings.allows_host(urlsplit(origin).netloc)
        except ValueError:
            return False

    async def _body(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(GONE, "the client has gone")
            body += message.get("body", b"")
            if len(body) > self.settings.body_bytes:
                raise self._too_long()
            if not message.get("more_body"):
                return bytes(body)

    def _too_long(self) -> Refused:
        return Refused(413, f"the body is longer than {self.settings.body_bytes} bytes")


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Hand the body out once, then what else comes: the client's going."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


async def _refuse(send: Send, refused: Refused) -> None:
    body = json.dumps({"detail": refused.detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refused.headers]
    if refused.status in {408, 413}:  # what is left of the body is not waited for
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _log_failure(identity: str, error: Exception) -> None:
    """Log where an error arose and its type: its message may hold a program."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    logger.error("%s failed: %s at %s", identity, type(error).__name__, place)
