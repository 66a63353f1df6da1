r"""How the pieces of a step are written: numbers, signs, LaTeX, Unicode.

``TOKEN`` matches one piece at every place of a text; the group that matched names its kind. The order counts. Every
repetition that could meet another is bounded, so that a text is read in time linear in its length.
"""

from __future__ import annotations

import re

# One character each, so that places in the text stay what they are.
SAME = str.maketrans(
    {
        **dict.fromkeys("−–‒﹣‐‑－", "-"),
        **dict.fromkeys("×✕✖·∙⋅∗＊", "*"),
        **dict.fromkeys("÷∕⁄／", "/"),
        **dict.fromkeys("≃≅≒", "≈"),
        **dict.fromkeys("⩽≦", "≤"),
        **dict.fromkeys("⩾≧", "≥"),
        **dict.fromkeys("\u00a0\u2009\u202f\u2002\u2003\t\r", " "),
        **dict.fromkeys("’‘′", "'"),
        **dict(zip("＝＋（）％，＄", "=+()%,$", strict=True)),
    }
)
FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
_LETTER = rf"[^\W\d_{FRACTIONS}{''.join(SUPER)}]"
_END = r"(?![a-zA-Z])"  # of a command
_WORDS = r"text(?:bf|it|rm|normal|sf)?|mbox|mathrm|mathbf|mathit|mathsf|emph|operatorname"
_GROUP = r"(?:,|\{,\}|\\,|\\!|,\\!)"  # between thousands

_KINDS = {
    "space": r"[ ]+",
    "unequal": r"(?:\bnot|n't)[ ]+equals?\b(?:[ ]+to\b)?",
    "equals": r"(?:\b(?:is|are)[ ]+)?\b(?:equals\b|equal[ ]+to\b)",
    "is": r"(?<=[\d)}%][ ])(?:is|are|gives|makes)(?=[ ]+\\?[$(\d.])",
    "by": r"(?<=[\d)])[xX](?=\d)|(?<=[\d)a-z][ ])[xX](?=\d)",
    "const": rf"\\pi{_END}|π",
    "fn": rf"\\(?:[dtc]?frac|sqrt|d?binom){_END}|√|sqrt(?=\()",
    "word": rf"{_LETTER}+(?:['-]{_LETTER}+)*\d*",
    # The point of "3 ft. * 7 ft." ends no sentence.
    "abbreviation": r"(?:(?<=ft|sq|oz|lb|hr|yd)|(?<=lbs|hrs|min))\.(?=[ ](?:[-+*/x=)]|[a-z]))",
    "ann": r"<<[^<>\n]{1,400}>>",
    "break": r"\\\\|\\[\[\]]|\$\$|\\(?:q?quad|implies|iff|to|therefore|because|[lc]?dots|tag\*?\{[^{}]{0,20}\}"
    rf"|(?:Long)?(?:[rR]ightarrow|[lL]eftrightarrow)){_END}|<=>|=>|-{{1,2}}>|[⇒→⟹∴;:?—\n…]|\.{{2,}}|[,.](?!\d)",
    "clock": r"\d{1,4}:\d{1,4}(?::\d{1,4})*",
    "mixed": r"(?<![\d.,/])\d{1,9}[ ]+(?:and[ ]+)?[1-9]\d{0,8}/[1-9]\d{0,8}(?![\d/]|[.,]\d)"
    rf"|\d{{0,9}}[{FRACTIONS}]",
    "repeat": r"\d{0,30}\.\d{0,30}\\overline\{\d{1,9}\}",
    "num": rf"\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)(?:\.\d+)?"
    r"|[1-9]\d{0,2}(?:[ ]\d{3})*[ ]000(?!\d|[.,]\d)|(?<=\$)\d{1,3}(?:[ ]\d{3})+(?!\d)|\d+\.\d+|\d+|\.\d+",
    "degree": r"\^\{?\\circ\}?|°",
    "words": rf"\\(?:{_WORDS})\s*\{{[^{{}}\d=]{{0,200}}\}}",
    "skip": rf"\\(?:{_WORDS}|boxed|fbox|left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|cancel|underline"
    rf"|hspace\*?\{{[^{{}}]{{0,20}}\}}){_END}|\\[,;:!>\ ()]|[&\"`'~\u200b]|</?[a-zA-Z][^<>\n]{{0,60}}>|_(?![\w{{\\])",
    "sub": r"_(?:\{[^{}\n]{0,60}\}|\\[a-zA-Z]{1,30}(?:\{[^{}\n]{0,60}\})?|\w)",
    "rel": rf"\\(?:approx|simeq|sim|cong|leq?|geq?|leqslant|geqslant|neq?|lt|gt){_END}|[=<>!]=|[=<>≈≤≥≠]",
    "op": rf"\\(?:times|cdot|div|ast){_END}|\*\*|(?<=\d)//(?=\d)|[-+*/^%!]|\\%",
    "open": r"[(\[{]",
    "close": r"[)\]}]",
    "cur": r"\\?\$|[€£¥₹¢]",
    "super": f"[{''.join(SUPER)}]+",
    "other": r"\\[a-zA-Z]+\*?|\\.|.",
}
# What may follow a number: an exponent; the ellipsis of 1.666…
_AFTER_NUMBER = (
    r"(?P<exp>[eE][+-]?\d{1,3}(?![\w.]))?"
    rf"(?P<dots>\.{{2,3}}(?=[^.]|$)|…|\\[lc]?dots{_END})?"
)
TOKEN = re.compile(
    "|".join(f"(?P<{kind}>{pattern})" + (_AFTER_NUMBER if kind == "num" else "") for kind, pattern in _KINDS.items()),
    re.DOTALL,
)

# The name of a sign for each way in which it is written.
RELATIONS = {
    "==": "=",
    "≈": "~",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    **dict.fromkeys((r"\approx", r"\simeq", r"\sim", r"\cong"), "~"),
    **dict.fromkeys((r"\le", r"\leq", r"\leqslant"), "<="),
    **dict.fromkeys((r"\ge", r"\geq", r"\geqslant"), ">="),
    **dict.fromkeys((r"\ne", r"\neq"), "!="),
    r"\lt": "<",
    r"\gt": ">",
}
OPERATOR_SIGNS = {"//": "/", r"\times": "*", r"\cdot": "*", r"\ast": "*", r"\div": "/", r"\%": "%"}
FUNCTIONS = {
    **dict.fromkeys(("√", "sqrt"), r"\sqrt"),
    **dict.fromkeys((r"\dfrac", r"\tfrac", r"\cfrac"), r"\frac"),
    r"\dbinom": r"\binom",
}
