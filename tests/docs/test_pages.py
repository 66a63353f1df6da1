"""Every code block of README.md, CONTRIBUTING.md and docs/ runs, or says why it cannot; tests/docpages.py says how."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

NEEDED = "needs torch and TRL: pip install markscheme[train]"
pytestmark = [
    pytest.mark.train,
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),  # TRL's own use
]
for _module in ("torch", "trl", "httpx"):
    pytest.importorskip(_module, reason=NEEDED)

import docfolder  # noqa: E402
from doccommands import commands  # noqa: E402
from docpages import blocks  # noqa: E402
from docrun import Runner  # noqa: E402
from docsmall import shorten  # noqa: E402

ROOT = docfolder.ROOT
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
QUIET = {
    "ACCELERATE_USE_CPU": "1",
    "COLUMNS": "120",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRL_EXPERIMENTAL_SILENCE": "1",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return docfolder.make(tmp_path_factory.mktemp("pages") / "folder")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What shells have: the project's commands first on the path, caches of their own."""
    home = tmp_path_factory.mktemp("home")
    sources = [path for path in sys.path if (Path(path) / "markscheme").is_dir()]
    caches = {"HF_HOME": str(home / "hf"), "MARKSCHEME_CACHE": str(home / "cache"), "HOME": str(home)}
    known = {**os.environ, **QUIET, **caches, "PYTHONPATH": os.pathsep.join(sources)}
    path = os.pathsep.join((str(Path(sys.executable).parent), known["PATH"]))
    with commands(tmp_path_factory.mktemp("commands"), known) as programs:
        yield {**known, "PATH": f"{programs}{os.pathsep}{path}"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_blocks_of(
    page: Path, template: Path, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets  # noqa: PLC0415

    found = blocks(page, str(page.relative_to(ROOT)))
    folder = tmp_path / "folder"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    shorten(monkeypatch.setattr)
    runner = Runner(folder, environment)
    for block in found:
        runner.run(block)
    assert runner.ran + len(runner.skipped) >= sum(block.language != "text" for block in found)
