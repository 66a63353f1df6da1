"""A vLLM plugin for tests on a CPU: linear layers multiply by the weights themselves.

vLLM's CPU backend packs the weights of linear layers for its kernels once a model is loaded, and drops what it packed.
TRL's colocate mode then finds no parameter to load new weights into (``Parameter has no attribute weight_loader``), and
vLLM's own ``reload_weights`` fills parameters that no kernel reads. A GPU's layers are not packed: nothing there needs
this.
"""

from __future__ import annotations

import torch


def plain_linear(layer: torch.nn.Module, remove_weight: bool) -> None:  # noqa: FBT001 - vLLM's signature
    """Take the place of ``dispatch_cpu_unquantized_gemm``: no packed copy; the weight stays a parameter."""
    layer.cpu_linear = torch.nn.functional.linear  # type: ignore[assignment]


def register() -> None:
    """Called by vLLM in every process, before a model is made."""
    from vllm.model_executor.layers import utils  # noqa: PLC0415 - this module is loaded before vLLM is

    utils.dispatch_cpu_unquantized_gemm = plain_linear
