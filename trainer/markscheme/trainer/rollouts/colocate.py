"""Arguments for the vLLM engine that TRL makes in colocate mode.

TRL calls ``vllm.LLM`` with fixed arguments and offers no way to add one. The one place that is patched is the name
``LLM`` in ``trl.generation.vllm_generation``, and only inside `colocate_engine`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from markscheme.trainer.compat import TESTED
from markscheme.verifiers.errors import MissingExtraError, TRLMismatchError

PATCHED = "trl.generation.vllm_generation"
"""The module of TRL's whose ``LLM`` is replaced."""


@contextmanager
def colocate_engine(arguments: Mapping[str, Any]) -> Iterator[None]:
    """Have TRL make its engine with further arguments; construct the trainer inside.

    Args:
        arguments: of ``vllm.LLM``, such as ``enforce_eager``, ``dtype``, ``speculative_config``; they win over what TRL
            gives. Empty: nothing is patched or looked at.

    Raises:
        TRLMismatchError: TRL makes its engine another way, so that the arguments would not reach it; or it made none.
        MissingExtraError: vLLM is not installed.
    """
    if not arguments:
        yield
        return
    module = _patchable()
    made = 0
    real = module.LLM

    def build(*positional: Any, **fixed: Any) -> Any:
        nonlocal made
        made += 1
        return real(*positional, **{**fixed, **arguments})

    module.LLM = build  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.LLM = real  # type: ignore[attr-defined]
    if not made:
        raise _mismatch("no engine was made inside colocate_engine (is use_vllm on and vllm_mode 'colocate'?)")


def _patchable() -> ModuleType:
    """TRL's module, once it is known to make its engine by the name that is patched."""
    if importlib.util.find_spec("vllm") is None:
        raise MissingExtraError("rollouts by vLLM need vLLM: pip install 'markscheme[train,vllm]'")
    try:
        module = importlib.import_module(PATCHED)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("trl"):
            raise
        raise _mismatch(f"there is no module {PATCHED}") from error
    make = getattr(getattr(module, "VLLMGeneration", None), "_init_vllm", None)
    if not hasattr(module, "LLM"):
        raise _mismatch(f"{PATCHED} has no LLM")
    if make is None or "LLM" not in make.__code__.co_names:
        raise _mismatch(f"VLLMGeneration._init_vllm of {PATCHED} does not make an LLM")
    return module


def _mismatch(fault: str) -> TRLMismatchError:
    import trl  # noqa: PLC0415

    return TRLMismatchError(
        f"arguments of the colocate engine are tested with TRL {TESTED}; in the installed {trl.__version__} {fault}. "
        "Install a tested release: pip install 'trl>=1.14,<1.17'; or use rollouts: {mode: server}."
    )
