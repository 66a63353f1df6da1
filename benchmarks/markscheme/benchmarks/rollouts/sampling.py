"""How completions are drawn."""

from __future__ import annotations

import hashlib

from pydantic import BaseModel, ConfigDict, Field


class Sampling(BaseModel):
    """How completions are drawn from a model. As it stands: one greedy completion a problem."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int = Field(default=1, ge=1)
    """Completions a problem."""
    temperature: float = Field(default=0.0, ge=0)
    """0: greedy."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus: the smallest set of tokens with this much probability."""
    top_k: int = Field(default=0, ge=0)
    """The likeliest tokens that are drawn from; 0: all."""
    max_tokens: int = Field(default=512, ge=1)
    """A completion's length at most, in tokens."""
    stop: tuple[str, ...] = ()
    """Texts at which a completion ends; they are left out of it."""
    seed: int = Field(default=0, ge=0)
    """The same seed, model, backend and batch size give the same completions on the same machine."""

    @property
    def greedy(self) -> bool:
        """Whether nothing is drawn."""
        return self.temperature == 0

    def seed_of(self, *names: object) -> int:
        """A seed for a part of the run, below 2**31: what it is does not hang on what was drawn before it."""
        text = repr((self.seed, *names)).encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1

    def seeds(self, seed: int, prompts: int) -> list[int]:
        """Seeds of a call's prompts, ``n`` apart: vLLM gives a prompt's completions its seed plus 0, 1, … n - 1."""
        return [(seed + place * self.n) % (1 << 31) for place in range(prompts)]


PRESETS: dict[str, dict[str, float | int]] = {
    "greedy": {"temperature": 0.0},
    "default": {"temperature": 1.0},
    "focused": {"temperature": 0.7, "top_k": 4},
}
"""Named settings. ``focused`` draws from the four likeliest tokens at a temperature of 0.7."""
