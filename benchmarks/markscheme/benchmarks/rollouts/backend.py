"""What generates completions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from markscheme.benchmarks.rollouts.prompts import Prompt
from markscheme.benchmarks.rollouts.sampling import Sampling
from markscheme.verifiers.errors import DataError

BACKENDS = ("transformers", "vllm")
"""Kinds of `open_backend` beside URLs."""
_FILES = {".bin", ".jinja", ".json", ".model", ".safetensors"}
Finish = Literal["stop", "length"]


class Generated(NamedTuple):
    """A completion.

    Attributes:
        text: what was written, without special tokens.
        tokens: its length, the end-of-sequence token included where there is one.
        finish: "stop" where it ended by itself, "length" where it was cut off.
    """

    text: str
    tokens: int
    finish: Finish


class Backend(Protocol):
    """Anything that completes prompts."""

    @property
    def chats(self) -> bool:
        """Whether prompts of messages can be given."""
        ...

    @property
    def identity(self) -> str:
        """What the completions follow from besides prompts and sampling: a resumed run compares it."""
        ...

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling, seed: int) -> list[list[Generated]]:
        """Complete prompts: ``sampling.n`` completions each, in order.

        Args:
            prompts: of one style.
            sampling: how; its own seed is not looked at.
            seed: of these prompts.

        Raises:
            DataError: a prompt does not fit the model.
        """
        ...


def checkpoint(model: str) -> str:
    """A model's name; of a folder also its files' sizes and times of change: the next checkpoint may lie there too."""
    if not Path(model).is_dir():
        return model
    files = sorted(path for path in Path(model).iterdir() if path.suffix in _FILES)
    return " ".join([model, *(f"{one.name}:{one.stat().st_size}:{one.stat().st_mtime_ns}" for one in files)])


def open_backend(
    kind: str, model: str, *, batch_size: int = 16, dtype: str = "auto", engine: dict[str, object] | None = None
) -> Backend:
    """Open a backend by what the command line calls it.

    Args:
        kind: "transformers", "vllm" (its offline engine), or the URL of a server that speaks OpenAI's protocol, such as
            ``http://127.0.0.1:8000/v1``.
        model: a folder, a name on the Hub, or what the server calls the model.
        batch_size: completions that transformers generates at once.
        dtype: of the weights: "auto", "float32", "bfloat16", "float16".
        engine: further arguments of vLLM's engine.

    Raises:
        DataError: an unknown kind.
        MissingExtraError: what the backend needs is not installed.
    """
    if kind == "transformers":
        from markscheme.benchmarks.rollouts.transformers_backend import TransformersBackend  # noqa: PLC0415 - torch

        return TransformersBackend(model, batch_size=batch_size, dtype=dtype)
    if kind == "vllm":
        from markscheme.benchmarks.rollouts.vllm_backend import VllmBackend  # noqa: PLC0415 - heavy

        return VllmBackend(model, dtype=dtype, engine=engine)
    if kind.startswith(("http://", "https://")):
        from markscheme.benchmarks.rollouts.openai_backend import OpenAIBackend  # noqa: PLC0415 - httpx

        return OpenAIBackend(kind, model)
    raise DataError(
        f"--backend: expected {', '.join(BACKENDS)} or a URL such as http://127.0.0.1:8000/v1, found {kind!r}"
    )
