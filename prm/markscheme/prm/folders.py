"""Where models are: a folder, or a name on the Hub."""

from __future__ import annotations

from pathlib import Path

from markscheme.verifiers.errors import DataError


def check_folder(model: str | Path) -> None:
    """Say that a folder is missing, where ``model`` can be nothing else: libraries speak of Hub names only.

    Raises:
        DataError: it is a path that starts at a root, a home or a folder, or has several parts, and is no folder.
    """
    name = str(model)
    is_path = isinstance(model, Path) or name.startswith(("/", "~", ".")) or name.count("/") > 1
    if is_path and not Path(name).is_dir():
        what = "a file, not a folder" if Path(name).is_file() else f"no folder {name}"
        raise DataError(
            f"model {name!r}: {what} (looked for from {Path.cwd()}); "
            "expected a model's folder, or owner/name on the Hub"
        )
