r"""Notations that are rewritten in the text, each into the one that the grammar reads.

``(1011)_2``, ``<1,2>``, ``(mod 7)``, ``\hat{\imath}``, ``_{10}C_3``, ``2 to 3``, ``2 hours and 30 minutes``.
"""

from __future__ import annotations

import re

_N = r"\{?(\d{1,4})\}?"
_UNIT = (
    r"(?:hours?|hrs?|h|minutes?|mins?|days?|weeks?|years?|feet|foot|ft|yards?|pounds?|lbs?|meters?|metres?"
    r"|degrees?|dollars?)"
)
_MOD = r"(?:(?:text|mathrm|operatorname)\s*\{\s*)?(?:b|p)?mod\b\s*\}?"
_ALL_REALS = (
    r"(?:\\text\s*\{)?\s*all\s+real(?:s|\s+numbers?)(?:\s+x)?,?\s+except(?:\s+for)?(?:\s+at)?\s*\}?\s*(?:x\s*=\s*)?"
)
_CASES = re.compile(r"\\begin\{(cases|aligned|align\*?|gathered)\}(.*?)\\end\{\1\}", re.DOTALL)
_HAT = r"(?:hat|widehat|vec)"
_BOLD = r"(?:mathbf|boldsymbol|bm)"
_ANSWER_WORDS = r"(?:the\s+)?(?:final\s+|correct\s+)?ans(?:wer)?(?:\s+is)?\s*:?"
_Rule = tuple[str, re.Pattern[str], str]

# What must occur in the text for the rule to be tried, the pattern, and what takes its place.
_RULES: list[_Rule] = [
    (mark, re.compile(pattern, flags), replacement)
    for mark, pattern, replacement, flags in (
        ("\\\\[", r"\\\\\[\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm|in|px|\\baselineskip)\s*\]", r"\\\\ ", 0),
        ("\\", r"\A(?:\\(?:displaystyle|textstyle|q?quad|[,;:! ])\s*)+(?=\S)", "", 0),
        ("ns", rf"\A\\text[a-z]*\s*\{{\s*{_ANSWER_WORDS}\s*\}}\s*:?\s*(?=\S)", "", re.IGNORECASE),
        ("_", r"(?<![\w^_\\})])(?:\(\s*(\d[0-9A-Z]*)\s*\)|\{\s*(\d[0-9A-Z]*)\s*\})\s*(?=_)", r"\1\2", 0),
        ("_{(", r"(?<=[\dA-F])_\{\((\d{1,2})\)\}", r"_{\1}", 0),
        ("base", r"(?<=[\dA-F])\s*\\text\s*\{\s*\(?(?:in\s+)?base\s*\}\s*\$?\{?(\d{1,2})\}?\Z", r"_{\1}", 0),
        (
            "<",
            r"((?:\A|=)\s*)(?:\\left\s*)?<([^<>=,]{1,80}(?:,[^<>=,]{1,80}){1,9}?)(?:\\right\s*)?>\s*\Z",
            r"\1\\langle \2\\rangle ",
            0,
        ),
        ("mod", rf"\\?\(\s*\\?{_MOD}\s*\\?\s*([^()]{{1,40}}?)\s*\\?\)", r"\\pmod{\1}", 0),
        ("C", rf"(?:\{{\}})?\s*(?:_|\^){_N}\s*C\s*_{_N}", r"\\binom{\1}{\2}", 0),
        ("to", r"\A(\d[\d.]*)\s*(?:\\text\s*\{\s*to\s*\}|\bto\b)\s*(\d[\d.]*)\Z", r"\1:\2", 0),
        ("out of", r"\A(\d+)\s*(?:\\text\s*\{\s*)?out of\s*\}?\s*(\d+)\Z", r"\\frac{\1}{\2}", 0),
        ("US", r"\A(?:\\text\s*\{\s*)?USD?\s*\}?[\s~]*(?:\\?\$)?\s*(?=\d)", r"\\$", 0),
        ("10", r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*))", r"\\times ", 0),
        ("quad", r"\\q?quad\s*(?=[a-zA-Z](?:_\{?\w\}?)?\s*=)", ", ", 0),
        ("except", r"(?<=\d)\s*,?\s+and\s+(?=-?\d)", ", ", 0),
        (
            "except",
            rf"\A{_ALL_REALS}([-\d\\][^{{}}]*?(?:\{{\d+\}}\{{\d+\}})?)\}}?\Z",
            r"\\mathbb{R}\\setminus\\{\1\\}",
            0,
        ),
        ("and", rf"(?<=[\d ~{{}}])({_UNIT})\s*,?\s+and\s*(\}}?)\s*(?=\d)", r"\1\2 ", 0),
    )
]


# Unit vectors in bold, under a hat or an arrow: one notation for them all.
_VECTORS = [
    (re.compile(rf"\\{_HAT}\s*\{{\s*\\{_BOLD}\s*\{{?\s*([ijk])\s*\}}?\s*\}}"), r"\\mathbf{\1}"),
    (re.compile(rf"\\{_BOLD}\s*\{{\s*\\{_HAT}\s*\{{?\s*\\?([ijk])(?:math)?\s*\}}?\s*\}}"), r"\\mathbf{\1}"),
    (
        re.compile(rf"\\{_HAT}\s*(?:\{{\s*(?:\\([ij])math|([ijk]))\s*\}}|\\([ij])math\b|\s([ijk])\b)"),
        r"\\mathbf{\1\2\3\4}",
    ),
]


def rewrite(text: str) -> str:
    """Apply every rule whose mark occurs."""
    for mark, pattern, replacement in _RULES:
        if mark in text:
            text = pattern.sub(replacement, text)
    if "hat" in text or "vec" in text:
        for pattern, replacement in _VECTORS:
            text = pattern.sub(replacement, text)
    if "\\begin{" in text:
        text = _CASES.sub(_as_list, text)
    return text


def _as_list(found: re.Match[str]) -> str:
    """A system of equations as a list; cases with conditions stay what they are."""
    name, body = found.groups()
    if "&" in body and name == "cases":
        return found[0]
    return ", ".join(row for row in re.split(r"\\\\", body.replace("&", " ")) if row.strip())
