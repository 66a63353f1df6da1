"""The page's examples are settings that there are, and no setting is left out."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from markscheme.trainer.rollouts.settings import SAMPLING, Rollouts

yaml = pytest.importorskip("yaml", reason="needs PyYAML: pip install markscheme[train]")

PAGE = (Path(__file__).parents[3] / "docs" / "rollouts.md").read_text()


def test_the_examples_can_be_read() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    read = [Rollouts.read(yaml.safe_load(block)["rollouts"]) for block in blocks]
    assert [one.mode for one in read] == ["colocate", "server"]
    assert read[1].training_fields({})["top_k"] == 4


def test_every_setting_stands_on_the_page() -> None:
    missing = [one.name for one in fields(Rollouts) if f"`{one.name}" not in PAGE]
    assert not missing
    assert all(f"`{name}`" in PAGE for name in SAMPLING)
