"""What equality asks of a policy, without the model library that policies are written in."""

from __future__ import annotations

from typing import Protocol


class Conventions(Protocol):
    """The fields of ``markscheme.verifiers.Policy`` that equality reads."""

    @property
    def percent(self) -> str:
        """``lenient``, ``strict`` or ``interchangeable``."""
        ...

    @property
    def precision(self) -> str:
        """``exact`` or ``gold``."""
        ...
