"""GRPO with outcome and per-step process supervision, on TRL."""

__all__: list[str] = []
