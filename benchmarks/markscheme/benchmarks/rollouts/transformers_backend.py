"""Completions by transformers' ``generate``: no server, no compiled kernels, any model; the slow and certain way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from markscheme.benchmarks.rollouts.backend import Generated, checkpoint
from markscheme.benchmarks.rollouts.prompts import Prompt
from markscheme.benchmarks.rollouts.sampling import Sampling
from markscheme.prm.folders import check_folder
from markscheme.verifiers.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import torch


class TransformersBackend:
    """A causal language model of transformers, on a GPU where there is one.

    Args:
        model: a folder or a name on the Hub.
        batch_size: completions generated at once; prompts of like length go together.
        dtype: "auto" takes the checkpoint's own on a GPU and float32 on a CPU, where half precision is slower.

    Raises:
        DataError: the model cannot be loaded.
        MissingExtraError: torch and transformers are not installed.
    """

    def __init__(self, model: str, *, batch_size: int = 16, dtype: str = "auto") -> None:
        try:
            import torch  # noqa: PLC0415 - of an extra
            from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(
                f"the transformers backend needs: pip install markscheme[train] ({error})"
            ) from error
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        kind = "float32" if dtype == "auto" and self.device == "cpu" else dtype
        try:
            check_folder(model)
            self.tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
            self.model: Any = AutoModelForCausalLM.from_pretrained(model, dtype=kind)
        except (OSError, ValueError) as error:
            raise DataError(f"the model {model!r} cannot be loaded: {error}") from error
        self.model.to(self.device).eval()
        # A checkpoint's own settings, such as a repetition penalty, would be at work beside the sampling asked for.
        own = self.model.generation_config
        self.model.generation_config = GenerationConfig(bos_token_id=own.bos_token_id, eos_token_id=own.eos_token_id)
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.batch_size = batch_size
        self.identity = f"transformers {checkpoint(model)} {kind} {batch_size}"

    @property
    def chats(self) -> bool:
        """Whether the tokenizer has a chat template."""
        return self.tokenizer.chat_template is not None

    def generate(self, prompts: Sequence[Prompt], sampling: Sampling, seed: int) -> list[list[Generated]]:
        """See `Backend.generate`."""
        import torch  # noqa: PLC0415

        texts = [self._text(prompt) for prompt in prompts]
        ids = self.tokenizer(texts, add_special_tokens=not prompts[0].messages)["input_ids"] if texts else []
        self._check_lengths(texts, ids, sampling)
        copies = 1 if sampling.greedy else sampling.n
        order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
        found: list[list[Generated]] = [[] for _ in prompts]
        torch.manual_seed(seed)
        for batch in _batches([n for n in order for _ in range(copies)], self.batch_size):
            for n, generated in zip(batch, self._batch([ids[n] for n in batch], sampling), strict=True):
                found[n].append(generated)
        return [group * (sampling.n // copies) for group in found]

    def _check_lengths(self, texts: Sequence[str], ids: Sequence[list[int]], sampling: Sampling) -> None:
        """Before any is generated: what is done of a call is lost with it."""
        most = getattr(self.model.config, "max_position_embeddings", None)
        long = [n for n, one in enumerate(ids) if most is not None and len(one) + sampling.max_tokens > most]
        if long:
            worst = max(long, key=lambda n: len(ids[n]))
            raise DataError(
                f"a prompt of {len(ids[worst])} tokens and {sampling.max_tokens} more do not fit the model's {most}: "
                "give fewer worked examples or a smaller --max-tokens. "
                f"It is one of {len(long)} of these {len(ids)}, and ends in {texts[worst][-80:]!r}"
            )

    def _text(self, prompt: Prompt) -> str:
        if not prompt.messages:
            return prompt.text
        text = self.tokenizer.apply_chat_template(list(prompt.messages), tokenize=False, add_generation_prompt=True)
        return str(text)

    def _batch(self, ids: list[list[int]], sampling: Sampling) -> Iterator[Generated]:
        import torch  # noqa: PLC0415

        inputs = self.tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(self.device)
        width = inputs["input_ids"].shape[1]
        with torch.inference_mode():
            output = self.model.generate(**inputs, **self._options(sampling))
        for row in output[:, width:]:
            yield self._generated(row, sampling)

    def _options(self, sampling: Sampling) -> dict[str, Any]:
        options: dict[str, Any] = {
            "max_new_tokens": sampling.max_tokens,
            "do_sample": not sampling.greedy,
            "pad_token_id": self.tokenizer.pad_token_id,
        }
        if not sampling.greedy:
            options |= {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
        if sampling.stop:
            options |= {"stop_strings": list(sampling.stop), "tokenizer": self.tokenizer}
        return options

    def _generated(self, row: torch.Tensor, sampling: Sampling) -> Generated:
        ends = self.model.generation_config.eos_token_id
        ends = set(ends) if isinstance(ends, list) else {ends, self.tokenizer.eos_token_id}
        ids: list[int] = row.tolist()
        stop = next((at for at, token in enumerate(ids) if token in ends), None)
        kept = ids if stop is None else ids[: stop + 1]
        text = str(self.tokenizer.decode(kept, skip_special_tokens=True))
        text, cut = cut_at(text, sampling.stop)
        if stop is None and cut:  # rows that ended before the longest are padded
            while kept and kept[-1] == self.tokenizer.pad_token_id:
                kept.pop()
        return Generated(text, len(kept), "stop" if stop is not None or cut else "length")


def cut_at(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """Cut a text before the first of the stop texts; whether one was there."""
    places = [place for place in (text.find(stop) for stop in stops) if place >= 0]
    return (text[: min(places)], True) if places else (text, False)


def _batches(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
