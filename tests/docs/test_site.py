"""The site builds without a warning, and its reference has every public name."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("verifiers", "prm", "trainer", "serve", "benchmarks")
PRIVATE = {"markscheme.benchmarks.learning.judging"}
for _module in ("mkdocs", "material", "mkdocstrings"):
    pytest.importorskip(_module, reason="needs the group docs: pip install --group docs")


def public_names() -> dict[str, set[str]]:
    """What each package exports, read from its ``__all__`` without importing it."""
    found = {}
    for root in PACKAGES:
        for path in sorted((ROOT / root / "markscheme").rglob("__init__.py")):
            module = ".".join(path.parent.relative_to(ROOT / root).parts)
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                    found[module] = set(ast.literal_eval(node.value))
    return {module: names for module, names in found.items() if module not in PRIVATE}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", folder],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    content = (site / "objects.inv").read_bytes()
    listed = zlib.decompress(content.split(b"zlib.\n", 1)[1]).decode().splitlines()
    known = {line.split()[0] for line in listed}
    names = public_names()
    assert len(names) >= 15
    exported = [f"{module}.{name}" for module, all_ in names.items() for name in all_]
    # A function that is called as its module is documented under the module.
    missing = [name for name in exported if not {name, f"{name}.{name.rpartition('.')[2]}"} & known]
    assert not missing, "no docstring, or its package is on no page of docs/api"


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        made = page.relative_to(ROOT / "docs").with_suffix("")
        assert (site / (made.parent if made.name == "index" else made) / "index.html").is_file(), page
