"""The place where arguments are added to TRL's engine, on TRL itself; `vllm.LLM` is a stand-in."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from types import SimpleNamespace
from typing import Any

import pytest

NEEDED = "needs torch and TRL: pip install markscheme[train]"
pytest.importorskip("trl", reason=NEEDED)

from markscheme.trainer.rollouts import colocate  # noqa: E402
from markscheme.verifiers.errors import MissingExtraError, TRLMismatchError  # noqa: E402

pytestmark = pytest.mark.train


class Engine(SimpleNamespace):
    """Keeps what it was made with, and does what TRL does with an engine after making it: nothing."""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """TRL's module as it is where vLLM is installed, its `LLM` a stand-in."""
    import trl.generation.vllm_generation as found  # noqa: PLC0415

    real = importlib.util.find_spec
    spec = importlib.machinery.ModuleSpec("vllm", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: spec if name == "vllm" else real(name, *a))
    monkeypatch.setattr(found, "LLM", Engine, raising=False)
    monkeypatch.setattr(found, "is_vllm_available", lambda *a, **k: True)
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "0")  # TRL sets them; they are put back afterwards
    return found


def generation(module: Any) -> Any:
    """TRL's own class, made as its trainer makes it."""
    ranks = {"num_processes": 1, "process_index": 0, "local_process_index": 0}
    accelerator = SimpleNamespace(**ranks, wait_for_everyone=lambda: None, is_main_process=True)
    made = module.VLLMGeneration.__new__(module.VLLMGeneration)
    settings = {"tensor_parallel_size": 1, "gpu_memory_utilization": 0.3, "max_model_length": 64, "max_num_seqs": 8}
    more = {"enable_sleep_mode": False, "model_impl": "vllm", "trust_remote_code": False, "mode": "colocate"}
    made.__dict__ |= {"model": SimpleNamespace(name_or_path="policy"), "accelerator": accelerator, **settings, **more}
    made._init_vllm()
    return made.llm


def test_arguments_reach_trls_engine_beside_trls_own(module: Any) -> None:
    with colocate.colocate_engine({"enforce_eager": True, "max_num_batched_tokens": 256}):
        engine = generation(module)
    assert engine.enforce_eager is True
    assert engine.max_num_batched_tokens == 256
    assert engine.model == "policy"
    assert engine.logprobs_mode == "processed_logprobs"
    assert module.LLM is Engine, "only inside"


def test_nothing_is_touched_without_arguments(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(module, "LLM")
    with colocate.colocate_engine({}):
        assert not hasattr(module, "LLM")


def test_an_error_inside_puts_trl_back_and_passes(module: Any) -> None:
    with pytest.raises(ZeroDivisionError), colocate.colocate_engine({"dtype": "float32"}):
        raise ZeroDivisionError
    assert module.LLM is Engine


def test_no_engine_made_is_an_error(module: Any) -> None:
    told = pytest.raises(TRLMismatchError, match="no engine was made inside colocate_engine")
    with told, colocate.colocate_engine({"dtype": "float32"}):
        pass


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda patch, module: patch.delattr(module, "LLM"), "vllm_generation has no LLM"),
        (lambda patch, module: patch.delattr(module, "VLLMGeneration"), "_init_vllm .* does not make an LLM"),
        (
            lambda patch, module: patch.setattr(module.VLLMGeneration, "_init_vllm", lambda self: None),
            "_init_vllm .* does not make an LLM",
        ),
        (lambda patch, module: patch.setattr(colocate, "PATCHED", "trl.elsewhere"), "there is no module trl.elsewhere"),
    ],
)
def test_another_trl_is_told_with_the_tested_range(
    module: Any, monkeypatch: pytest.MonkeyPatch, change: Any, fault: str
) -> None:
    change(monkeypatch, module)
    told = pytest.raises(TRLMismatchError, match=f"tested with TRL 1.14–1.16; in the installed .*{fault}")
    with told, colocate.colocate_engine({"dtype": "float32"}):
        pytest.fail("found before anything is loaded")


def test_no_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    if "vllm" in sys.modules:
        pytest.skip("vLLM is installed here")
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "vllm" else real(name, *a))
    with pytest.raises(MissingExtraError, match="rollouts by vLLM need vLLM"), colocate.colocate_engine({"seed": 1}):
        pytest.fail("it cannot be")
