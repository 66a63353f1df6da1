r"""Whole answers: mathematics by the grammar, and times, choices and words before it.

``parse_answer`` reads the whole text or refuses it: a fragment is never compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from markscheme.verifiers.math.brackets import based
from markscheme.verifiers.math.grammar import AnswerParser
from markscheme.verifiers.math.lexer import NotMath, TooLarge, tokenize
from markscheme.verifiers.math.names import is_product_word
from markscheme.verifiers.math.nodes import Choice, Clock, Const, Listing, Node, Sym, Text
from markscheme.verifiers.math.notation import repair, unwrap
from markscheme.verifiers.math.plain import plain_number, plain_value
from markscheme.verifiers.math.rewrites import rewrite
from markscheme.verifiers.math.signs import expand_signs
from markscheme.verifiers.math.stream import Calculus
from markscheme.verifiers.math.words import canonical_words, plain_words

_LETTER = re.compile(r"[^\W\d_]")
_CLOCK = re.compile(
    r"(?P<h>\d{1,2})(?::(?P<m>[0-5]\d))?(?::(?P<s>[0-5]\d))?\s*(?:o'?clock)?\s*(?:(?P<half>[ap])\.?\s?m\.?|(?P<word>noon|midnight))",
    re.IGNORECASE,
)
_TEXT_MARKS = re.compile(
    r"\\(?:text(?:bf|it|rm|normal)?|mbox|mathrm|mathbf|textsf|emph|hbox)\s*(?=\{)|[{}~]|\\[ ,;!:]|\\quad|\*\*"
)
_CHOICE = re.compile(
    r"\s*(?:\((?P<a>[A-Z])\)|(?P<b>[A-Z])(?:\)|\.(?!\d)|:)"
    r"|(?:[Oo]ption|[Cc]hoice|[Aa]nswer choice)\s*:?\s*\(?(?P<c>[A-Z])\b\)?)\s*(?P<rest>.*)",
    re.DOTALL,
)
# What follows a choice's letter and belongs to a formula, a list or a denial rather than to the choice.
_NO_REST = re.compile(
    r"[\s$]*(?:[=+*/^<>,;&|_)?…-]|\.\.|\\(?:cup|cap|in|le|ge|cdot|times|pm|to|ne|neq|or|and|[lc]?dots|rightarrow|vee|wedge)\b"
    r"|\(?\s*(?:or|and|not|nor|is(?!\s+(?:correct|right|true))|isn't|maybe|perhaps|wrong|incorrect|no(?=\W*$)|if"
    r"|times|percent|thousand|million)\b)",
    re.IGNORECASE,
)
_OTHER_CHOICE = re.compile(r"\b(?:or|and|maybe)\W{0,3}\(?[A-J]\)?\W*$")
_CHOICES = re.compile(r"\(?[A-J]\)?(?:\s*(?:,|and|&)\s*(?:and\s+)?\(?[A-J]\)?)+")
_WORDY = re.compile(r"[^\W\d_]+(?:(?:[\s'’.,;:!?()\"]+|-)[^\W\d_]+)*[.!?]?")
_BASED = re.compile(
    r"([-+]?[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)?)\s*(?:_|\bbase\s)\s*\{?\s*(?:\\text)?\{?(?:base\s*)?(\d{1,2})\}*\s*"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as read: its node, or why it has none. ± is expanded.

    ``value`` is a plain number's, so that most pairs are compared at once.
    """

    raw: str
    node: Node | None
    why: str = ""
    value: Fraction | None = None
    calculus: bool = False

    @property
    def words(self) -> str:
        """The answer as words, for when gold is text."""
        return canonical_words(_bare_words(unwrap(repair(self.raw))))


def _bare_words(text: str) -> str:
    return " ".join(_TEXT_MARKS.sub(" ", text).split())


def _as_clock(words: str) -> Node | None:
    found = _CLOCK.fullmatch(words.strip(" ."))
    if not found:
        return None
    hour = int(found["h"])
    if not 0 <= hour <= 12:
        return None
    seconds = hour % 12 * 3600 + int(found["m"] or 0) * 60 + int(found["s"] or 0)
    half = (found["half"] or {"noon": "p", "midnight": "a"}[(found["word"] or "noon").lower()]).lower() + "m"
    return Clock(seconds, half)


def _as_choice(words: str) -> Node | None:
    if _CHOICES.fullmatch(words):
        return Listing(tuple(Choice(letter) for letter in re.findall(r"[A-J](?![a-z])", words)))
    found = _CHOICE.fullmatch(words)
    if not found:
        return None
    rest = found["rest"].strip()
    letter = found["a"] or found["b"] or found["c"]
    glued = rest and words[: found.start("rest")].endswith(")") and rest[0].isalnum()
    if rest and (glued or _NO_REST.match(rest) or _OTHER_CHOICE.search(rest)):
        return None
    if found["b"] and rest and not re.match(r"[A-Z]\s*[.):]", words):
        return None
    if found["b"] and words[1:2] == ":" and re.match(r"\s*[A-Z]?\s*=|\s*[A-Z]\b", words[2:]):
        return None
    return Choice(letter, rest)


def _as_words(text: str, words: str) -> Node | None:
    if not _WORDY.fullmatch(words) or "\\" in words:
        return None
    in_text = "\\" in text
    runs = words.split()
    if not in_text and len(runs) == 1 and is_product_word(words) and not (words.isupper() and len(words) > 1):
        return None
    if len(words) == 1:
        return Const(words) if words in "ei" else Sym(words)
    if len(runs) == 1 and in_text and words.casefold() in ("pi", "infinity"):
        return None
    parts = [part for part in re.split(r"\s*(?:,|;|\band\b)\s*", words) if part]
    if (
        len(parts) > 1
        and all(len(part.split()) <= 4 for part in parts)
        and canonical_words(words) == plain_words(words)
    ):
        return Listing(tuple(Text(canonical_words(part)) for part in parts))
    return Text(canonical_words(words))


def _math(text: str) -> Node:
    based_number = _BASED.fullmatch(text) if text.count("{") == text.count("}") else None
    if based_number and not re.fullmatch(r"[a-zA-Z]+", based_number[1]) and re.search(r"\d", based_number[1]):
        return based(based_number[1], based_number[2])
    tokens = tokenize(text)
    if not tokens:
        raise NotMath("nothing is there")
    return AnswerParser(tokens).answer()


def parse_answer(raw: str, max_length: int = 10_000) -> Answer:
    """Read a whole answer.

    Raises:
        TooLarge: over a cap.
    """
    if len(raw) > max_length:
        raise TooLarge(f"{len(raw)} characters, more than {max_length}")
    return _parse(raw)


@lru_cache(maxsize=4096)
def _parse(raw: str) -> Answer:
    stripped = raw.strip()
    plain = plain_number(stripped)
    if plain is not None:
        return Answer(raw, plain, value=plain_value(plain))
    text = unwrap(repair(raw))
    rewritten = rewrite(text)
    if rewritten != text:
        text = unwrap(rewritten)
    if not text:
        return Answer(raw, None, "nothing is there")
    if _LETTER.search(text):
        words = _bare_words(text)
        node = _as_clock(words) or _as_choice(words) or _as_words(text, words)
        if node is not None:
            return Answer(raw, node)
    try:
        return Answer(raw, expand_signs(_math(text)))
    except Calculus as refused:
        return Answer(raw, None, str(refused), calculus=True)
    except NotMath as refused:
        return Answer(raw, None, str(refused))
