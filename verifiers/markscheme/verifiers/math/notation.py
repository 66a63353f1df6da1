"""Repairs of notation, the same on both sides: Unicode, eaten escapes, doubled backslashes, wrappers.

Everything here turns text into text in linear time. What it cannot repair is left for the grammar to refuse.
"""

from __future__ import annotations

import re
import unicodedata

# An escape that a string literal ate, by the character it became, and the rests of the commands it may have begun.
_EATEN = {
    "\x07": ("a", "lpha|ngle|pprox|rc(?:sin|cos|tan)|st"),
    "\x08": ("b", "egin|oxed|inom|eta|ar|ig|igg|mod|f|ullet"),
    "\x0c": ("f", "rac|box|loor|orall"),
    "\x0b": ("v", "ec|arphi|artheta|ert"),
    "\t": ("t", "ext(?:bf|it|rm|normal)?|imes|heta|an|au|frac|riangle"),
    "\r": ("r", "ight|ho|angle|floor|ceil"),
    "\n": ("n", "eq|abla|otin"),
}
_EATEN_PATTERNS = {
    char: (re.compile(f"{re.escape(char)}(?=(?:{rests})(?![a-z]))"), "\\\\" + letter)
    for char, (letter, rests) in _EATEN.items()
}
# Two backslashes before a command's name: text that was escaped once too often.
_DOUBLED = re.compile(
    r"(?<!\\)\\\\(?=(?:[dtc]?frac|sqrt|text[a-z]*|mathrm|mathbf|mathbb|mbox|left|right|begin|end|pi|infty|cdot|times|pm|mp|cup|cap|in"
    r"|leq?|geq?|leqslant|geqslant|neq?|lt|gt|approx|alpha|beta|gamma|delta|theta|lambda|mu|sigma|omega|phi|rho|sin|cos|tan|cot|sec"
    r"|csc|log|ln|exp|arcsin|arccos|arctan|circ|degree|binom|dbinom|boxed|fbox|quad|qquad|overline|emptyset|varnothing"
    r"|setminus|big[a-z]*|Big[a-z]*|sum|prod|int|lim|mid|equiv|lfloor|rfloor|lceil|rceil|langle|rangle|angle|vec|hat|ldots"
    r"|cdots|dots|div|to|operatorname)(?![a-zA-Z])|[%$&_{}](?!\s*\\\\))"
)
_CHARS = {
    **dict.fromkeys("−–—‐‑‒﹣", "-"),
    **dict.fromkeys("×✕✖", r"\times "),
    **dict.fromkeys("·∙⋅•", r"\cdot "),
    **dict.fromkeys("∗⁎", "*"),
    **dict.fromkeys("⁄∕", "/"),
    **dict.fromkeys("≤⩽≦", r"\le "),
    **dict.fromkeys("≥⩾≧", r"\ge "),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’′ʹ", "'"),
    **dict.fromkeys("…⋯", r"\ldots "),
    **dict.fromkeys("⟨〈", r"\langle "),
    **dict.fromkeys("⟩〉", r"\rangle "),
    **dict.fromkeys("∣｜", "|"),
    **dict.fromkeys("∖⧵", r"\setminus "),
    **dict.fromkeys("∅⌀Ø", r"\emptyset "),
    **dict.fromkeys("\u2009\u202f\u200a\u2006\u2005", r"\,"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    "″": "''",
    "÷": r"\div ",
    "≠": r"\ne ",
    "≈": r"\approx ",
    "≡": r"\equiv ",
    "∞": r"\infty ",
    "±": r"\pm ",
    "∓": r"\mp ",
    "°": r"^\circ ",
    "º": r"^\circ ",
    "˚": r"^\circ ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∈": r"\in ",
    "∉": r"\notin ",
    "ℝ": r"\mathbb{R}",
    "ℤ": r"\mathbb{Z}",
    "ℚ": r"\mathbb{Q}",
    "ℕ": r"\mathbb{N}",
    "ℂ": r"\mathbb{C}",
    "∠": r"\angle ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "∑": r"\sum ",
    "∏": r"\prod ",
    "∫": r"\int ",
    "√": r"\surd ",
    "∛": r"\cuberoot ",
    "∜": r"\fourthroot ",
    "∀": r"\forall ",
    "→": r"\to ",
    "∧": r"\wedge ",
    "∨": r"\vee ",
    "。": ".",
    "、": ",",
}
_GREEK = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "omicron",
    "pi",
    "rho",
    "sigma",
    "sigma",
    "tau",
    "upsilon",
    "phi",
    "chi",
    "psi",
    "omega",
]
_CHARS.update({chr(0x3B1 + n): f"\\{name} " for n, name in enumerate(_GREEK)})
_CHARS.update({chr(0x391 + n): f"\\{name.capitalize()} " for n, name in enumerate(_GREEK) if n not in (14, 17)})
_CHARS.update({"ϕ": r"\phi ", "ϵ": r"\epsilon ", "ϑ": r"\theta ", "µ": r"\mu "})
_SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ", "0123456789+-()nix", strict=True))
_SUB = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₖₘₐₓ", "0123456789+-()nkmax", strict=True))
_SUPER_RUN = re.compile(f"[{''.join(_SUPER)}]+")
_SUB_RUN = re.compile(f"[{''.join(_SUB)}]+")
_CIRCLED = re.compile("[①-⑳](?=[①-⑳])")


