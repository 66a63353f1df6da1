r"""Tokens of a step: numbers, operators, relations, words, and where each stands in the text.

One pass, linear in the text. Notation is not repaired here: numbers and signs are recognised as models write them
(Unicode, LaTeX, thousands, mixed numbers), and what is neither becomes a word or a break.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from markscheme.verifiers.math.lexer import TooLarge, read_number, tokenize, whole

MAX_DIGITS = 400  # of one number; a longer one is no value here


class Token(NamedTuple):
    r"""A piece of the text.

    ``kind``: num, op, rel, open, close, fn (``\frac``, ``\sqrt``), const, cur, word, sub (a subscript), other (what has no
    value here), ann (``<<…>>``), break. ``text`` is canonical: operators are ASCII, numbers plain digits. ``glued``: no
    white space stands before it. ``places``: the digits written after a number's point; ``open_ended``: an ellipsis
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


# One character each, so that places in the text stay what they are.
_SAME = str.maketrans(
    {
        **dict.fromkeys("−–‒﹣‐‑－", "-"),
        **dict.fromkeys("×✕✖·∙⋅∗＊", "*"),
        **dict.fromkeys("÷∕⁄／", "/"),
        **dict.fromkeys("≃≅≒", "≈"),
        **dict.fromkeys("⩽≦", "≤"),
        **dict.fromkeys("⩾≧", "≥"),
        **dict.fromkeys("\u00a0\u2009\u202f\u2002\u2003\t\r", " "),
        **dict.fromkeys("’‘′", "'"),
        "＝": "=",
        "＋": "+",
        "（": "(",
        "）": ")",
        "％": "%",
        "，": ",",
        "＄": "$",
    }
)
_FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
_NO_LETTERS = _FRACTIONS + "".join(_SUPER)
_TOKEN = re.compile(
    rf"""(?P<space>[ ]+)
    |(?P<unequal>(?:\bnot|n't)[ ]+equals?\b(?:[ ]+to\b)?)
    |(?P<equals>(?:\b(?:is|are)[ ]+)?\b(?:equals\b|equal[ ]+to\b))
    |(?P<is>(?<=[\d)}}%][ ])(?:is|are|gives|makes)(?=[ ]+\\?[$(\d.]))
    |(?P<by>(?<=[\d)])[xX](?=\d)|(?<=[\d)a-z][ ])[xX](?=\d))
    |(?P<const>\\pi(?![a-zA-Z])|π)
    |(?P<fn>\\(?:[dtc]?frac|sqrt|d?binom)(?![a-zA-Z])|√|sqrt(?=\())
    |(?P<word>[^\W\d_{_NO_LETTERS}]+(?:['-][^\W\d_{_NO_LETTERS}]+)*\d*)
    |(?P<ann><<[^<>\n]{{1,400}}>>)
    |(?P<break>\\\\|\\[\[\]]|\$\$|\\(?:quad|qquad|implies|iff|to|therefore|because|[lc]?dots|tag\*?\{{[^{{}}]{{0,20}}\}}
        |(?:Long)?(?:[rR]ightarrow|[lL]eftrightarrow))(?![a-zA-Z])|<=>|=>|-{{1,2}}>|[⇒→⟹∴;:?—\n…]|\.{{2,}}|[,.](?!\d))
    |(?P<clock>\d{{1,4}}:\d{{1,4}}(?::\d{{1,4}})*)
    |(?P<mixed>(?<![\d.,/])\d{{1,9}}[ ]+(?:and[ ]+)?[1-9]\d{{0,8}}/[1-9]\d{{0,8}}(?![\d/]|[.,]\d)|\d{{0,9}}[{_FRACTIONS}])
    |(?P<repeat>\d*\.\d*\\overline\{{\d{{1,9}}\}})
    |(?P<num>\d{{1,3}}(?:(?:,|\{{,\}}|\\,|\\!|,\\!)\d{{3}})+(?!\d)(?:\.\d+)?|[1-9]\d{{0,2}}(?:[ ]\d{{3}})*[ ]000(?!\d|[.,]\d)
        |(?<=\$)\d{{1,3}}(?:[ ]\d{{3}})+(?!\d)|\d+\.\d+|\d+|\.\d+)(?P<exp>[eE][+-]?\d{{1,3}}(?![\w.]))?(?P<dots>\.{{2,3}}(?=[^.]|$)|…|\\(?:[lc]?dots)(?![a-zA-Z]))?
    |(?P<degree>\^\{{?\\circ\}}?|°)
    |(?P<words>\\(?:text(?:bf|it|rm|normal|sf)?|mbox|mathrm|mathbf|mathit|mathsf|emph|operatorname)\s*\{{[^{{}}\d=]{{0,200}}\}})
    |(?P<skip>\\(?:text(?:bf|it|rm|normal|sf)?|mbox|mathrm|mathbf|mathit|emph|boxed|fbox|left|right|[bB]igg?[lrm]?
        |displaystyle|textstyle|limits|cancel|underline|hspace\*?\{{[^{{}}]{{0,20}}\}})(?![a-zA-Z])|\\[,;:!>\ ()]|[&"`'~\u200b]|(?:(?<=ft|sq|oz|lb|hr|yd)|(?<=lbs|hrs|min))\.(?=[ ](?:[-+*/x=)]|[a-z]))
        |</?[a-zA-Z][^<>\n]{{0,60}}>|_(?![\w{{\\]))
    |(?P<sub>_(?:\{{[^{{}}\n]{{0,60}}\}}|\\[a-zA-Z]+(?:\{{[^{{}}\n]{{0,60}}\}})?|\w))
    |(?P<rel>\\(?:approx|simeq|sim|cong|leq?|geq?|leqslant|geqslant|neq?|lt|gt)(?![a-zA-Z])|[=<>!]=|[=<>≈≤≥≠])
    |(?P<op>\\(?:times|cdot|div|ast)(?![a-zA-Z])|\*\*|(?<=\d)//(?=\d)|[-+*/^%!]|\\%)
    |(?P<open>[(\[{{])|(?P<close>[)\]}}])
    |(?P<cur>\\?\$|[€£¥₹¢])
    |(?P<super>[{"".join(_SUPER)}]+)
    |(?P<other>\\[a-zA-Z]+\*?|\\.|.)""",
    re.VERBOSE,
)
_RELATIONS = {
    "==": "=",
    "<=": "<=",
    ">=": ">=",
    "!=": "!=",
    "≈": "~",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    **dict.fromkeys((r"\approx", r"\simeq", r"\sim", r"\cong"), "~"),
    **dict.fromkeys((r"\le", r"\leq", r"\leqslant"), "<="),
    **dict.fromkeys((r"\ge", r"\geq", r"\geqslant"), ">="),
    r"\ne": "!=",
    r"\neq": "!=",
    r"\lt": "<",
    r"\gt": ">",
}
_OPERATORS = {"//": "/", r"\times": "*", r"\cdot": "*", r"\ast": "*", r"\div": "/", r"\%": "%"}
_FUNCTIONS = {
    "√": r"\sqrt",
    "sqrt": r"\sqrt",
    r"\dfrac": r"\frac",
    r"\tfrac": r"\frac",
    r"\cfrac": r"\frac",
    r"\dbinom": r"\binom",
}
_CANONICAL = {"rel": _RELATIONS, "op": _OPERATORS, "fn": _FUNCTIONS}
_AS_IT_IS = frozenset(("word", "break", "other", "open", "close", "cur", "ann", "sub"))
_NOT_DIGITS = re.compile(r"[^\d.]")
_TO_WORD = re.compile(r"\\[a-zA-Z]+\s*\{\s*|\s*\}")


