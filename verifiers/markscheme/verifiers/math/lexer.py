"""Tokens of an answer. One pass, linear in the text, with a cap on their number."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from markscheme.verifiers.math.notation import closing_brace

MAX_TOKENS = 6000
MAX_DIGITS = 2000


class NotMath(ValueError):
    """The text is not an answer in the grammar. The message says where it stops being one."""


class TooLarge(ValueError):
    """The text is over a cap on length, nesting, tokens or digits."""


class Token(NamedTuple):
    """``kind`` is num, word, text, cmd, op or end. ``spaced``: white space stands before it."""

    kind: str
    text: str
    spaced: bool = False
    value: Fraction | None = None
    places: int | None = None


END = Token("end", "")
_GROUP = r"(?:\{,\}|,?\s?\\!\s?|\\[,;:])"
_NUMBER = re.compile(
    rf"""(?P<group>[1-9]\d{{0,2}}(?:{_GROUP}\d{{3}})+(?!\d)(?:\.\d+)?)
    |(?P<comma>[1-9]\d{{0,2}}(?:,\d{{3}})+(?!,?\d)(?:\.\d+)?)
    |(?P<space>[1-9]\d{{0,2}}(?:[ ]\d{{3}})+(?![\d/])(?:\.\d+)?)
    |(?P<repeat>(?:\d*\.\d*)\\(?:overline|bar|dot)\s*(?:\{{\d+\}}|\d)|\d+\.\(\d+\))
    |(?P<plain>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{{1,9}}(?![\w.]))?)""",
    re.VERBOSE,
)
_UNGROUPED = re.compile(r"(?P<plain>\d+\.?\d*)")
_TEXT_COMMAND = re.compile(
    r"\\(?:text(?:bf|it|rm|normal|sf|tt|sl|up)?|mbox|hbox|emph|mathrm|mathbf|mathit|mathsf|mathtt|operatorname\*?|bm|boldsymbol|rm|bf|it)(?![a-zA-Z])\s*"
)
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+\*?|.)", re.DOTALL)
# All but commands, and numbers that may go on in some notation.
_SIMPLE = re.compile(
    r"([\s~]+)|([A-Za-z]+)|(\d{1,15}(?![\d.]|\{,\}|,?\s?\\!|\\,|,\d|[ ]\d|[eE][+-]?\d))"
    r"|(<=>|<=|>=|!=|=>|->|==|\*\*|\.{2,}|(?!\.\d)[^\d\\])",
    re.DOTALL,
)
_SIMPLE_KINDS = ("", "space", "word", "num", "op")
_DEPTH = {"(": 1, "[": 1, r"\{": 1, r"\langle": 1, ")": -1, "]": -1, r"\}": -1, r"\rangle": -1}
_SKIPPED = frozenset(
    (
        r"\left \right \middle \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \biggl \biggr \Biggl \Biggr \bigm \limits"
        r" \nolimits \displaystyle \textstyle \scriptstyle \, \; \: \! \> \/ \( \) \[ \] \quad \qquad"
        r" \enspace \thinspace \noindent \hfill \hline \nobreak \mathstrut \allowbreak \strut"
    ).split()
) | {"\\ ", "\\\n", "\\\t"}
# The name that the grammar knows, and the commands that mean the same.
_SYNONYMS = {
    r"\frac": r"\dfrac \tfrac \cfrac",
    r"\binom": r"\dbinom \tbinom",
    r"\le": r"\leq \leqslant \leqq",
    r"\ge": r"\geq \geqslant \geqq",
    r"\ne": r"\neq",
    r"\approx": r"\simeq \cong \sim",
    r"\{": r"\lbrace",
    r"\}": r"\rbrace",
    "|": r"\lvert \rvert \vert",
    "[": r"\lbrack",
    "]": r"\rbrack",
    "<": r"\lt",
    ">": r"\gt",
    "=": r"\gets \coloneqq",
    ":": r"\colon",
    "*": r"\ast",
    r"\cdot": r"\bullet",
    r"\emptyset": r"\varnothing",
    r"\cup": r"\cupdot \bigcup \sqcup",
    r"\cap": r"\bigcap",
    r"\setminus": r"\backslash \smallsetminus \textbackslash",
    r"\to": r"\rightarrow \longrightarrow",
    r"\Rightarrow": r"\Longrightarrow \implies",
    r"\ldots": r"\dots \cdots \dotsc \dotsb",
    r"\wedge": r"\land",
    r"\vee": r"\lor",
    r"\mod": r"\bmod",
    r"\degree": r"\textdegree",
    r"\phi": r"\varphi",
    r"\epsilon": r"\varepsilon",
    r"\theta": r"\vartheta",
    r"\rho": r"\varrho",
}
_RENAMED = {other: name for name, others in _SYNONYMS.items() for other in others.split()}


def read_number(text: str) -> tuple[Fraction, int | None]:
    """The exact value of a written number and the digits after its point. Raises TooLarge over the caps."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, point, decimals = mantissa.partition(".")
    if len(whole) + len(decimals) > MAX_DIGITS or (exponent and abs(int(exponent)) > MAX_DIGITS):
        raise TooLarge(f"a number of more than {MAX_DIGITS} digits")
    value = Fraction(_integer(whole + decimals), 10 ** len(decimals))
    if exponent:
        return value * Fraction(10) ** int(exponent), None
    return value, len(decimals) if point and decimals else None


