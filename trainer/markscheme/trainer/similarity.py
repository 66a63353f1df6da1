"""Similarity to a reference text, by the embeddings of any encoder: a learned part for a composite reward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from markscheme.verifiers.errors import DataError
from markscheme.verifiers.rewards.trl import Completion, completion_text

Measure = Literal["cosine", "token_f1"]
Pooling = Literal["mean", "cls"]


class _Encoded(NamedTuple):
    """A text's token embeddings of length 1 and its own (L, D) and (D,), its tokens counted; whether it was cut."""

    tokens_LD: Tensor
    sentence_D: Tensor
    truncated: bool


class SimilarityReward:
    """Rewards a completion by its likeness to a reference; a reward function as TRL calls it.

    - ``"cosine"``: of the two texts' sentence embeddings (mean of the last layer's token states, or the first token's),
      from -1 to 1. Sentence-BERT, arXiv 1908.10084.
    - ``"token_f1"``: BERTScore's F1 (arXiv 1904.09675, eqs. 1 to 3): each token of one text is matched with the most
      similar of the other; precision and recall are the means of these, F1 their harmonic mean (0 where they are not
      positive). Without idf weights. Special tokens neither count nor match; bert-score lets others match them.

    A learned measure can be gamed: give it a small weight beside a verifier. A completion without tokens gets 0, one
    without a reference None.

    Args:
        model: an encoder's folder or name on the Hub.
        measure: which.
        reference_column: the data set's column of reference texts.
        pooling: of sentence embeddings; what the encoder was trained with.
        max_length: tokens of a text that are looked at; the tokenizer's own limit where not given. What is longer is
            cut, counted in ``truncated`` and logged as ``<name>/truncated``.
        baseline: b: rewards become (s - b) / (1 - b), as BERTScore's rescaling; what unrelated texts have.
        batch_size: texts encoded at once; those of like length go together.
        dtype: of the encoder's weights.
        device: "cuda" where there is one, else "cpu", unless given.
        name: ``__name__``.

    Raises:
        DataError: the encoder cannot be loaded.
        ValueError: an unknown measure or pooling, or a baseline of 1 or more.
    """

    __name__: str

    def __init__(
        self,
        model: str,
        measure: Measure = "cosine",
        *,
        reference_column: str = "reference",
        pooling: Pooling = "mean",
        max_length: int | None = None,
        baseline: float = 0.0,
        batch_size: int = 32,
        dtype: str | torch.dtype = "float32",
        device: str | None = None,
        name: str = "similarity_reward",
    ) -> None:
        if measure not in ("cosine", "token_f1") or pooling not in ("mean", "cls"):
            raise ValueError(f'expected "cosine" or "token_f1", and "mean" or "cls"; not {measure!r}, {pooling!r}')
        if not baseline < 1:
            raise ValueError(f"baseline must be below 1, not {baseline!r}")
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(model)
            self.model: Any = AutoModel.from_pretrained(model, dtype=dtype)
        except (OSError, ValueError) as error:
            raise DataError(f"the encoder {model!r} cannot be loaded: {error}") from error
        self.model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
        self.__name__ = name
        self.measure, self.pooling = measure, pooling
        self.reference_column = reference_column
        self.max_length = _limit(max_length, self.tokenizer, self.model)
        self.baseline, self.batch_size = baseline, batch_size
        self.truncated = 0
        """Texts that were cut so far."""

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Completion] = (),
        completion_ids: Sequence[Sequence[int]] | None = None,
        *,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return one reward a completion.

        Raises:
            DataError: the column of references is not among ``columns``.
        """
        del prompts, completion_ids
        if self.reference_column not in columns:
            came = ", ".join(repr(name) for name in sorted(columns)) or "none"
            raise DataError(
                f"no column of references: expected {self.reference_column!r} in the data set; the columns that came: "
                f"{came}. Name the right one: SimilarityReward(reference_column=…)."
            )
        texts = [completion_text(completion) for completion in completions]
        references: list[str | None] = list(columns[self.reference_column])
        before = self.truncated
        scores = self.scores(texts, references)
        if log_metric is not None and texts:
            log_metric(f"{self.__name__}/truncated", (self.truncated - before) / len(texts))
        return scores

    def scores(self, texts: Sequence[str], references: Sequence[str | None]) -> list[float | None]:
        """Return each text's similarity to its reference, after the baseline; None without a reference."""
        wanted = [*texts, *(reference for reference in references if reference is not None)]
        encoded = self._encode(list(dict.fromkeys(wanted)))
        scores: list[float | None] = []
        for text, reference in zip(texts, references, strict=True):
            if reference is None:
                scores.append(None)
                continue
            one, other = encoded[text], encoded[reference]
            self.truncated += one.truncated or other.truncated
            raw = _similarity(one, other, self.measure)
            scores.append((raw - self.baseline) / (1 - self.baseline) if raw is not None else 0.0)
        return scores

    def _encode(self, texts: list[str]) -> dict[str, _Encoded]:
        found: dict[str, _Encoded] = {}
        order = sorted(texts, key=len)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            found.update(zip(batch, self._batch(batch), strict=True))
        return found

    def _batch(self, texts: list[str]) -> Iterator[_Encoded]:
        whole = self.tokenizer(texts, verbose=False)["input_ids"]
        inputs = self.tokenizer(
            texts, truncation=True, max_length=self.max_length, padding=True, return_special_tokens_mask=True,
            return_tensors="pt",
        )  # fmt: skip
        special_BL = inputs.pop("special_tokens_mask").bool()
        inputs = inputs.to(self.model.device)
        with torch.inference_mode():
            states_BLD = self.model(**inputs).last_hidden_state.float().cpu()
        mask_BL = inputs["attention_mask"].bool().cpu()
        for states_LD, mask_L, special_L, ids in zip(states_BLD, mask_BL, special_BL, whole, strict=True):
            sentence_D = states_LD[mask_L].mean(0) if self.pooling == "mean" else states_LD[mask_L][0]
            yield _Encoded(
                torch.nn.functional.normalize(states_LD[mask_L & ~special_L], dim=-1),
                torch.nn.functional.normalize(sentence_D, dim=-1),
                len(ids) > self.max_length,
            )


def _similarity(one: _Encoded, other: _Encoded, measure: Measure) -> float | None:
    """The similarity; None where a text has no tokens."""
    if not len(one.tokens_LD) or not len(other.tokens_LD):
        return None
    if measure == "cosine":
        return float(one.sentence_D @ other.sentence_D)
    cosines_LK = one.tokens_LD @ other.tokens_LD.T
    precision, recall = float(cosines_LK.amax(1).mean()), float(cosines_LK.amax(0).mean())
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0


def _limit(asked: int | None, tokenizer: Any, model: Any) -> int:
    """The longest text in tokens: what was asked for, within what the model has positions for."""
    known = [size for size in (asked, getattr(model.config, "max_position_embeddings", None)) if size]
    if asked is None and tokenizer.model_max_length < 1 << 30:
        known.append(tokenizer.model_max_length)
    return min(known, default=512)


__all__ = ["Measure", "Pooling", "SimilarityReward"]
