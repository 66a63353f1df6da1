from __future__ import annotations

from pathlib import Path

import pytest

from markscheme.prm.folders import check_folder
from markscheme.verifiers.errors import DataError


def test_names_on_the_hub_and_folders_pass(tmp_path: Path) -> None:
    for model in ("gpt2", "Qwen/Qwen2.5-0.5B-Instruct", str(tmp_path), tmp_path):
        check_folder(model)


@pytest.mark.parametrize("model", ["/absent/policy", "./policy", "../policy", "~/policy", "runs/both/policy"])
def test_a_path_without_a_folder_is_named_as_such(model: str) -> None:
    with pytest.raises(DataError) as caught:
        check_folder(model)
    assert str(caught.value) == (
        f"model {model!r}: no folder {model} (looked for from {Path.cwd()}); "
        "expected a model's folder, or owner/name on the Hub"
    )


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.touch()
    with pytest.raises(DataError, match="a file, not a folder"):
        check_folder(file)