def _integer(digits: str) -> int:
    # In pieces: the interpreter refuses long conversions, and a host may have set the limit to 640 digits.
    value = 0
    for start in range(0, len(digits), 500):
        piece = digits[start : start + 500]
        value = value * 10 ** len(piece) + int(piece)
    return value


@lru_cache(maxsize=2048)
def whole(digits: str) -> Fraction:
    """The value of a few digits."""
    return Fraction(int(digits))


def _repeating(text: str) -> Fraction:
    whole, _, rest = text.partition(".")
    fixed = re.match(r"\d*", rest)[0]  # type: ignore[index]
    cycle = re.sub(r"\D", "", rest[len(fixed) :])
    base, _ = read_number(f"{whole or '0'}.{fixed}" if fixed else whole or "0")
    return base + Fraction(_integer(cycle), (10 ** len(cycle) - 1) * 10 ** len(fixed))


def _number(match: re.Match[str], *, spaced: bool) -> Token:
    kind, text = match.lastgroup, match[0]
    if kind == "repeat":
        return Token("num", text, spaced, _repeating(text))
    digits = text if kind == "plain" else re.sub(r"[^\d.]", "", text)
    value, places = read_number(digits)
    return Token("num", digits, spaced, value, places)


class _Lexer:
    """One pass over the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0  # of brackets: commas inside them separate, and never group digits
        self.spaced = False
        self.tokens: list[Token] = []

    def run(self) -> list[Token]:
        text, tokens, size = self.text, self.tokens, len(self.text)
        while self.at < size:
            if len(tokens) > MAX_TOKENS:
                raise TooLarge(f"more than {MAX_TOKENS} tokens")
            simple = _SIMPLE.match(text, self.at)
            if simple is None:
                self.number() if text[self.at] != "\\" else self.command()
                continue
            found = simple[0]
            kind = _SIMPLE_KINDS[simple.lastindex or 0]
            self.at += len(found)
            if kind == "space":
                self.spaced = True
                continue
            if kind == "num":
                tokens.append(Token("num", found, self.spaced, whole(found)))
            else:
                tokens.append(Token(kind, found, self.spaced))
                if found in _DEPTH:
                    self.depth = max(self.depth + _DEPTH[found], 0)
            self.spaced = False
        return tokens

    def add(self, kind: str, name: str, size: int | None = None) -> None:
        """Add a token of ``size`` characters of the text."""
        self.put(Token(kind, name, self.spaced), len(name) if size is None else size)
        self.depth = max(self.depth + _DEPTH.get(name, 0), 0)

    def put(self, token: Token, size: int) -> None:
        self.tokens.append(token)
        self.at += size
        self.spaced = False

    def skip(self, size: int) -> None:
        """Pass over what counts as a space."""
        self.at += size
        self.spaced = True

    def number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        after_comma = self.text[self.at - 1 : self.at] == ","
        if match and match.lastgroup in ("comma", "space") and (self.depth or after_comma):
            match = _UNGROUPED.match(self.text, self.at)
        if match is None:
            raise NotMath(f"no number at {self.text[self.at : self.at + 20]!r}")
        self.put(_number(match, spaced=self.spaced), len(match[0]))

    def command(self) -> None:
        wrapped = _TEXT_COMMAND.match(self.text, self.at)
        if wrapped:
            end = wrapped.end()
            if self.text[end : end + 1] != "{":
                self.skip(len(wrapped[0]))
                return
            close = closing_brace(self.text, end)
            if close < 0:
                raise NotMath("a brace that is never closed")
            upright = not wrapped[0].startswith((r"\text", r"\mbox", r"\hbox", r"\emph"))
            content = self.text[end + 1 : close]
            self.put(_text_token(content, spaced=self.spaced, upright=upright), close + 1 - self.at)
            return
        match = _COMMAND.match(self.text, self.at)
        if match is None:
            raise NotMath("a lone backslash")
        name = _RENAMED.get(match[0], match[0])
        if name in _SKIPPED:
            self.skip(len(match[0]))
        elif name in (r"\hspace", r"\hspace*", r"\vspace", r"\phantom", r"\hphantom"):
            braced = self.text[match.end() : match.end() + 1] == "{"
            close = closing_brace(self.text, match.end()) if braced else -1
            self.skip(close + 1 - self.at if close > 0 else len(match[0]))
        else:
            self.add("cmd" if name.startswith("\\") else "op", name, len(match[0]))


def tokenize(text: str) -> list[Token]:
    """Split an answer into tokens. Raises TooLarge over a cap, NotMath where no token can begin."""
    return _Lexer(text).run()


def _text_token(content: str, *, spaced: bool, upright: bool) -> Token:
    inner = content.strip().replace("~", " ").replace("\\ ", " ").replace(r"\,", " ").strip()
    while inner.startswith("{") and closing_brace(inner, 0) == len(inner) - 1:
        inner = inner[1:-1].strip()
    wide = spaced or content[:1].isspace()
    if re.fullmatch(r"[A-Za-z]+", inner) and upright:
        return Token("word", inner, wide)
    if re.fullmatch(r"[-+]?[\d.,]*\d", inner):
        match = _NUMBER.fullmatch(inner)
        if match:
            return _number(match, spaced=wide)
    return Token("text", inner, wide)
