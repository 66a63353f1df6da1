"""``markscheme train``: its options reach the recipe; its errors exit with 2; it loads nothing heavy for --help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes import Run
from tinyrecipes import MARKS, NEEDED, write_recipe

pytestmark = MARKS


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What `launch.main` was given; nothing runs."""
    pytest.importorskip("trl", reason=NEEDED)
    from markscheme.trainer import launch  # noqa: PLC0415

    calls: list[list[str]] = []
    monkeypatch.setattr(launch, "main", calls.append)
    return calls


def test_options_are_passed_on(run: Run, launched: list[list[str]]) -> None:
    run("train", "--config", "r.yaml", "--learning_rate", "1e-5", "--max_steps", "-1", "--reward_funcs", "math", "code")
    run("train", "--model_name_or_path=m", "--resume", "--dry-run", "--server-command")
    run("train", "--fields")
    assert launched[0][-2:] == ["--config", "r.yaml"]
    assert launched[0][:-2] == "--learning_rate 1e-5 --max_steps -1 --reward_funcs math code".split()
    assert launched[1] == ["--model_name_or_path=m", "--resume", "--dry-run", "--server-command"]
    assert launched[2] == ["--fields"]


def test_errors_exit_with_2(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("trl", reason=NEEDED)
    recipe = write_recipe(tmp_path, tmp_path / "policy", lerning_rate=1)
    found = run("train", "--config", recipe, "--dry-run", code=2).stderr
    assert "no field lerning_rate: did you mean learning_rate" in found
    assert "no field --max_step: did you mean --max_steps" in run("train", "--max_step", 3, code=2).stderr
    assert "absent.yaml" in run("train", "--config", "absent.yaml", code=2).stderr
    found = run("train", "--config", write_recipe(tmp_path, tmp_path / "policy"), "--dry-run", code=2).stderr
    assert f"model_name_or_path: model '{tmp_path / 'policy'}': no folder" in found
    assert "expected a model's folder, or owner/name on the Hub" in found


def test_a_dry_run(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("trl", reason=NEEDED)
    from tinymodels import save_policy  # noqa: PLC0415

    recipe = write_recipe(tmp_path, save_policy(tmp_path / "policy", hidden=16, layers=1))
    found = run("train", "--config", recipe, "--dry-run", "--max_steps", 9).stdout
    assert "updates: 9" in found
    assert "it fits" in found


def test_the_extra_is_named_where_it_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("markscheme.trainer")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "trl", None)
    assert "pip install 'markscheme[train]'" in run("train", "--config", "r.yaml", code=2).stderr


def test_help_loads_no_torch() -> None:
    script = (
        "import sys; from markscheme.cli.main import app\n"
        "try: app(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'transformers', 'trl', 'yaml'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_module_that_accelerate_starts(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason=NEEDED)
    command = [sys.executable, "-W", "ignore", "-m", "markscheme.trainer.train", "--config", "absent.yaml"]
    done: Any = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "error: [Errno 2] No such file or directory: 'absent.yaml'" in done.stderr
    assert "Traceback" not in done.stderr
