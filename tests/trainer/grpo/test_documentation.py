"""The page of the trainer names every setting of ours."""

from __future__ import annotations

from pathlib import Path

from tinytraining import MARKS, trl

pytestmark = MARKS

PAGE = Path(__file__).parents[3] / "docs" / "trainer.md"


def test_every_setting_of_ours_stands_on_the_page() -> None:
    from markscheme.trainer import ProcessGRPOConfig  # noqa: PLC0415

    own = ProcessGRPOConfig.__dataclass_fields__.keys() - trl.GRPOConfig.__dataclass_fields__.keys()
    missing = {name for name in own if f"`{name}`" not in PAGE.read_text()}
    assert not missing
