"""Encoding texts so that their ids can stand behind one another: pieces that decode to the texts put together."""

from __future__ import annotations

from collections.abc import Sequence

from markscheme.prm.protocol import Tokenizer
from markscheme.verifiers.errors import DataError

_ANCHORS = ("\n", ".", ":", "=", ")", ",", "|", "_")
"""Texts to encode a piece behind, in the order in which they are tried. None is a letter or a digit: behind those
WordPiece would take a piece for the rest of a word."""
_PROBES = "abcdefghijklmnopqrstuvwxyz0123456789"


class Joiner:
    """Encodes pieces of a text one by one.

    A tokenizer of the SentencePiece family puts a blank before whatever it is given, so the ids of two texts put
    together decode with a blank between them. There a piece is encoded behind a short anchor whose ids are then taken
    off. Tokenizers that split at blanks and drop them (WordPiece) lose white space by themselves; theirs are put
    together as they come.

    Attributes:
        before: the special tokens that the tokenizer puts before a text, such as the one that begins a sequence.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._unknown: int | None = getattr(tokenizer, "unk_token_id", None)
        self._unknown_ids = set() if self._unknown is None else {self._unknown}
        self.before = self._specials_before()
        self._anchors = self._find_anchors()

    def first(self, text: str) -> list[int]:
        """Encode what a sequence begins with; special tokens that it spells stay text."""
        return self._encode([text])[0]

    def rendered(self, text: str) -> list[int]:
        """Encode what a chat template rendered: the special tokens that it spells are special tokens."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode texts to stand behind others; special tokens that they spell stay text."""
        if not texts:
            return []
        if not self._anchors:
            return self._encode(texts)
        anchor, ids = self._anchors[0]
        found = self._encode([anchor + text for text in texts])
        return [
            whole[len(ids) :] if whole[: len(ids)] == ids else self._behind_another(text)
            for text, whole in zip(texts, found, strict=True)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids as it is, special tokens included."""
        decoded = self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return str(decoded)

    def separator(self, given: str | Sequence[int]) -> tuple[tuple[int, ...], str]:
        """Return a separator's ids and text.

        Raises:
            DataError: it is empty, or the tokenizer cannot write it.
        """
        if not given:
            raise DataError("the separator is empty: it must be at least one token, which a step's score is read at")
        if not isinstance(given, str):
            return tuple(given), self.decode(given)
        token = self._tokenizer.convert_tokens_to_ids(given)
        if isinstance(token, int) and token not in self._unknown_ids:
            return (token,), given
        ids = self.pieces([given])[0]
        before = self.first(_PROBES[0])
        written = self.decode([*before, *ids])
        if not ids or self._unknown_ids.intersection(ids) or not written.endswith(given):
            raise DataError(
                f"the tokenizer cannot write the separator {given!r} (it makes {written!r} of it): choose a token of "
                "its vocabulary, such as a special token"
            )
        return tuple(ids), given

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        found = self._tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return [list(ids) for ids in found]

    def _behind_another(self, text: str) -> list[int]:
        """Encode behind the first anchor that does not run into the text."""
        for anchor, ids in self._anchors[1:]:
            whole = self._encode([anchor + text])[0]
            if whole[: len(ids)] == ids:
                return whole[len(ids) :]
        return self._encode([text])[0]

    def _find_anchors(self) -> list[tuple[str, list[int]]]:
        """Return the anchors that work; none when pieces need none, or when none helps."""
        known = [c for c in _PROBES if not self._unknown_ids.intersection(self.first(c))][:4]
        alone = {c: self.first(c) for c in known}
        if all(self.decode(alone[a] + alone[b]) == self.decode(alone[a]) + b for a in known for b in known):
            return []
        anchors = []
        for anchor in _ANCHORS:
            ids = self.first(anchor)
            if not ids or self._unknown_ids.intersection(ids):
                continue
            held = [(c, self.first(anchor + c)) for c in known]
            held = [(c, whole[len(ids) :]) for c, whole in held if whole[: len(ids)] == ids]
            joined = ((self.decode(alone[a] + rest), self.decode(alone[a]) + c) for a in known for c, rest in held)
            joined = ((self.decode(alone[a] + rest), self.decode(alone[a]) + c) for a in known for c, rest in held)
            if held and all(found == wanted for found, wanted in joined):
                anchors.append((anchor, ids))
        return anchors

    def _specials_before(self) -> tuple[int, ...]:
        plain = self.first(_PROBES[0])
        whole = list(self._tokenizer(_PROBES[0])["input_ids"])
        starts = (i for i in range(len(whole) - len(plain) + 1) if whole[i : i + len(plain)] == plain)
        return tuple(whole[: next(starts, 0)])


def contains(ids: Sequence[int], part: Sequence[int]) -> bool:
    """Whether ``part`` stands in ``ids``, in one stretch."""
    head, n = part[0], len(part)
    return any(ids[i] == head and tuple(ids[i : i + n]) == tuple(part) for i in range(len(ids) - n + 1))
