"""Where the server's token comes from: the environment, or a file that only its owner reads. Never a command line."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
import stat
from pathlib import Path

from markscheme.verifiers.errors import DataError

VARIABLE = "MARKSCHEME_TOKEN"
MIN_LENGTH = 16
_FILE_BYTES = 4096


def find_token(path: Path | None = None) -> tuple[str, bool]:
    """Return the token, and whether it was made just now (then the caller shows it, once).

    A file comes before the environment, which is cleared of the token.

    Raises:
        DataError: the file can be read by others, or what is there is no token.
        OSError: the file cannot be read.
    """
    given = os.environ.pop(VARIABLE, None)
    if path is not None:
        return _checked(_read(path), str(path)), False
    if given is not None:
        return _checked(given, VARIABLE), False
    return secrets.token_urlsafe(32), True


def _read(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise DataError(f"{path}: the token must be in a regular file")
        if found.st_mode & 0o077:
            raise DataError(f"{path}: others may use this file (mode {found.st_mode & 0o777:04o}); chmod 600 it")
        if found.st_uid not in (os.geteuid(), 0):
            raise DataError(f"{path}: the file belongs to another user")
        return file.read(_FILE_BYTES).decode("utf-8", "replace")


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if len(token) < MIN_LENGTH or not all("!" <= character <= "~" for character in token):
        raise DataError(f"{where}: a token has at least {MIN_LENGTH} characters, printable ASCII without spaces")
    return token


def bears(header: bytes, token: str) -> bool:
    """Whether an Authorization header bears the token. The comparison takes equally long wherever they differ.

    ``Basic`` passes too, with the token as the password: clients that know no tokens take ``http://any:TOKEN@host/``.
    """
    scheme, _, value = header.partition(b" ")
    given = value.strip()
    if scheme.lower() == b"basic":
        try:
            given = base64.b64decode(given, validate=True).partition(b":")[2]
        except binascii.Error:
            given = b""
    elif scheme.lower() != b"bearer":
        given = b""
    return hmac.compare_digest(given, token.encode())
