from __future__ import annotations

import time
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import profiles  # noqa: F401 - loads the profile
from markscheme.prm import Alignment, align
from markscheme.verifiers.errors import DataError
from prm.conftest import CORPUS, encode

NAMES = ["byte_level_bpe", "greedy_bpe", "unigram", "llama_bpe", "word_piece", "characters", "words"]
PIECES = st.sampled_from(
    [*CORPUS[:4], "don't ", "it's. ", "\n\n", " ", "  ", "🙂", "👩‍👩‍👧", "é", "你好", "9", "\ufffd", "=", "▁"]
)
TEXTS = st.lists(PIECES | st.text(max_size=6), max_size=8).map("".join)


def by_prefixes(ids: list[int], tokenizer: Any) -> Alignment:
    """The definition: decode every prefix."""
    text = tokenizer.decode(ids, skip_special_tokens=True)
    prefixes = [tokenizer.decode(ids[: n + 1], skip_special_tokens=True).rstrip("\ufffd") for n in range(len(ids))]
    reached = [sum(accumulate((a == b for a, b in zip(prefix, text, strict=False)), min)) for prefix in prefixes]
    return Alignment(text, tuple(accumulate([*reached[:-1], len(text)][: len(ids)], max)))


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS)
def test_encoded_text_is_aligned_as_its_prefixes_say(name: str, text: str, made: dict[str, Any]) -> None:
    tokenizer = made[name]
    ids = encode(tokenizer, text) if name != "words" else [sum(map(ord, word)) for word in text.split()]
    assert align(ids, tokenizer) == by_prefixes(ids, tokenizer)


@pytest.mark.parametrize("name", NAMES)
@given(ids=st.lists(st.integers(0, 90), max_size=60))
def test_any_ids_are_aligned_as_their_prefixes_say(name: str, ids: list[int], made: dict[str, Any]) -> None:
    assert align(ids, made[name]) == by_prefixes(ids, made[name])


@pytest.mark.parametrize("name", ["byte_level_bpe", "greedy_bpe"])
@given(ids=st.lists(st.integers(3, 260), max_size=80))
def test_bytes_that_are_no_text_are_aligned_too(name: str, ids: list[int], made: dict[str, Any]) -> None:
    assert align(ids, made[name]) == by_prefixes(ids, made[name])


@given(ids=st.lists(st.integers(150, 405), max_size=50))
def test_bytes_of_a_fallback_are_aligned_too(ids: list[int], made: dict[str, Any]) -> None:
    assert align(ids, made["llama_bpe"]) == by_prefixes(ids, made["llama_bpe"])


def test_a_character_counts_with_its_last_byte(made: dict[str, Any]) -> None:
    tokenizer = made["byte_level_bpe"]
    letters = [tokenizer.token_to_id(letter) for letter in ("ð", "Ł", "ļ", "Ģ")]  # 🚀 as its four bytes
    aligned = align([*encode(tokenizer, "9"), *letters, *encode(tokenizer, "9")], tokenizer)
    assert aligned == Alignment("9🚀9", (1, 1, 1, 1, 2, 3))


def test_nothing_is_nothing(tokenizer: Any) -> None:
    assert align([], tokenizer) == Alignment("", ())


class Collapsing:
    """As of speech models: a letter that is repeated counts once. No piece stands by itself."""

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        return "".join(chr(97 + b) for a, b in pairwise([-1, *ids]) if a != b)


@given(ids=st.lists(st.integers(0, 3), max_size=150))
def test_a_decoder_that_looks_back_one_token(ids: list[int]) -> None:
    assert align(ids, Collapsing()) == by_prefixes(ids, Collapsing())


class Backwards:
    """A decoder that no window fits."""

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        return "".join(chr(97 + one % 26) for one in reversed(ids))


@given(ids=st.lists(st.integers(0, 25), max_size=100))
def test_a_decoder_that_nothing_fits_is_still_aligned_when_short(ids: list[int]) -> None:
    assert align(ids, Backwards()) == by_prefixes(ids, Backwards())


def test_a_decoder_that_nothing_fits_is_refused_when_long() -> None:
    with pytest.raises(
        DataError, match=r"changes text so far back that a completion of 20000 tokens cannot be aligned"
    ):
        align([n * n % 26 for n in range(20_000)], Backwards())


class Counting:
    """Counts the tokens that are decoded."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.tokens = tokenizer, 0

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        self.tokens += len(ids)
        return str(self.tokenizer.decode(ids, skip_special_tokens=skip_special_tokens))


@pytest.mark.parametrize("name", NAMES[:-1])
def test_the_work_is_linear(name: str, made: dict[str, Any]) -> None:
    def work(times: int) -> float:
        counting = Counting(made[name])
        ids = encode(made[name], "".join(CORPUS[:4]) * times)
        align(ids, counting)
        return counting.tokens / len(ids)

    assert work(64) < 1.2 * work(8) + 1
    assert work(64) < (8 if name not in ("word_piece",) else 100)


def test_long_completions_are_quick(made: dict[str, Any]) -> None:
    ids = encode(made["byte_level_bpe"], "".join(CORPUS[:2]) * 150)[:16_000]
    start = time.process_time()
    align(ids, made["byte_level_bpe"])
    assert time.process_time() - start < 2  # 0.1 s where nothing else runs
