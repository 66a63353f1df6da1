"""A process reward model's scores of steps, read by our scorer and by vLLM's pooling runner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOLUTIONS = [
    ("1 + 1?", ["1 + 1 = 2.", "The answer is 2."]),
    ("What is 2 * 3 - 1?", ["2 * 3 = 6", "6 - 1 = 4", "So 4."]),
]


def test_both_read_the_same_probabilities(script: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    from markscheme.prm.scoring import PRMScorer  # noqa: PLC0415 - torch
    from tiny_judges import save_qwen_prm  # noqa: PLC0415

    folder = save_qwen_prm(tmp_path / "judge", hidden=64)  # two heads of 32, the least that vLLM takes on a CPU
    scorer = PRMScorer.from_pretrained(folder, format="qwen2.5-math-prm", dtype="float32")
    ours = [scorer.score(problem, steps) for problem, steps in SOLUTIONS]
    layout = scorer.checkpoint.layout
    ids = [list(layout.encode(problem, steps).ids) for problem, steps in SOLUTIONS]
    separator = scorer.checkpoint.tokenizer.convert_tokens_to_ids("<extra_0>")

    found = script("judge", {"judge": str(folder), "separator": separator, "solutions": ids})
    assert found["code"] == 0, found["output"]
    theirs = [[right for _, right in steps] for steps in found["probabilities"]]
    assert [len(steps) for steps in theirs] == [2, 3]
    for mine, other in zip(ours, theirs, strict=True):
        assert other == pytest.approx(mine, abs=1e-4)
    assert len({round(p, 3) for steps in ours for p in steps}) > 1, "one score for all would agree with anything"
