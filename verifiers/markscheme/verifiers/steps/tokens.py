"""Tokens of a step: numbers, operators, relations, words, and where each stands in the text.

One pass, linear in the text. What is neither becomes a word or a break.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from markscheme.verifiers.math.lexer import TooLarge, read_number, tokenize, whole
from markscheme.verifiers.steps.patterns import FUNCTIONS, OPERATOR_SIGNS, RELATIONS, SAME, SUPER, TOKEN

MAX_DIGITS = 400  # of one number; a longer one is no value here


class Token(NamedTuple):
    r"""A piece of the text.

    ``kind``: num, op, rel, open, close, fn (``\frac``, ``\sqrt``), const, cur, word, sub (a subscript), other (what has
    no value here), ann (``<<…>>``), break. ``text`` is canonical: operators are ASCII, numbers plain digits. ``glued``:
    no white space stands before it. ``places``: the digits written after a number's point; ``open_ended``: an ellipsis
    follows its digits, or a relation that may be read otherwise. ``weak``: a verb that states a value, "is".
    """

    kind: str
    text: str
    start: int
    end: int
    glued: bool = False
    value: Fraction | None = None
    places: int = 0
    open_ended: bool = False
    weak: bool = False


_CANONICAL = {"rel": RELATIONS, "op": OPERATOR_SIGNS, "fn": FUNCTIONS}
_AS_IT_IS = frozenset(("word", "break", "other", "open", "close", "cur", "ann", "sub"))
_SKIPPED = frozenset(("skip", "abbreviation"))
_FIXED = {"by": ("op", "*"), "degree": ("word", "degrees"), "const": ("const", r"\pi"), "equals": ("rel", "=")}
_NOT_DIGITS = re.compile(r"[^\d.]")
_TO_WORD = re.compile(r"\\[a-zA-Z]+\s*\{\s*|\s*\}")


def scan(text: str) -> list[Token]:
    """Split a step into tokens."""
    tokens: list[Token] = []
    glued = False
    for match in TOKEN.finditer(text.translate(SAME)):
        kind = match.lastgroup or ""
        if kind == "space":
            glued = False
            continue
        if kind in _SKIPPED:
            continue
        if kind in _AS_IT_IS:
            tokens.append(Token(kind, match[0], match.start(), match.end(), glued))
        elif kind == "rel" and match[0] == "!=" and glued and tokens and tokens[-1].kind in ("num", "close"):
            at = match.start()  # 3!=6: a factorial, or not equal
            tokens += [Token("op", "!", at, at + 1, glued=True), Token("rel", "=", at + 1, at + 2, open_ended=True)]
        else:
            tokens.extend(_make(kind, match, glued=glued))
        glued = True
    return [token for n, token in enumerate(tokens) if token.text not in ("*", "**") or not _is_emphasis(tokens, n)]


def _is_emphasis(tokens: list[Token], n: int) -> bool:
    """Whether stars are Markdown: ``**3 + 4 = 7**`` and not ``2**3``."""
    before = tokens[n - 1] if n else None
    after = tokens[n + 1] if n + 1 < len(tokens) else None
    if tokens[n].text == "*":
        return tokens[n].glued and (after is None or after.kind == "break")
    if before is None or after is None or before.kind not in ("num", "close", "word", "const") or after.text == "*":
        return True
    return after.kind not in ("num", "open", "word", "const", "op") or tokens[n].glued != after.glued


def _make(kind: str, match: re.Match[str], *, glued: bool) -> list[Token]:
    text, start, end = match[0], match.start(), match.end()
    if kind in ("num", "exp", "dots"):
        return [_number(match, glued=glued)]
    if kind == "mixed":
        return _mixed(text, start, end, glued=glued)
    if kind == "repeat":
        return [Token("num", text, start, end, glued, tokenize(text)[0].value)]
    if kind == "super":
        digits = "".join(SUPER[char] for char in text)
        power = Token("num", digits, start, end, glued=True, value=Fraction(int(digits[:3])))
        return [Token("op", "^", start, end, glued=True), power]
    if kind == "words":
        words = _TO_WORD.sub("", text).split()
        return [Token("word", word, start, end, glued and n == 0) for n, word in enumerate(words)]
    if kind in _CANONICAL:
        return [Token(kind, _CANONICAL[kind].get(text, text), start, end, glued)]
    if kind in _FIXED:
        return [Token(*_FIXED[kind], start, end, glued)]
    if kind == "is":
        return [Token("rel", "=", start, end, glued, weak=True)]
    return [Token("break" if kind == "unequal" else "other", text, start, end, glued)]


def _number(match: re.Match[str], *, glued: bool) -> Token:
    digits, exponent = match["num"], match["exp"] or ""
    start, end = match.start(), match.end()
    if len(digits) < 16 and digits.isdecimal() and match.end("num") == end:
        if digits[0] == "0" and len(digits) > 2:
            return Token("other", digits, start, end, glued)  # 0130 hours, 007
        return Token("num", digits, start, end, glued, whole(digits))
    digits = _NOT_DIGITS.sub("", digits)
    if len(digits) > MAX_DIGITS:
        return Token("other", "digits", start, end, glued)
    try:
        value, places = read_number(digits + exponent)
    except TooLarge:
        return Token("other", "digits", start, end, glued)
    text = digits if not digits.startswith(".") else f"0{digits}"
    return Token("num", text + exponent, start, end, glued, value, places or 0, open_ended=match["dots"] is not None)


def _mixed(text: str, start: int, end: int, *, glued: bool) -> list[Token]:
    """A mixed number; its parts where its fraction is not below 1, as in "12 5/2"."""
    if "/" not in text:
        number, fraction = text[:-1] or "0", unicodedata.normalize("NFKC", text[-1])
        top, _, bottom = fraction.partition("⁄")
    else:
        number, *_, fraction = text.split()
        top, _, bottom = fraction.partition("/")
    if 0 < int(top) < int(bottom):
        value = int(number) + Fraction(int(top), int(bottom))
        return [Token("num", f"({number}+{top}/{bottom})", start, end, glued, value)]
    if "and" in text:
        return [Token("other", text, start, end, glued)]
    slash = start + text.index("/")
    return [
        Token("num", number, start, start + len(number), glued, Fraction(int(number))),
        Token("num", top, slash - len(top), slash, glued=False, value=Fraction(int(top))),
        Token("op", "/", slash, slash + 1, glued=True),
        Token("num", bottom, slash + 1, end, glued=True, value=Fraction(int(bottom))),
    ]
