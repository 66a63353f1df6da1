"""A backend as a function of prompts: what labelers of steps roll out and ask with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from markscheme.benchmarks.rollouts.backend import Backend
from markscheme.benchmarks.rollouts.prompts import Prompt
from markscheme.benchmarks.rollouts.sampling import Sampling
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.records import fingerprint


class BackendGenerate:
    """Completes prompts by a backend: ``generate(prompts, n)``.

    The seed of a call is made of the run's seed and of the prompts, so that a run that was stopped draws what an
    unbroken one would have drawn; the same prompts asked again in one run have another.

    Args:
        backend: generates.
        sampling: how; ``n`` is the call's.

    Attributes:
        identity: what completions follow from beside the prompts.
    """

    def __init__(self, backend: Backend, sampling: Sampling) -> None:
        self.backend, self.sampling = backend, sampling
        self.identity = f"{backend.identity} {sampling.model_dump_json(exclude={'n'})}"
        self._asked: Counter[str] = Counter()

    def __call__(self, prompts: Sequence[str | Sequence[Mapping[str, str]]], n: int) -> list[list[str]]:
        """Return ``n`` completions of each prompt, in order.

        Raises:
            DataError: texts and messages in one call, or a prompt does not fit the model.
        """
        if not prompts:
            return []
        made = [_prompt(prompt) for prompt in prompts]
        if len({bool(prompt.messages) for prompt in made}) > 1:
            raise DataError("texts and messages in one call: a backend takes prompts of one style")
        digest = fingerprint(n, [[prompt.text, *map(dict, prompt.messages)] for prompt in made])
        seed = self.sampling.seed_of(digest, self._asked[digest])
        self._asked[digest] += 1
        found = self.backend.generate(made, self.sampling.model_copy(update={"n": n}), seed)
        return [[one.text for one in group] for group in found]


def _prompt(prompt: str | Sequence[Mapping[str, str]]) -> Prompt:
    if isinstance(prompt, str):
        return Prompt(text=prompt)
    return Prompt(messages=tuple(dict(message) for message in prompt))
