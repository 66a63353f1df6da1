from __future__ import annotations

from collections.abc import Sequence

import pytest

from markscheme.benchmarks import rollouts
from markscheme.benchmarks.rollouts import Generated, Prompt, Sampling


class Backend:
    """Answers by what a prompt holds: the first of ``answers`` whose key is in it; else "#### 0"."""

    identity = "fake"

    def __init__(self, *, chats: bool = False, **answers: str) -> None:
        self.chats = chats
        self.answers = answers
        self.prompts: list[Prompt] = []
        self.samplings: list[Sampling] = []
        self.fail_at: int | None = None

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling, seed: int) -> list[list[Generated]]:
        if self.fail_at is not None and len(self.samplings) >= self.fail_at:
            raise KeyboardInterrupt
        self.prompts += prompts
        self.samplings.append(sampling)
        texts = [prompt.text or prompt.messages[-1]["content"] for prompt in prompts]
        said = [next((self.answers[key] for key in self.answers if key in text), "#### 0") for text in texts]
        return [[Generated(one, 1, "stop")] * sampling.n for one in said]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Backend:
    """What ``--model`` opens, whatever it names."""
    made = Backend()
    monkeypatch.setattr(rollouts, "open_backend", lambda *args, **options: made)
    return made
