"""The judge of steps."""

__all__: list[str] = []