def _one(char: str) -> str:
    if char in _CHARS:
        return _CHARS[char]
    digit = unicodedata.digit(char, None)
    kind = unicodedata.decomposition(char)
    if kind.startswith("<fraction>"):
        top, _, bottom = unicodedata.normalize("NFKC", char).partition("⁄")
        return f"\\frac{{{top}}}{{{bottom or '1'}}}"
    if digit is not None and not kind.startswith(("<super>", "<sub>", "<circle>")):
        return str(digit)
    if unicodedata.category(char) == "Zs":
        return " "
    plain = unicodedata.normalize("NFKC", char)
    return plain if plain.isascii() else char


def _ascii(text: str) -> str:
    text = _SUPER_RUN.sub(lambda run: "^{" + "".join(_SUPER[char] for char in run[0]) + "}", text)
    text = _SUB_RUN.sub(lambda run: "_{" + "".join(_SUB[char] for char in run[0]) + "}", text)
    text = _CIRCLED.sub(lambda mark: mark[0] + ",", text)
    return "".join(char if char < "\x80" else _one(char) for char in text)


_IN_TEXT = re.compile(r"\\(?:text|mathrm|mbox)[a-z]*\s*\{[^{}]*\}")
_TEXT_DOLLAR = re.compile(r"\\(?:text|mathrm|mbox)\s*\{\s*\\?\$\s*\}")
_GLUED_QUAD = re.compile(r"\\(q?quad)(?=[a-zA-Z])")
_FORMULA_WORD = re.compile(r"(?<![\\a-zA-Z])[A-Za-z]{4,}")
_CURRENCY_NUMBER = re.compile(r"\s?[-+]?[\d.]")


def resolve_dollars(text: str) -> str:
    r"""Drop the ``$`` that delimit formulas; write the ones that mean money as ``\$``.

    A ``$`` is currency before a number unless a later ``$`` closes a formula that it opens; a lone ``$``
    after a number is currency too.
    """
    text = text.replace("$$", " ")  # always a delimiter
    marks = [n for n, char in enumerate(text) if char == "$" and (n == 0 or text[n - 1] != "\\")]
    out, last, n = [], 0, 0
    while n < len(marks):
        here = marks[n]
        out.append(text[last:here])
        last = here + 1
        after = text[here + 1 : here + 4]
        money = _CURRENCY_NUMBER.match(after) is not None
        closing = marks[n + 1] if n + 1 < len(marks) else None
        if closing is None:
            before = text[:here].rstrip()
            out.append(r"\$" if money or before[-1:].isdigit() else " ")
            n += 1
            continue
        inside = text[here + 1 : closing]
        if money and (
            _FORMULA_WORD.search(_IN_TEXT.sub("", inside))
            or (text[closing + 1 : closing + 2].isdigit() and inside[-1:] != "=")
        ):
            out.append(r"\$")
            n += 1
            continue
        out.append(f" {inside} ")
        last = closing + 1
        n += 2
    out.append(text[last:])
    return "".join(out)


