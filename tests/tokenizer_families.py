"""Tokenizers of every family, trained here on a few lines, and what each of them keeps of a text."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

CORPUS = [
    "Step 1: The total ratio is 5 + 8 = 13.\n\nStep 2: so 13 - 4 = 9 apples are left.\n",
    "Janet sells 16 - 3 - 4 = 9 eggs a day, at $2 each. The answer is 18.",
    "let x be the cost in cents; then 3x + e = 124 and 5x + e = 182 .",
    "What is it? hello world, the quick brown fox jumps over the lazy dog 0123456789 ()*/%<>",
    " ".join(2 * c for c in "abcdefghijklmnopqrstuvwxyzJSTWjqz0123456789"),
] * 20

CHAT = (
    "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
SPECIALS = ["<unk>", "<s>", "</s>", "<pad>", "<step>", "<|start|>", "<|end|>"]


@dataclass(frozen=True)
class Family:
    """A kind of tokenizer.

    Attributes:
        name: what it is called.
        make: trains one.
        separators: separators that it can write.
        canonical: what it keeps of a text; texts that are equal after this are the same to it.
        lossless: whether it keeps every text as it is.
    """

    name: str
    make: Callable[[], Tokenizer]
    separators: tuple[str, ...]
    canonical: Callable[[str], str] = str
    lossless: bool = False

    @functools.cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """As transformers has it, with special tokens and a chat template."""
        raw = self.make()
        names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
        if self.name == "byte-level BPE":
            del names["unk_token"]
        extra = ["<step>", "<|start|>", "<|end|>"]
        wrapped = PreTrainedTokenizerFast(tokenizer_object=raw, additional_special_tokens=extra, **names)
        wrapped.chat_template = CHAT
        return wrapped

    def __hash__(self) -> int:
        return hash(self.name)


def _trained(model: Any, trainer: Any, pre: Any, decoder: Any, normalizer: Any = None) -> Tokenizer:
    made = Tokenizer(model)
    if normalizer is not None:
        made.normalizer = normalizer
    if pre is not None:
        made.pre_tokenizer = pre
    if decoder is not None:
        made.decoder = decoder
    made.train_from_iterator(CORPUS, trainer)
    begin = made.token_to_id("<s>")
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A $B", special_tokens=[("<s>", begin), ("</s>", made.token_to_id("</s>"))]
    )
    return made


def _byte_level() -> Tokenizer:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=alphabet, special_tokens=SPECIALS, show_progress=False
    )
    return _trained(models.BPE(), trainer, pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel())


def _unigram() -> Tokenizer:
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=SPECIALS, unk_token="<unk>", initial_alphabet=_ALPHABET, show_progress=False
    )
    return _trained(models.Unigram(), trainer, pre_tokenizers.Metaspace(), decoders.Metaspace())


def _llama() -> Tokenizer:
    """SentencePiece's BPE with byte fallback, as Llama's and Mistral's files have it."""
    model = models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    specials = [*SPECIALS, *(f"<0x{i:02X}>" for i in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=specials, show_progress=False)
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    # The pieces are learnt inside words: without a pre-tokenizer a line would be one word.
    made = _trained(model, trainer, pre_tokenizers.Split(Regex("▁[^▁]*"), "isolated"), decoder, normalizer)
    made.pre_tokenizer = None
    # Bytes are pieces of the vocabulary like others: only the trainer takes them for special tokens.
    content = json.loads(made.to_str())
    content["added_tokens"] = [one for one in content["added_tokens"] if not one["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(content))


def _word_piece() -> Tokenizer:
    trainer = trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=SPECIALS, initial_alphabet=_ALPHABET, show_progress=False
    )
    model = models.WordPiece(unk_token="<unk>")
    return _trained(model, trainer, pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(cleanup=False))


def _characters() -> Tokenizer:
    vocabulary = {token: i for i, token in enumerate([*SPECIALS, *sorted({*_ALPHABET, " ", "\n"})])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    made.decoder = decoders.Fuse()
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", vocabulary["<s>"])])
    return made


def _without_blanks(text: str) -> str:
    return "".join(text.split())


_ALPHABET = sorted({c for line in CORPUS for c in line if not c.isspace()})
KNOWN = "".join(_ALPHABET)
"""The characters that every family's vocabulary holds."""

FAMILIES = [
    Family("byte-level BPE", _byte_level, ("\n\n", "\n", "<step>", " ки\n", "+"), lossless=True),
    Family("Unigram", _unigram, ("\n", "<step>", "+"), lossless=False),
    Family("Llama", _llama, ("\n\n", "\n", "<step>", "+"), lossless=True),
    Family("WordPiece", _word_piece, ("<step>", "+"), canonical=_without_blanks),
    Family("characters", _characters, ("\n\n", "\n", "<step>", "+")),
]
