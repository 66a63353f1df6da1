"""Training as pages show it, on a processor and within a second: what is cut down, and nothing else is.

Settings are read and checked as they stand on the page. Then a run is held to two steps and 16 tokens a completion, and
where there is no GPU `use_cpu` is set, without which bfloat16, the default of TRL, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS = 2
TOKENS = 16


def shorten(replace: Callable[[Any, str, Any], object] = setattr) -> None:
    """Hold training runs of this process to that; ``replace`` sets an attribute, as a test's monkeypatch does."""
    import torch  # noqa: PLC0415
    from transformers import TrainingArguments  # noqa: PLC0415

    checked = TrainingArguments.__post_init__

    def post_init(self: Any) -> None:
        self.max_steps = STEPS if self.max_steps < 0 else min(self.max_steps, STEPS)
        if getattr(self, "max_completion_length", None):
            self.max_completion_length = min(self.max_completion_length, TOKENS)
        self.disable_tqdm = True
        self.use_cpu = not torch.cuda.is_available()
        checked(self)

    replace(TrainingArguments, "__post_init__", post_init)
