"""How many characters of a completion stand fast after each of its tokens, for any tokenizer.

Decoding every prefix says it exactly and costs O(T²). Here each distinct token is decoded once, behind a token that
is plain text, and the pieces are held against the decoded whole; tokens that hold part of a character are decoded in
small runs. Where the pieces do not give the whole (decoders that tidy up spaces across tokens), windows of tokens are
decoded, which costs T times a window, and a window that does not fit grows to the left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

from markscheme.verifiers.errors import DataError

_BROKEN = "\ufffd"  # what decoders write for part of a character
_RUN = 64  # tokens that hold parts of characters and are decoded together
_BLOCK = 32  # tokens that share a window
_CONTEXT = 8  # tokens of a window before its block, at first, and after it
_MOST_WORK = 1 << 23  # tokens decoded for one completion before the tokenizer is refused: a few seconds


class Decoder(Protocol):
    """A tokenizer, as far as it is needed here: of transformers, of tokenizers, or one of your own."""

    def decode(self, token_ids: Any, /, *, skip_special_tokens: bool) -> Any:
        """Return the text of a list of ids."""
        ...


@dataclass(frozen=True, slots=True)
class Alignment:
    """A decoded completion and how it grew.

    Attributes:
        text: the ids decoded together.
        reached: one count a token, never decreasing: the characters of ``text`` that stand once this token has come.
            Its last is ``len(text)``.
    """

    text: str
    reached: tuple[int, ...]


def align(ids: Sequence[int], tokenizer: Decoder, *, skip_special_tokens: bool = True) -> Alignment:
    """Decode ``ids`` and say how many characters stand after each of them.

    With D(i) the text of the first i+1 ids, without U+FFFD at its end (part of a character, most often), and L(i) the
    length of what it shares with the whole text from the start, ``reached[i]`` is the largest L(j) of any j ≤ i.

    Args:
        ids: one completion's.
        tokenizer: anything with ``decode(ids, skip_special_tokens=…)``.
        skip_special_tokens: as when TRL decodes completions: special tokens have no text.

    Raises:
        DataError: the decoder changes text so far back that aligning the completion would take O(T²) work.
    """
    known = list(ids)

    def decode(part: list[int]) -> str:
        return str(tokenizer.decode(part, skip_special_tokens=skip_special_tokens)) if part else ""

    text = decode(known)
    reached = _by_pieces(known, decode, text)
    if reached is None:
        reached = _Windows(known, decode, text).reached()
    if reached:
        reached[-1] = len(text)
    return Alignment(text, tuple(accumulate(reached, max)))


def shared(one: str, other: str, start: int = 0) -> int:
    """How many characters of ``one`` stand in ``other`` from ``start`` on."""
    if other.startswith(one, start):
        return len(one)
    low, high = 0, min(len(one), max(len(other) - start, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if other.startswith(one[:middle], start):
            low = middle
        else:
            high = middle - 1
    return low


def _by_pieces(ids: list[int], decode: Callable[[list[int]], str], text: str) -> list[int] | None:
    """The characters reached after each token, from the texts of single tokens; None where these do not add up."""
    anchor = _anchor(ids, decode)
    if anchor is None:
        return None
    before, pieces = len(decode([anchor])), dict[int, str]()
    reached: list[int] = []
    at = place = 0
    while at < len(ids):
        # A decoder may treat the first text differently: it may take a leading space away.
        head, skip = ([anchor], before) if place else ([], 0)
        piece = pieces.get(ids[at]) if place else None
        if piece is None:
            piece = decode([*head, ids[at]])[skip:]
            if place:
                pieces[ids[at]] = piece
        if _BROKEN in piece:
            texts = _run(ids, at, lambda part, head=head, skip=skip: decode([*head, *part])[skip:])  # type: ignore[misc]
            if not text.startswith(texts[-1], place):
                return None
            reached.extend(place + shared(one.rstrip(_BROKEN), texts[-1]) for one in texts)
            at, place = at + len(texts), place + len(texts[-1])
            continue
        if not text.startswith(piece, place):
            return None
        place += len(piece)
        reached.append(place)
        at += 1
    return reached if place == len(text) else None


def _anchor(ids: list[int], decode: Callable[[list[int]], str]) -> int | None:
    """A token that is plain text, behind which others can be decoded as they are inside a text."""
    for token in list(dict.fromkeys(ids))[:256]:
        alone = decode([token])
        if alone.isascii() and alone.strip().isalnum() and decode([token, token]).startswith(alone):
            return token
    return None


def _run(ids: list[int], at: int, decode: Callable[[list[int]], str]) -> list[str]:
    """The texts of the tokens from ``at`` on, one more each time, until they hold whole characters.

    Bytes that are no text never do: they end before a token that is whole by itself.
    """
    texts: list[str] = []
    for end in range(at + 1, min(at + _RUN, len(ids)) + 1):
        texts.append(decode(ids[at:end]))
        if _BROKEN not in texts[-1] or (end < len(ids) and _BROKEN not in decode([ids[end]])):
            break
    return texts


class _Windows:
    """Aligns by windows of tokens, each fitted into the text where the tokens before it have ended."""

    def __init__(self, ids: list[int], decode: Callable[[list[int]], str], text: str) -> None:
        self.ids = ids
        self.text = text
        self.ends: list[int] = []  # characters reached after each token
        self.starts = [0]  # tokens before which nothing is pending: windows may start there
        self.work = 0
        self._decode = decode

    def decode(self, start: int, end: int) -> str:
        """Decode a window, and count the work."""
        self.work += end - start
        if self.work > _MOST_WORK:
            raise DataError(
                f"this tokenizer's decoder changes text so far back that a completion of {len(self.ids)} tokens cannot "
                "be aligned in reasonable time: expected a decoder whose text depends on a few neighbours. Turn off "
                "what rewrites the text (clean_up_tokenization_spaces=False), or give the steps by token index."
            )
        return self._decode(self.ids[start:end])

    def reached(self) -> list[int]:
        """The characters reached after each token."""
        while len(self.ends) < len(self.ids):
            context = _CONTEXT
            while not self.block(context):
                context *= 2
        return self.ends

    def block(self, context: int) -> bool:
        """Align the next block with so many tokens before it; whether that fits what is known."""
        first = len(self.ends)
        last = min(first + _BLOCK, len(self.ids))
        start = next(one for one in reversed(self.starts) if one <= max(first - context, 0))
        ahead = min(last + _CONTEXT, len(self.ids))
        skip, place = self.fit(start, self.decode(start, ahead))
        if start and not self.fits(start, first, last, ahead, skip, place):
            return False
        for n in range(first, last):
            part = self.decode(start, n + 1)[skip:]
            self.ends.append(place + shared(part.rstrip(_BROKEN), self.text, place))
            if self.ends[-1] == place + len(part):
                self.starts.append(n + 1)
        return True

    def fit(self, start: int, window: str) -> tuple[int, int]:
        """The characters of a window to leave out, and the place in the text where its others stand."""
        if start == 0:
            return 0, 0
        place = self.ends[start - 1]
        ways = [(0, place)]
        if self.text[place : place + 1].isspace():
            ways.append((0, place + 1))
        alone = self.decode(start, start + 1)
        if _BROKEN not in alone and start < len(self.ends):
            ways.append((len(alone), self.ends[start]))
        return max(ways, key=lambda way: shared(window[way[0] :], self.text, way[1]) + way[1])

    def fits(self, start: int, first: int, last: int, ahead: int, skip: int, place: int) -> bool:
        """Whether a window agrees with the tokens before its block, and with the text as far as it can."""
        known = self.decode(start, first)[skip:]
        if place + shared(known.rstrip(_BROKEN), self.text, place) != self.ends[first - 1]:
            return False
        whole = self.decode(start, ahead)[skip:]
        if ahead == len(self.ids):
            return self.text[place:] == whole
        return shared(whole, self.text, place) >= len(self.decode(start, last)[skip:].rstrip(_BROKEN))
