"""The examples of docs/credit.md run and print what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.train
pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

PAGE = Path(__file__).resolve().parents[3] / "docs" / "credit.md"


def test_the_page_s_examples() -> None:
    blocks = re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 8
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not result.failed, "\n".join(report)
    assert result.attempted >= 20
