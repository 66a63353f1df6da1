"""The likelihood baseline: a policy's own probabilities of a step's tokens, with no training at all.

On synthetic arithmetic the smallest token probability of a step finds first errors almost perfectly, so a judge that
was trained there has shown nothing until it stands beside this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import torch

from markscheme.prm.encode import StepEncoder
from markscheme.prm.model.batching import batches_by_length, pad_ids
from markscheme.prm.model.logps import token_logps
from markscheme.verifiers.errors import DataError, StepDataError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from markscheme.prm.encode import Encoded

Reduce = Literal["min", "mean"]


class LikelihoodScorer:
    """Scores each step by the policy's probabilities of its tokens: a `StepScorer`.

    Separators do not count: they are this encoder's, not the policy's.

    Args:
        model: the policy, a causal language model, in evaluation.
        tokenizer: its own.
        encoder: the layout; by default the policy's chat template where it has one, steps parted by blank lines, and
            the model's own length.
        reduce: ``min``: the smallest probability of a token of the step; ``mean``: the geometric mean.
        batch_size: the most solutions of one forward pass.
        batch_tokens: the most tokens of one, padding included.

    Raises:
        DataError: ``reduce`` is unknown.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        encoder: StepEncoder | None = None,
        reduce: Reduce = "min",
        batch_size: int = 16,
        batch_tokens: int = 8192,
    ) -> None:
        if reduce not in ("min", "mean"):
            raise DataError(f"reduce: expected min or mean, got {reduce!r}")
        limit = getattr(model.config, "max_position_embeddings", None)
        self.model = model
        self.encoder = encoder or StepEncoder(tokenizer, separator_in_step="allow", max_length=limit)
        self.reduce = reduce
        self._batch_size = batch_size
        self._batch_tokens = batch_tokens
        self._pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, dtype: torch.dtype | str = "auto", **options: Any) -> Self:
        """Load a policy from a folder or the Hub, onto a GPU if there is one. ``options`` are this class's."""
        from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415 - slow to import

        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        return cls(model, AutoTokenizer.from_pretrained(folder), **options)

    def score(self, problem: str, steps: Sequence[str]) -> list[float]:
        """One probability a step; NaN for a step beyond the model's length. Raises DataError as the encoder does."""
        return self._run([self.encoder.encode(problem, steps)])[0]

    def score_many(
        self, items: Iterable[tuple[str, Sequence[str]]], *, done: Callable[[int], None] | None = None
    ) -> list[list[float]]:
        """Score many solutions, in batches of like length; results are in the items' order.

        Args:
            items: problems and steps.
            done: called with the number of solutions scored, after each batch.

        Raises:
            StepDataError: solutions that cannot be laid out; it lists every one.
        """
        encoded, bad = [], []
        for row, (problem, steps) in enumerate(items):
            try:
                encoded.append(self.encoder.encode(problem, steps))
            except DataError as error:
                bad.append((row, "", str(error)))
        if bad:
            raise StepDataError(bad)
        return self._run(encoded, done)

    @torch.inference_mode()
    def _run(self, rows: Sequence[Encoded], done: Callable[[int], None] | None = None) -> list[list[float]]:
        found: list[list[float]] = [[] for _ in rows]
        for places in batches_by_length([len(row.ids) for row in rows], self._batch_size, self._batch_tokens):
            ids, mask = pad_ids([rows[place].ids for place in places], self._pad)
            logps = token_logps(self.model, ids, mask).cpu()  # (B, T-1), of tokens 1 … T-1
            for place, own in zip(places, logps, strict=True):
                found[place] = self._steps(rows[place], own)
            if done is not None:
                done(len(places))
        return found

    def _steps(self, row: Encoded, logps: torch.Tensor) -> list[float]:
        width = len(self.encoder.separator_ids)
        scores = []
        for start, position in zip(row.starts, row.positions, strict=True):
            own = logps[start - 1 : position - width]  # of the step's tokens, the separator's left out
            if not len(own):
                scores.append(1.0)  # a step without a token of its own is no surprise
            else:
                scores.append(math.exp(float(own.min() if self.reduce == "min" else own.mean())))
        return [*scores, *[math.nan] * row.lost]
