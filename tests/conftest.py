"""Options and data that several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--markscheme-data",
        default=os.environ.get("MARKSCHEME_DATA"),
        help="the folder of evaluation data (math/, suites/, prm/); default: MARKSCHEME_DATA or ../shared/data",
    )


@pytest.fixture(scope="session")
def data(request: pytest.FixtureRequest) -> Path:
    """The folder of evaluation data; a test that needs it is skipped where there is none."""
    given = request.config.getoption("--markscheme-data")
    folder = Path(given) if given else BESIDE
    if given and not folder.is_dir():
        pytest.fail(f"--markscheme-data: {folder} is no folder")
    if not folder.is_dir():
        pytest.skip("no evaluation data: pass --markscheme-data=FOLDER or set MARKSCHEME_DATA")
    return folder
