"""A real server on the loopback that speaks OpenAI's protocol, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self.body: bytes | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        choices = [
            {"index": n, "finish_reason": "length" if n else "stop"}
            | ({"message": {"content": f"m{n}"}} if "messages" in body else {"text": f"t{n}"})
            for n in reversed(range(body["n"]))
        ]
        answer = {"choices": choices, "usage": {"completion_tokens": 10 * body["n"]}}
        data = self.server.body or json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def serving() -> Iterator[Server]:
    """Serve until the end of the block."""
    made = Server()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        thread.join()
        made.server_close()
