"""Telling a checkpoint's format, and loading it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import AutoConfig
from transformers.utils.hub import cached_file

from markscheme.prm.checkpoints import own, public
from markscheme.prm.folders import check_folder
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    import torch

    from markscheme.prm.checkpoints.base import AnyCheckpoint, Loader

FORMATS: dict[str, Loader] = {
    "markscheme": own.load_own,
    "qwen2.5-math-prm": public.load_qwen,
    "math-shepherd": public.load_shepherd,
    "rlhflow": public.load_rlhflow,
    "skywork-o1": public.load_skywork,
    "eurus": public.load_eurus,
    "pure": public.load_pure,
    "trl": public.load_trl,
}
"""How a checkpoint of each format is loaded."""
_ARCHITECTURES = {"Qwen2ForProcessRewardModel": "qwen2.5-math-prm", "Qwen2ForPrmModel": "skywork-o1"}
_NAMES = {"math-shepherd": "math-shepherd", "rlhflow": "rlhflow", "eurusprm": "eurus", "pure-prm": "pure"}


def detect_format(folder: str | Path) -> str:
    """Tell a checkpoint's format.

    By `PRMTrainer`'s own file, by the architecture that only one format has, then by the name, since Math-Shepherd's,
    RLHFlow's and EurusPRM's files are those of any language model, and PURE's those of any token classifier.

    Raises:
        DataError: nothing tells.
    """
    if _has(folder, own.FILE):
        return "markscheme"
    architectures = list(AutoConfig.from_pretrained(folder, trust_remote_code=False).architectures or [])
    for architecture in architectures:
        if architecture in _ARCHITECTURES:
            return _ARCHITECTURES[architecture]
    for part, name in _NAMES.items():
        if part in str(folder).lower():
            return name
    raise DataError(
        f"{folder}: neither its architecture ({', '.join(architectures) or 'not named'}) nor its name tells what it "
        "is. Train a judge from it (`markscheme prm train`), or pass format= (--judge-format; eval's --prm-format), "
        f"one of {', '.join(FORMATS)}"
    )


def load_checkpoint(
    folder: str | Path,
    *,
    format: str = "auto",  # noqa: A002 - see PRMScorer
    dtype: torch.dtype | str = "auto",
    **options: Any,
) -> AnyCheckpoint:
    """Load a judge of steps; see `PRMScorer.from_pretrained`.

    Raises:
        DataError: there is no such folder, the format is unknown, cannot be told, or the files are not of it.
    """
    check_folder(folder)
    name = detect_format(folder) if format == "auto" else format
    if name not in FORMATS:
        raise DataError(f"format: expected auto or one of {', '.join(FORMATS)}, got {name!r}")
    loaded = FORMATS[name](folder, dtype=dtype, **options)
    for model in (loaded.model, getattr(loaded, "reference", None)):
        if model is not None:
            model.train(mode=False)
    return loaded


def _has(folder: str | Path, name: str) -> bool:
    return cached_file(str(folder), name, _raise_exceptions_for_missing_entries=False) is not None
