"""A run that is taken up again goes on as if it had not stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, every_third, losses

pytestmark = MARKS

SHAPES: dict[str, dict[str, Any]] = {
    "four steps a generation": {"steps_per_generation": 4},
    "accumulated and reused": {"steps_per_generation": 4, "gradient_accumulation_steps": 2, "num_iterations": 2},
}


def run(policy: Path, folder: Path, shape: str, resume: str | None = None) -> Any:
    given = {"max_steps": 6, "max_completion_length": 6, "save_strategy": "steps", "save_steps": 1}
    trainer = build(
        policy,
        folder,
        supervision="process",
        step_reward_func=every_third,
        cull_zero_variance=True,
        per_device_train_batch_size=4,
        **given,
        **SHAPES[shape],
    )
    trainer.train(resume_from_checkpoint=resume)
    return trainer


@pytest.mark.parametrize("shape", SHAPES)
def test_losses_go_on_from_any_checkpoint(policy: Path, tmp_path: Path, shape: str) -> None:
    unbroken = losses(run(policy, tmp_path, shape))
    assert len(set(unbroken)) == 6
    for step in (4, 5):  # where generations are due, and in their midst
        resumed = run(policy, tmp_path, shape, str(tmp_path / f"checkpoint-{step}"))
        assert resumed._step == resumed.args.gradient_accumulation_steps * 6
        assert losses(resumed) == pytest.approx(unbroken, abs=1e-6)


def test_a_checkpoint_without_generations_warns(policy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shape = "four steps a generation"
    run(policy, tmp_path, shape)
    for step in (4, 5):
        (tmp_path / f"checkpoint-{step}" / "generations_0.pt").unlink()
        if step == 4:
            run(policy, tmp_path, shape, str(tmp_path / "checkpoint-4"))  # saves checkpoint 5 anew
            assert "lies between two generations" not in caplog.text
    run(policy, tmp_path, shape, str(tmp_path / "checkpoint-5"))
    assert "checkpoint-5 lies between two generations and holds none of this layout" in caplog.text