def scan(text: str) -> list[Token]:
    """Split a step into tokens."""
    tokens: list[Token] = []
    glued = False
    for match in _TOKEN.finditer(text.translate(_SAME)):
        kind = match.lastgroup
        if kind == "space":
            glued = False
        elif kind == "rel" and match[0] == "!=" and glued and tokens and tokens[-1].kind in ("num", "close"):
            at = match.start()  # 3!=6: a factorial, or not equal
            tokens += [Token("op", "!", at, at + 1, glued=True), Token("rel", "=", at + 1, at + 2, open_ended=True)]
        elif kind != "skip":
            if kind in _AS_IT_IS:
                tokens.append(Token(kind, match[0], match.start(), match.end(), glued))
            else:
                tokens.extend(_make(kind or "", match, glued=glued))
            glued = True
    return tokens


def _make(kind: str, match: re.Match[str], *, glued: bool) -> list[Token]:
    text, start, end = match[0], match.start(), match.end()
    if kind in ("num", "exp", "dots"):
        return [_number(match, glued=glued)]
    if kind == "mixed":
        return _mixed(text, start, end, glued=glued)
    if kind == "repeat":
        return [Token("num", text, start, end, glued, tokenize(text)[0].value)]
    if kind == "super":
        digits = "".join(_SUPER[char] for char in text)
        power = Token("num", digits, start, end, glued=True, value=Fraction(int(digits[:3])))
        return [Token("op", "^", start, end, glued=True), power]
    if kind == "words":
        words = _TO_WORD.sub("", text).split()
        return [Token("word", word, start, end, glued and n == 0) for n, word in enumerate(words)]
    if kind in _CANONICAL:
        names = _CANONICAL[kind]
        return [Token(kind, names.get(text, text), start, end, glued)]
    if kind in ("equals", "is"):
        return [Token("rel", "=", start, end, glued, weak=kind == "is")]
    if kind == "unequal":
        return [Token("break", text, start, end, glued)]
    if kind == "by":
        return [Token("op", "*", start, end, glued)]
    if kind == "degree":
        return [Token("word", "degrees", start, end, glued)]
    if kind == "const":
        return [Token("const", r"\pi", start, end, glued)]
    return [Token("other", text, start, end, glued)]


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
        whole, fraction = text[:-1] or "0", unicodedata.normalize("NFKC", text[-1])
        top, _, bottom = fraction.partition("⁄")
    else:
        whole, *_, fraction = text.split()
        top, _, bottom = fraction.partition("/")
    if 0 < int(top) < int(bottom):
        value = int(whole) + Fraction(int(top), int(bottom))
        return [Token("num", f"({whole}+{top}/{bottom})", start, end, glued, value)]
    slash = start + text.index("/")
    if "and" in text:
        return [Token("other", text, start, end, glued)]
    return [
        Token("num", whole, start, start + len(whole), glued, Fraction(int(whole))),
        Token("num", top, slash - len(top), slash, glued=False, value=Fraction(int(top))),
        Token("op", "/", slash, slash + 1, glued=True),
        Token("num", bottom, slash + 1, end, glued=True, value=Fraction(int(bottom))),
    ]
