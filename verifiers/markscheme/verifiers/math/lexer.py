"""Tokens of an answer. One pass, linear in the text, with a cap on their number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from markscheme.verifiers.math.notation import closing_brace

MAX_TOKENS = 6000
MAX_DIGITS = 2000


class NotMath(ValueError):
    """The text is not an answer in the grammar. The message says where it stops being one."""


class TooLarge(ValueError):
    """The text is over a cap on length, nesting, tokens or digits."""


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is num, word, text, cmd, op or end. ``spaced``: white space stands before it."""

    kind: str
    text: str
    spaced: bool = False
    value: Fraction | None = None
    places: int | None = None


END = Token("end", "")
_GROUP = r"(?:\{,\}|,?\s?\\!\s?|\\,)"
_NUMBER = re.compile(
    rf"""(?P<group>[1-9]\d{{0,2}}(?:{_GROUP}\d{{3}})+(?!\d)(?:\.\d+)?)
    |(?P<comma>[1-9]\d{{0,2}}(?:,\d{{3}})+(?!,?\d)(?:\.\d+)?)
    |(?P<space>[1-9]\d{{0,2}}(?:[ ]\d{{3}})+(?![\d/])(?:\.\d+)?)
    |(?P<repeat>(?:\d*\.\d*)\\(?:overline|bar|dot)\s*(?:\{{\d+\}}|\d)|\d+\.\(\d+\))
    |(?P<plain>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{{1,9}}(?![\w.]))?)""",
    re.VERBOSE,
)
_TEXT_COMMAND = re.compile(r"\\(?:text(?:bf|it|rm|normal|sf|tt|sl|up)?|mbox|hbox|emph|mathrm|mathbf|mathit|mathsf|mathtt|operatorname\*?|bm|boldsymbol|rm|bf|it)(?![a-zA-Z])\s*")
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+\*?|.)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_OPERATOR = re.compile(r"<=>|<=|>=|!=|=>|->|==|\*\*|\.{2,}|.", re.DOTALL)
_SKIPPED = frozenset(
    (
        r"\left \right \middle \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \biggl \biggr \Biggl \Biggr \bigm \displaystyle \textstyle"
        r" \scriptstyle \limits \nolimits \, \; \: \! \> \/ \quad \qquad \enspace \thinspace \( \) \[ \] \noindent \hfill \hline \nobreak"
        r" \mathstrut \allowbreak \strut"
    ).split()
) | {"\\ ", "\\\n", "\\\t"}
_RENAMED = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\dbinom": r"\binom", r"\tbinom": r"\binom",
    r"\leq": r"\le", r"\leqslant": r"\le", r"\leqq": r"\le", r"\geq": r"\ge", r"\geqslant": r"\ge", r"\geqq": r"\ge", r"\neq": r"\ne",
    r"\lbrace": r"\{", r"\rbrace": r"\}", r"\lvert": "|", r"\rvert": "|", r"\vert": "|", r"\lbrack": "[", r"\rbrack": "]",
    r"\varnothing": r"\emptyset", r"\cupdot": r"\cup", r"\bigcup": r"\cup", r"\bigcap": r"\cap", r"\sqcup": r"\cup",
    r"\rightarrow": r"\to", r"\longrightarrow": r"\to", r"\Longrightarrow": r"\Rightarrow", r"\implies": r"\Rightarrow",
    r"\varphi": r"\phi", r"\varepsilon": r"\epsilon", r"\vartheta": r"\theta", r"\varrho": r"\rho", r"\textdegree": r"\degree",
    r"\dots": r"\ldots", r"\cdots": r"\ldots", r"\dotsc": r"\ldots", r"\dotsb": r"\ldots", r"\simeq": r"\approx", r"\cong": r"\approx",
    r"\sim": r"\approx", r"\ast": "*", r"\bullet": r"\cdot", r"\colon": ":", r"\land": r"\wedge", r"\lor": r"\vee",
    r"\backslash": r"\setminus", r"\smallsetminus": r"\setminus", r"\lt": "<", r"\gt": ">", r"\textbackslash": r"\setminus",
    r"\overset": r"\overset", r"\bmod": r"\mod", r"\pmod": r"\mod", r"\gets": "=", r"\coloneqq": "=", r"\colon=": "=",
}  # fmt: skip


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


def tokenize(text: str) -> list[Token]:
    """Split an answer into tokens. Raises TooLarge over the cap, NotMath at a character that has no place in one."""
    tokens: list[Token] = []
    depth, n, spaced, size = 0, 0, False, len(text)
    while n < size:
        if len(tokens) > MAX_TOKENS:
            raise TooLarge(f"more than {MAX_TOKENS} tokens")
        char = text[n]
        if char.isspace() or char == "~":
            spaced, n = True, n + 1
            continue
        if char.isdigit() or (char == "." and text[n + 1 : n + 2].isdigit()) or text.startswith(r".\overline", n):
            match = _NUMBER.match(text, n)
            if match and match.lastgroup in ("comma", "space") and (depth or text[n - 1 : n] == ","):
                match = re.compile(r"(?P<plain>\d+\.?\d*)").match(text, n)
            if match is None:
                raise NotMath(f"no number at {text[n : n + 20]!r}")
            tokens.append(_number(match, spaced=spaced))
            n, spaced = match.end(), False
            continue
        if char == "\\":
            n = _command(text, n, tokens, spaced=spaced)
            spaced = tokens[-1] is _SPACE if tokens else True
            if spaced:
                tokens.pop()
        elif char.isascii() and char.isalpha():
            match = _WORD.match(text, n)
            assert match is not None  # noqa: S101 - the character is a letter
            tokens.append(Token("word", match[0], spaced))
            n, spaced = match.end(), False
        else:
            match = _OPERATOR.match(text, n)
            assert match is not None  # noqa: S101 - any character matches
            tokens.append(Token("op", match[0], spaced))
            n, spaced = match.end(), False
        if tokens and not spaced:
            last = tokens[-1].text
            depth += (last in ("(", "[", r"\{", r"\langle")) - (last in (")", "]", r"\}", r"\rangle"))
            depth = max(depth, 0)
    return tokens


_SPACE = Token("space", "")


def _command(text: str, n: int, tokens: list[Token], *, spaced: bool) -> int:
    wrapped = _TEXT_COMMAND.match(text, n)
    if wrapped:
        end = wrapped.end()
        if text[end : end + 1] == "{":
            close = closing_brace(text, end)
            if close < 0:
                raise NotMath("a brace that is never closed")
            upright = not wrapped[0].startswith((r"\text", r"\mbox", r"\hbox", r"\emph"))
            tokens.append(_text_token(text[end + 1 : close], spaced=spaced, upright=upright))
            return close + 1
        tokens.append(_SPACE)
        return end
    match = _COMMAND.match(text, n)
    if match is None:
        raise NotMath("a lone backslash")
    name = _RENAMED.get(match[0], match[0])
    if name in _SKIPPED:
        tokens.append(_SPACE)
        return match.end()
    if name in (r"\hspace", r"\hspace*", r"\vspace", r"\phantom", r"\hphantom"):
        close = closing_brace(text, match.end()) if text[match.end() : match.end() + 1] == "{" else -1
        tokens.append(_SPACE)
        return close + 1 if close > 0 else match.end()
    tokens.append(Token("cmd" if name.startswith("\\") else "op", name, spaced))
    return match.end()


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
