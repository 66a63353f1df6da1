"""What users may plug in: a judge of steps, and the tokenizers that the encoder works with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class StepScorer(Protocol):
    """Anything that says how likely each step of a solution is to be right."""

    def score(self, problem: str, steps: Sequence[str]) -> list[float]:
        """Return a probability in [0, 1] a step, in order.

        A step that could not be scored, because the solution was cut off before it, is NaN, or missing from the end of
        the list; metrics count it as a miss and never take it for a right step.
        """
        ...


class Tokenizer(Protocol):
    """What the encoder asks of a tokenizer; every tokenizer of transformers has it."""

    def __call__(self, text: Any, **options: Any) -> Any:
        """Encode a text, or a list of them; the result has ``input_ids``."""
        ...

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """Turn ids back into text."""
        ...

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Look a token up in the vocabulary."""
        ...
