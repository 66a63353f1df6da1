"""The page's example runs, on a tiny policy and two rows of data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS, Dataset, trl

pytestmark = MARKS

PAGE = Path(__file__).parents[3] / "docs" / "trainer.md"
TINY = (
    "use_cpu=True, bf16=False, max_steps=1, per_device_train_batch_size=4, num_generations=2, report_to=[], "
    "max_completion_length=6, gradient_checkpointing=False, disable_tqdm=True, save_strategy='no', "
)


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_the_example(policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _ = blocks()
    rows = Dataset.from_dict({"question": ["1+1=", "2+2="], "answer": ["1+1=2\n#### 2", "#### 4"]})
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: rows)
    code = code.replace("Qwen/Qwen2.5-0.5B-Instruct", str(policy)).replace(
        'output_dir="run", ', f'output_dir="{tmp_path}", {TINY}'
    )
    assert TINY in code
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["trainer"].state.global_step == 1


def test_the_example_of_dapo(tmp_path: Path) -> None:
    _, code = blocks()
    here = f'output_dir="{tmp_path}", use_cpu=True, bf16=False, '
    names: dict[str, Any] = {}
    exec(code.replace('output_dir="run", ', here), names)
    correct, punishment = names["reward_funcs"]
    assert (names["args"].output_dir, names["args"].refill_on) == (str(tmp_path), correct.__name__)
    assert punishment(completion_ids=[[0] * n for n in (16384, 18432, 20480)]) == [0.0, -0.5, -1.0]


def test_every_setting_of_ours_stands_on_the_page() -> None:
    from markscheme.trainer import ProcessGRPOConfig  # noqa: PLC0415

    own = ProcessGRPOConfig.__dataclass_fields__.keys() - trl.GRPOConfig.__dataclass_fields__.keys()
    missing = {name for name in own if f"`{name}`" not in PAGE.read_text()}
    assert not missing
