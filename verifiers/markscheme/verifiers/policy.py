"""The conventions of equality that a suite may choose."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Policy(BaseModel):
    """Conventions, each with a default that suits GSM8K and MATH. Everything else follows from mathematics."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    percent: Literal["lenient", "strict", "interchangeable"] = "lenient"
    """Whether ``50`` answers gold ``50%``. ``lenient``: yes, but ``50%`` does not answer gold ``50``.
    ``strict``: neither. ``interchangeable``: both, for a question that asks for a percentage."""
    precision: Literal["exact", "gold"] = "exact"
    """``gold`` also accepts an answer that rounds to a decimal gold's written digits."""
    max_length: int = Field(default=10_000, ge=1)
    """Characters. A longer answer is INCORRECT (``too_large``); a longer gold is unreadable."""
