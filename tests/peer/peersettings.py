"""Our settings with TRL's defaults. In a module of its own, so that a checkpoint can hold them."""

from __future__ import annotations

from dataclasses import dataclass

from markscheme.trainer import ProcessGRPOConfig


@dataclass
class PeerConfig(ProcessGRPOConfig):
    """The one default that differs is TRL's."""

    use_bias_correction_kl: bool = True
