"""Every kind of claim, right, wrong and none, kept as a data file with the near misses of each rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cases import named
from markscheme.verifiers import EquationStepVerifier

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))
VERIFIER = EquationStepVerifier()


@pytest.mark.parametrize("case", named(CASES, "rule", "step"))
def test_case(case: dict[str, Any]) -> None:
    verdict = VERIFIER.verify_step(case["step"])
    assert verdict.outcome == case["outcome"], verdict.claims
