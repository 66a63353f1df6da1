"""Tokenizers of every family, trained here on a few lines: they take milliseconds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

CORPUS = [
    "Step 1: She sells 16 - 3 - 4 = 9 eggs a day.\n\nStep 2: She makes 9 * 2 = $18 every day.\n\n",
    "It's 5 o'clock, and they don't know; we've seen that I'm late. Isn't it ? Yes , it is !\n\n",
    "naïve café – déjà vu. 你好世界，这是一个测试。三加四等于七。\n\n🙂🚀 😀👩‍👩‍👧 “quoted” ½ × π ≈ 1.57\n",
    "The total is 12.\nThe rest is 3.\n\nSo the answer is 4.\n\n\n\nDone.\n\n",
] * 4


def _tokenizers() -> Any:
    return pytest.importorskip("tokenizers")


def byte_level_bpe() -> Any:
    """As of GPT-2, Llama 3 and Qwen: bytes, merged within words."""
    t = _tokenizers()
    made = t.Tokenizer(t.models.BPE())
    made.pre_tokenizer = t.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = t.decoders.ByteLevel()
    trainer = t.trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<eos>", "<pad>", "<step>"],
        initial_alphabet=t.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def greedy_bpe() -> Any:
    """Bytes merged across everything: tokens such as ".\\n\\nStep" hold separators and the text on both sides."""
    t = _tokenizers()
    made = t.Tokenizer(t.models.BPE())
    made.pre_tokenizer = t.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = t.decoders.ByteLevel()
    trainer = t.trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<eos>", "<pad>", "<step>"],
        initial_alphabet=t.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def unigram() -> Any:
    """As of SentencePiece: Metaspace, whose decoder takes the leading space away."""
    t = _tokenizers()
    made = t.Tokenizer(t.models.Unigram())
    made.pre_tokenizer = t.pre_tokenizers.Metaspace()
    made.decoder = t.decoders.Metaspace()
    trainer = t.trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<eos>", "<pad>", "<step>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


def llama_bpe() -> Any:
    """As of Llama 2: Metaspace, bytes for what the vocabulary lacks, one leading space stripped."""
    t = _tokenizers()
    made = t.Tokenizer(t.models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = t.normalizers.Sequence([t.normalizers.Prepend("▁"), t.normalizers.Replace(" ", "▁")])
    made.decoder = t.decoders.Sequence(
        [
            t.decoders.Replace("▁", " "),
            t.decoders.ByteFallback(),
            t.decoders.Fuse(),
            t.decoders.Strip(content=" ", left=1),
        ]
    )
    trainer = t.trainers.BpeTrainer(
        vocab_size=150,
        limit_alphabet=60,  # the rest, such as "é" and every newline, is left to the bytes
        special_tokens=["<eos>", "<pad>", "<step>", "<unk>"],
        show_progress=False,
    )
    made.train_from_iterator([text.replace("\n", " ") for text in CORPUS], trainer)
    model = json.loads(made.to_str())["model"]
    vocab = model["vocab"] | {f"<0x{n:02X}>": len(model["vocab"]) + n for n in range(256)}
    merges = [tuple(pair) for pair in model["merges"]]
    made.model = t.models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    return made


def word_piece() -> Any:
    """As of BERT: pieces of words, whose decoder tidies up the spaces before punctuation."""
    t = _tokenizers()
    made = t.Tokenizer(t.models.WordPiece(unk_token="<unk>"))
    made.pre_tokenizer = t.pre_tokenizers.BertPreTokenizer()
    made.decoder = t.decoders.WordPiece(cleanup=True)
    trainer = t.trainers.WordPieceTrainer(
        vocab_size=260, special_tokens=["<eos>", "<pad>", "<step>", "<unk>"], show_progress=False
    )
    made.train_from_iterator(CORPUS, trainer)
    return made


class Characters:
    """A tokenizer of characters, as a tiny model may have one of its own."""

    eos_token_id = 0
    pad_token_id = 1
    all_special_ids = (0, 1)

    def __init__(self) -> None:
        self.letters = ["", "", *sorted(set("".join(CORPUS)))]
        self.ids = {letter: n for n, letter in enumerate(self.letters) if letter}

    def encode(self, text: str) -> list[int]:
        return [self.ids[letter] for letter in text if letter in self.ids]

    def decode(self, ids: list[int], *, skip_special_tokens: bool = False) -> str:
        names = ["", ""] if skip_special_tokens else ["<eos>", "<pad>"]
        return "".join(names[n] if n < 2 else self.letters[n % len(self.letters)] for n in ids)


class Words:
    """One token a word, and a decoder that joins them with spaces and tidies up, as transformers may be asked to."""

    eos_token_id = None

    def __init__(self) -> None:
        self.words = sorted({word for text in CORPUS for word in text.split(" ")} | {"'", "t", "s", "n't"})

    def decode(self, ids: list[int], *, skip_special_tokens: bool = False) -> str:
        text = " ".join(self.words[n % len(self.words)] for n in ids)
        for mark in (".", "?", "!", ",", "n't", "'m", "'s", "'ve"):
            text = text.replace(f" {mark}", mark)
        return text.replace(" ' ", "'")


FAMILIES: dict[str, Callable[[], Any]] = {
    "byte_level_bpe": byte_level_bpe,
    "greedy_bpe": greedy_bpe,
    "unigram": unigram,
    "llama_bpe": llama_bpe,
    "word_piece": word_piece,
}


def encode(tokenizer: Any, text: str) -> list[int]:
    found = tokenizer.encode(text)
    return list(getattr(found, "ids", found))


@pytest.fixture(scope="session")
def made() -> dict[str, Any]:
    """Every tokenizer, made once."""
    return {name: make() for name, make in FAMILIES.items()} | {"characters": Characters(), "words": Words()}


@pytest.fixture(scope="session", params=[*FAMILIES, "characters"])
def tokenizer(request: pytest.FixtureRequest, made: dict[str, Any]) -> Any:
    return made[request.param]
