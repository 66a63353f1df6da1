"""The version, with and without an installation."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from markscheme.verifiers.release import release

SCRIPT = """
import importlib.metadata, sys
find = importlib.metadata.Distribution.from_name
def absent(name):
    if name == "markscheme":
        raise importlib.metadata.PackageNotFoundError(name)
    return find(name)
importlib.metadata.Distribution.from_name = absent
from markscheme.cli.main import main
main()
"""


def test_it_is_the_installed_one() -> None:
    assert release() == version("markscheme")


def test_sources_on_the_path_are_enough(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"completion": "#### 4", "gold": "4"}\n')
    arguments = ["grade", str(rows), "-o", str(tmp_path / "verdicts.jsonl")]
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert '"CORRECT"' in (tmp_path / "verdicts.jsonl").read_text().upper()
