"""What a sentence states: the one value after a copula, or its one formula.

Every search is bounded to a window, so that a long text costs no more than its length.
"""

from __future__ import annotations

import re

from markscheme.verifiers.claims import is_altered, is_doubted, is_taken_back
from markscheme.verifiers.place import ReadAnswer

_FIRM_DENIAL = re.compile(r"(?:certainly|definitely|clearly|obviously)\s+not\b", re.IGNORECASE)
_MINUS = r"(?:(?<![\d)}])(?<![\d)}] )[-+−]\s?)?"  # after a number it is an operator
_NUMBER_TEXT = rf"{_MINUS}(?:\\?\$|€|£)?\s?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s?/\s?\d+)?(?:\s?\\?%)?"
NUMBER = re.compile(_NUMBER_TEXT)
_FORMULA = re.compile(
    r"\$\$(.+?)\$\$|(?<!\\)\$(?!\s?\d[\d,.]*(?:\s|$|[.,;)]))(.+?)(?<!\\)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL
)
_MONEY_FORMULA = re.compile(r"(?<!\\)\$\s*([-+]?[\d{,}.\\!%]+)\s*\$")
_DENIAL = re.compile(
    r"\b(?:not|never|no longer|neither|nor|cannot|can't|isn't|aren't|wasn't|doesn't|don't|unlikely)\b", re.IGNORECASE
)
_COPULA = re.compile(r"(?<![<>!:=])=(?!=)|:(?=\s)|\b(?:is|are|was|were|equals?|be|becomes)\b", re.IGNORECASE)
_SUM = re.compile(r"[\s\d.,$%*×÷+−()/-]*")  # the arithmetic of "is 2 + 1 = 3"
_IS_THE_ANSWER = re.compile(
    r",?\s+(?:is|are) (?:the|our|my) (?:(?:final|correct|required|desired) )?(?:answer|value|result|solution)s?\W*$",
    re.IGNORECASE,
)
_SHOWN_AFTER_PROSE = re.compile(r"[A-Za-z]{2}[,:]?\s*(?:\$\$|\\\[)")  # "We get $$ y = 2x $$" is no bare answer
_CLAUSE = re.compile(r"\b(?:therefore|thus|hence|so|consequently|finally)\b,?", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s+(?:[A-Z$\\(*\[]|$)|\s*$)|\n")
POLITE = re.compile(
    r"(?:I hope (?:it|this) is correct|(?:I )?hope this helps|(?:please )?let me know (?:if|when|whether)[^.!?\n]{0,80}"
    r"|(?:please )?feel free to [^.!?\n]{0,80}|if you have any (?:other |more |further )?questions?[^.!?\n]{0,80})"
    r"[.!]?\s{0,99}\Z",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"\b(?:greater|less|more|fewer|larger|smaller|than|least|most|between|over|under|divisible|multiple|factor|exceeds?|plus)\b",
    re.IGNORECASE,
)
_WINDOW = 4000  # characters: a sentence that is longer states no answer
NO_STATEMENT = "no answer is stated where the contract looks for one"


def last_sentence(text: str) -> ReadAnswer:
    """The answer of a completion that is only one, or that its last sentence states."""
    text = text.rstrip()
    polite = POLITE.search(text, max(0, len(text) - 200))
    stop = len(text[: polite.start()].rstrip()) if polite else len(text)
    if stop and not _SHOWN_AFTER_PROSE.search(text, 0, stop) and _is_answer(text[:stop]):
        return trimmed(text, 0, stop, "bare") or ReadAnswer(None, "auto", why=NO_STATEMENT)
    start = -1 if stop > _WINDOW else 0
    for mark in _SENTENCE_END.finditer(text, max(0, stop - _WINDOW), stop):
        if mark.end() < stop and not _inside_formula(text, max(0, stop - _WINDOW), mark.start()):
            start = mark.end()
    if start < 0:
        return ReadAnswer(None, "auto", why="no answer found")
    for clause in _CLAUSE.finditer(text, start, stop):
        if clause.end() < stop:
            start = clause.end()
    return _sentence_value(text, start, stop)


def _inside_formula(text: str, start: int, at: int) -> bool:
    """Whether a break at ``at`` lies inside a formula that was opened after ``start``."""
    before = text[max(start, at - 400) : at]
    return (
        before.count("$$") % 2 == 1
        or before.count("\\[") > before.count("\\]")
        or before.count("\\(") > before.count("\\)")
    )


def _sentence_value(text: str, start: int, stop: int) -> ReadAnswer:
    """The one value after a copula, or the one formula, of a sentence."""
    nothing = ReadAnswer(None, "auto", why="no answer found")
    sentence = text[start:stop]
    formulas = list(_formulas(sentence))
    outside = list(sentence)
    for begin, end in formulas:
        outside[begin:end] = "\x00" * (end - begin)
    plain = "".join(outside)
    if _DENIAL.search(plain) or is_doubted(plain) or text[stop : stop + 1] == "?" or plain.endswith("?"):
        return ReadAnswer(None, "auto", why="the last sentence denies a value")
    if said := _IS_THE_ANSWER.search(plain):
        return value_in(text, start, start + said.start(), "sentence", single=True)
    copula = None
    for mark in _COPULA.finditer(plain):
        if copula is None or not re.search(r"\d|\x00", plain[copula.end() : mark.start()]):
            copula = mark
        elif mark[0] != "=" or not _SUM.fullmatch(plain[copula.end() : mark.start()]):
            copula = None
            break
    if copula is not None and re.search(r"\d|\x00", plain[copula.end() :]):
        found = value_in(text, start + copula.end(), stop, "sentence", single=True)
        if found.text is not None:
            return found
    if len(formulas) == 1 and not re.search(r"\d", plain):
        begin, end = formulas[0]
        return trimmed(text, start + begin, start + end, "sentence") or nothing
    return nothing


def _formulas(sentence: str) -> list[tuple[int, int]]:
    spans = [match.span() for match in _MONEY_FORMULA.finditer(sentence)]
    for match in _FORMULA.finditer(sentence):
        if not any(a < match.end() and match.start() < b for a, b in spans):
            spans.append(match.span())
    return sorted(spans)


def sentence_end(text: str, start: int) -> int:
    """Where the sentence from ``start`` ends, or -1 where it is too long to be one."""
    for mark in _SENTENCE_END.finditer(text, start, start + _WINDOW):
        if not _inside_formula(text, start, mark.start()):
            return mark.start()
    return len(text) if len(text) <= start + _WINDOW else -1


def trimmed(text: str, start: int, end: int, reading: str) -> ReadAnswer | None:
    """The text of a span without the blanks, emphasis and final full stop around it; None where nothing is left."""
    while start < end and text[start] in " \t\r\n*_`":
        start += 1
    while end > start and text[end - 1] in " \t\r\n*_`.":
        end -= 1
    return ReadAnswer(text[start:end], reading, (start, end)) if end > start else None


def _is_answer(text: str) -> bool:
    """Whether the whole of a short text is an answer and no prose."""
    if len(text) > 2000:
        return False
    from markscheme.verifiers.math.answers import parse_answer  # noqa: PLC0415 - the grammar loads when it is needed
    from markscheme.verifiers.math.lexer import TooLarge  # noqa: PLC0415
    from markscheme.verifiers.math.nodes import Listing, Text  # noqa: PLC0415

    try:
        node = parse_answer(text.strip().strip("*_`")).node
    except TooLarge:
        return True
    if isinstance(node, Listing):  # words between commas are prose as soon as one part is more than a name
        return not any(isinstance(item, Text) and len(item.words.split()) > 2 for item in node.items)
    return node is not None and not (isinstance(node, Text) and len(node.words.split()) > 4)


def value_in(text: str, start: int, end: int, reading: str, *, single: bool = False) -> ReadAnswer:
    """The value that a stretch of prose states: all of it where it parses, else the value it begins or ends with."""
    whole = trimmed(text, start, end, reading)
    nothing = ReadAnswer(None, reading, why=NO_STATEMENT)
    if whole is None or whole.text is None or whole.span is None:
        return nothing
    if _DENIAL.match(whole.text) or _FIRM_DENIAL.match(whole.text):
        return ReadAnswer(None, reading, why="the statement denies a value")
    if _is_answer(whole.text) and not (single and _is_list(whole.text)):
        return whole
    begin = whole.span[0]
    formulas = [(a + begin, b + begin) for a, b in _formulas(whole.text)]
    numbers = [match.span() for match in NUMBER.finditer(text, begin, whole.span[1])]
    outside = [span for span in numbers if not any(a <= span[0] < b for a, b in formulas)]
    values = sorted([*formulas, *outside])
    if len(values) == 1 and (values[0][0] == begin or not single):
        stop = _with_unit(text, values[0][1], whole.span[1])
        before, after = text[begin : values[0][0]], text[values[0][1] : whole.span[1] + 80]
        kept = not _DENIAL.search(before) and not _BESIDE.search(before) and not is_altered(before, after)
        if kept and not is_taken_back(after):
            return trimmed(text, values[0][0], stop, reading) or nothing
    copula = None
    for copula in _COPULA.finditer(text, begin, whole.span[1]):
        if any(a <= copula.start() < b for a, b in formulas):
            copula = None  # noqa: PLW2901 - a copula inside a formula is none
            continue
    if not single and copula is not None and not _DENIAL.search(text, begin, whole.span[1]):
        return value_in(text, copula.end(), whole.span[1], reading, single=True)
    if values and values[0][0] == begin and not single and re.match(r",\s+[a-z]", text[values[0][1] : whole.span[1]]):
        return trimmed(text, *values[0], reading) or nothing
    return nothing


def _is_list(text: str) -> bool:
    from markscheme.verifiers.math.answers import parse_answer  # noqa: PLC0415
    from markscheme.verifiers.math.nodes import Listing  # noqa: PLC0415

    return isinstance(parse_answer(text.strip()).node, Listing) and "$" not in text and "\\" not in text


def _with_unit(text: str, at: int, end: int) -> int:
    """The end of a value with the unit word that follows it."""
    from markscheme.verifiers.math.units import parse_unit  # noqa: PLC0415

    best = at
    if text[at - 1] == ",":
        return at
    for match in re.finditer(r"\s*[-A-Za-z²³^/%\\.]+\d?", text[at:end]):
        if match.start() > 30 or re.match(r"\s*in\s+[a-z]", text[at + match.start() : end]):  # 72 in all
            break
        if match[0].strip() == "in" and re.match(r"\s*\w", text[at + match.end() : end]):
            break  # "46 in total", and no inches
        if parse_unit(text[at : at + match.end()].replace("²", "^2").replace("³", "^3")) or re.fullmatch(
            r"\s*(?:\\?%|percent|a\.?m\.?|p\.?m\.?|degrees?)", text[at : at + match.end()], re.IGNORECASE
        ):
            best = at + match.end()
    return best
