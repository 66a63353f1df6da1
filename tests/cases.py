"""Cases kept as data files, and their names as parameters of tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "verifiers" / "math" / "cases"

Case = dict[str, Any]


def load_cases(name: str) -> list[Case]:
    """All cases of a file, in its order."""
    cases: list[Case] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return cases


def named(cases: list[Case], *fields: str) -> list[Any]:
    """Parameters that are named by some of their fields, escaped and cut short."""
    return [
        pytest.param(case, id=f"{n}-" + "|".join(ascii(case[field])[1:-1][:40] for field in fields))
        for n, case in enumerate(cases)
    ]