def strip_blanks(text: str) -> str:
    """The text without the blanks around it; a blank that is a command's eaten escape stays."""
    plain = text.strip()
    before = text[: len(text) - len(text.lstrip())][-1:]
    if before in _EATEN_PATTERNS and _EATEN_PATTERNS[before][0].match(before + plain):
        return before + plain
    return plain


def repair(text: str) -> str:
    """Turn every notation that models write into the one that the lexer reads. Idempotent on clean ASCII LaTeX."""
    for char, (pattern, command) in _EATEN_PATTERNS.items():
        if char in text:
            text = pattern.sub(command, text)
    if r"\\" in text:
        if r"\\begin" in text or r"\\\\" in text:
            text = text.replace(r"\\\\", "\\\\ ")
        text = _DOUBLED.sub(r"\\", text)
    if not text.isascii():
        text = _ascii(text)
    if "quad" in text:
        text = _GLUED_QUAD.sub(r"\\\1 ", text)
    if "$" in text:
        text = resolve_dollars(_TEXT_DOLLAR.sub(r"\\$", text))
    return text


_WRAPS = [
    (re.compile(r"\A\\\((.*)\\\)\Z", re.DOTALL), r"\("),
    (re.compile(r"\A\\\[(.*)\\\]\Z", re.DOTALL), r"\["),
    (re.compile(r"\A\*\*(.*)\*\*\Z", re.DOTALL), "**"),
    (re.compile(r"\A`+([^`]*)`+\Z", re.DOTALL), "`"),
    (re.compile(r"\A\"([^\"]*)\"\Z", re.DOTALL), '"'),
]
_WRAP_STARTS = frozenset(mark[0] for _, mark in _WRAPS)
_FORMULA_TEXT = re.compile(
    r"\A\\(?:text(?:bf|it|rm|normal)?|mbox|mathbf|mathrm|boldsymbol|bm)\s*(?=\{.*[\d\\])", re.DOTALL
)
_BOX = re.compile(r"\A\\(?:boxed|fbox|framebox)\s*(?=\{)")


def closing_brace(text: str, opening: int) -> int:
    """The index of the ``}`` that closes the ``{`` at ``opening``, or -1. Escaped braces do not count."""
    depth, n = 0, opening
    while n < len(text):
        char = text[n]
        if char == "\\":
            n += 2
            continue
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return n
        n += 1
    return -1


def unwrap(text: str) -> str:
    """Take off what only wraps an answer: boxes, math delimiters, emphasis, braces, final punctuation."""
    for _ in range(12):
        before = text
        text = text.strip().rstrip(";,").rstrip()
        if text.endswith(".") and not text.endswith((r"\ldots.", "...")):
            text = text[:-1].rstrip()
        if text.endswith("\\") and not text.endswith("\\\\"):
            text = text[:-1].rstrip()
        if text[:1] in _WRAP_STARTS:
            for pattern, mark in _WRAPS:
                if text.startswith(mark) and (whole := pattern.match(text)) and mark not in whole[1]:
                    text = whole[1]
        box = (_BOX.match(text) or _FORMULA_TEXT.match(text)) if text.startswith("\\") else None
        start = box.end() if box else 0
        if text[start : start + 1] == "{" and closing_brace(text, start) == len(text) - 1:
            text = text[start + 1 : -1]
        if text == before:
            break
    return text
