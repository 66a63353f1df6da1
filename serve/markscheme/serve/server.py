"""The server process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from markscheme.verifiers.errors import MissingExtraError

if TYPE_CHECKING:
    from markscheme.serve.settings import Settings


def serve(settings: Settings, sandbox: Any = None) -> None:
    """Serve until interrupted.

    Raises:
        MissingExtraError: FastAPI or uvicorn is not installed.
        SandboxError: the host does not give the level that was asked for.
        DataError: the judge of steps is no checkpoint that can be read.
    """
    try:
        import uvicorn  # noqa: PLC0415 - an extra

        from markscheme.serve.app import create_app  # noqa: PLC0415 - needs the extra
    except ImportError as error:
        if (error.name or "").split(".")[0] not in {"fastapi", "starlette", "uvicorn"}:
            raise
        raise MissingExtraError("the server needs FastAPI and uvicorn: install markscheme[serve]") from error
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("markscheme.serve").setLevel(logging.INFO)
    config = uvicorn.Config(create_app(settings, sandbox), **options(settings))
    uvicorn.Server(config).run()


def options(settings: Settings) -> dict[str, Any]:
    """How uvicorn is set up: no log of its own (ours holds no header), no proxy's word taken, bounded connections."""
    return {
        "host": settings.host,
        "port": settings.port,
        "access_log": False,
        "log_level": "warning",
        "proxy_headers": False,
        "server_header": False,
        "limit_concurrency": 2 * (settings.workers + settings.queue) + 64,
        "timeout_graceful_shutdown": 5,
        "ws": "none",
        "lifespan": "on",
    }
