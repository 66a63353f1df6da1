"""A run that is taken up again goes on as if it had not stopped."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, build, every_third, losses

torch = pytest.importorskip("torch")
pytestmark = MARKS

SHAPES: dict[str, dict[str, Any]] = {
    "four steps a generation": {"steps_per_generation": 4},
    "accumulated and reused": {"steps_per_generation": 4, "gradient_accumulation_steps": 2, "num_iterations": 2},
}


def run(policy: Path, folder: Path, shape: str, resume: Path | None = None) -> Any:
    trainer = build(
        policy,
        folder,
        supervision="process",
        step_reward_func=every_third,
        cull_zero_variance=True,
        per_device_train_batch_size=4,
        max_steps=6,
        max_completion_length=4,
        save_strategy="no" if resume else "steps",
        save_steps=1,
        **SHAPES[shape],
    )
    trainer.train(resume_from_checkpoint=str(resume) if resume else None)
    return trainer


Unbroken = Callable[[str], tuple[Path, list[float]]]


@pytest.fixture(scope="module")
def unbroken(policy: Path, tmp_path_factory: pytest.TempPathFactory) -> Unbroken:
    """The checkpoints and losses of a run of that shape that was not stopped."""

    @functools.cache
    def of(shape: str) -> tuple[Path, list[float]]:
        folder = tmp_path_factory.mktemp("unbroken")
        return folder, losses(run(policy, folder, shape))

    return of


@pytest.mark.parametrize("step", [4, 5], ids=["where generations are due", "between two generations"])
@pytest.mark.parametrize("shape", SHAPES)
def test_losses_go_on_from_any_checkpoint(
    policy: Path, tmp_path: Path, unbroken: Unbroken, shape: str, step: int
) -> None:
    folder, expected = unbroken(shape)
    assert len(set(expected)) == 6
    resumed = run(policy, tmp_path, shape, folder / f"checkpoint-{step}")
    assert resumed._step == resumed.args.gradient_accumulation_steps * 6
    assert losses(resumed) == pytest.approx(expected, abs=1e-6)


MISSING = "lies between two generations and holds none of this layout"


def edit(checkpoint: Path, change: str) -> None:
    file = checkpoint / "generations_0.pt"
    if change == "gone":
        file.unlink()
    else:
        saved = torch.load(file, weights_only=True)
        torch.save({**saved, "layout": [2, *saved["layout"][1:]]}, file)


@pytest.mark.parametrize("change", ["gone", "of two ranks"])
@pytest.mark.parametrize("step", [4, 5], ids=["where generations are due", "between two generations"])
def test_a_checkpoint_without_its_generations_warns(
    policy: Path, tmp_path: Path, unbroken: Unbroken, change: str, step: int, caplog: pytest.LogCaptureFixture
) -> None:
    shape = "four steps a generation"
    checkpoint = shutil.copytree(unbroken(shape)[0] / f"checkpoint-{step}", tmp_path / f"checkpoint-{step}")
    edit(checkpoint, change)
    trainer = run(policy, tmp_path / "run", shape, checkpoint)
    assert (MISSING in caplog.text) is (step == 5)
    assert len(losses(trainer)) == 6
