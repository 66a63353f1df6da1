"""Where a completion states its answer: the reading contracts.

Every contract is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import Literal

from markscheme.verifiers.boxes import find_boxes, last_answer
from markscheme.verifiers.claims import is_altered, is_doubted, is_supposed, is_taken_back

Reading = Literal["auto", "boxed", "gsm8k", "answer_line", "tag", "last_number"]
READINGS: tuple[Reading, ...] = ("auto", "boxed", "gsm8k", "answer_line", "tag", "last_number")


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The place where an answer was found.

    Attributes:
        text: the answer as written, or None when the completion states none.
        reading: the contract that found it.
        span: its place in the completion, ``[start, end)`` in characters.
        why: when ``text`` is None, why ("no answer found", "the last box is cut off" …).
        cut_off: the completion ends inside the place that would hold the answer.
    """

    text: str | None
    reading: str
    span: tuple[int, int] | None = None
    why: str = ""
    cut_off: bool = False


_END_OF_TURN = re.compile(
    r"<\|(?:im_end|im_start|endoftext|eot_id|end_of_text|end|user|assistant)\|>|</s>|<end_of_turn>"
)
_LEADING_TURN = re.compile(rf"\s*(?:{_END_OF_TURN.pattern})(?:assistant)?")
_FIRM_DENIAL = re.compile(r"(?:certainly|definitely|clearly|obviously)\s+not\b", re.IGNORECASE)
_MINUS = r"(?:(?<![\d)}])(?<![\d)}] )[-+−]\s?)?"  # after a number it is an operator
_NUMBER = rf"{_MINUS}(?:\\?\$|€|£)?\s?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s?/\s?\d+)?(?:\s?\\?%)?"
_LAST_NUMBER = re.compile(_NUMBER)
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
_POLITE = re.compile(
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
_MARKER = re.compile(
    r"(?:^|(?<=[\n.!?$)\]}*]))[ \t*_#>]{0,12}(?:the )?final answer[ *_]{0,6}(?::|=|\n|is\b:?)"
    r"|(?:^|(?<=\n))[ \t]*(?:#{1,6}[ \t*]*|\*\*)answer[ *:]{0,4}\n"
    r"|\b(?:answers?|(?:correct|right|best) (?:option|choice)) (?:to (?:the|this) (?:question|problem) )?"
    r"(?:is|are|would be|should be|equals|=|must be|will be)\b[ \t]?:?"
    r"|(?:^|(?<=\n))[ \t*_#>]{0,12}(?:answer|ans|A)[*_]{0,3} ?[:=]",
    re.IGNORECASE,
)
_FINAL_LINE = re.compile(
    r"(?:^|(?<=\n))[ \t*_#>]{0,12}(?:the )?(?:final answer|answer)[ *_]{0,6}(?::|is\b:?)", re.IGNORECASE
)
_NO_STATEMENT = "no answer is stated where the contract looks for one"


def read_answer(completion: str, reading: Reading = "auto", *, thinking: bool = False) -> ReadAnswer:
    """Find where ``completion`` states its answer.

    Args:
        completion: a model's text. Only what follows ``</think>`` counts; an unclosed think block states no answer.
        reading: the contract. ``auto`` tries, in order: a final line after the last box, the last box, ``<answer>``,
            ``####``, an answer line, the one value of the last sentence, a completion that is only an answer.
        thinking: the prompt's template opened a think block: without ``</think>`` no answer is stated.

    Raises:
        ValueError: for an unknown contract.
    """
    if reading not in READINGS:
        raise ValueError(f"reading must be one of {', '.join(READINGS)}, not {reading!r}")
    offset, end, why = _visible(completion, thinking=thinking)
    if why:
        return ReadAnswer(None, reading, None, why, cut_off=True)
    text = completion[offset:end]
    found = _CONTRACTS[reading](text)
    if found.span is None or not offset:
        return found
    start, stop = found.span
    return ReadAnswer(found.text, found.reading, (start + offset, stop + offset), found.why, found.cut_off)


def _visible(completion: str, *, thinking: bool) -> tuple[int, int, str]:
    """The part that counts, as offsets, or why none does."""
    close = completion.rfind("</think>")
    if completion.rfind("<think>") > close:
        return 0, 0, "the think block is never closed"
    if close < 0 and thinking:
        return 0, 0, "the think block that the prompt opened is never closed"
    offset = close + len("</think>") if close >= 0 else 0
    if "<|" not in completion and "</s>" not in completion and "<end_of_turn>" not in completion:
        return offset, len(completion), ""
    while turn := _LEADING_TURN.match(completion, offset):
        offset = turn.end()
    turn = _END_OF_TURN.search(completion, offset)
    return offset, turn.start() if turn else len(completion), ""


# Contracts ------------------------------------------------------------------------------------------------------


def _boxed(text: str) -> ReadAnswer:
    answer, span, why = last_answer(text)
    if span is not None and answer is not None and is_taken_back(text[span[1] + 1 : span[1] + 80]):
        return ReadAnswer(None, "boxed", span, "the box is taken back")
    return ReadAnswer(answer, "boxed", span, why or ("" if answer is not None else "no box"), "cut off" in why)


def _gsm8k(text: str) -> ReadAnswer:
    mark = text.rfind("####")
    if mark < 0:
        return ReadAnswer(None, "gsm8k", why='no "####"')
    start, end = mark + 4, text.find("\n", mark)
    return _trimmed(text, start, len(text) if end < 0 else end, "gsm8k") or ReadAnswer(
        None, "gsm8k", (mark, len(text)), 'nothing follows "####"', cut_off=True
    )


def _tag(text: str) -> ReadAnswer:
    close = text.rfind("</answer>")
    opening = text.rfind("<answer>", 0, close if close >= 0 else len(text))
    if text.rfind("<answer>") > close:
        return ReadAnswer(
            None, "tag", (text.rfind("<answer>"), len(text)), "the answer tag is never closed", cut_off=True
        )
    if close < 0 or opening < 0:
        return ReadAnswer(None, "tag", why="no answer tag")
    if is_taken_back(text[close + len("</answer>") : close + 80]):
        return ReadAnswer(None, "tag", (opening, close), "the answer is taken back")
    inner = _boxed(text[opening + 8 : close])
    if inner.text is not None and inner.span:
        return ReadAnswer(inner.text, "tag", (opening + 8 + inner.span[0], opening + 8 + inner.span[1]))
    return _trimmed(text, opening + 8, close, "tag") or ReadAnswer(
        None, "tag", (opening, close), "the answer tag is empty"
    )


def _last_match(pattern: re.Pattern[str], text: str, start: int = 0) -> re.Match[str] | None:
    for size in (100, 1000, len(text)):  # most often it is near the end
        found = deque(pattern.finditer(text, max(start, len(text) - size)), maxlen=1)
        if found:
            return found[0]
    return None


def _last_number(text: str) -> ReadAnswer:
    last = _last_match(_LAST_NUMBER, text)
    if last is None:
        return ReadAnswer(None, "last_number", why="no number")
    number = last[0].strip().rstrip(",")
    start = last.start() + last[0].index(number)
    return ReadAnswer(number, "last_number", (start, start + len(number)))


def _answer_line(text: str) -> ReadAnswer:
    last = _last_match(_MARKER, text)
    if last is None:
        return ReadAnswer(None, "answer_line", why="no answer line")
    if is_supposed(text[max(0, last.start() - 60) : last.start()].rpartition("\n")[2]):
        return ReadAnswer(None, "answer_line", why=_NO_STATEMENT)
    found = _statement_after(text, last.end(), "answer_line")
    if found.text is None and last[0].endswith("\n"):
        return ReadAnswer(None, "answer_line", why="prose follows the heading")
    return found


def _statement_after(text: str, start: int, reading: str) -> ReadAnswer:
    """The value that the sentence from ``start`` on states."""
    while start < len(text) and text[start] in " \t\n*_:":
        start += 1
    end = _sentence_end(text, start)
    if end < 0 or text[end : end + 1] == "?" or _POLITE.match(text[start:end].strip()):
        return ReadAnswer(None, reading, why=_NO_STATEMENT)
    return _value_in(text, start, end, reading)


def _auto(text: str) -> ReadAnswer:
    boxes, unclosed = find_boxes(text)
    if boxes or unclosed >= 0:
        after = max(boxes[-1].end + 1 if boxes else 0, unclosed)
        line = _last_match(_FINAL_LINE, text, after)
        if line is not None and unclosed < 0:
            found = _statement_after(text, line.end(), "final_line")
            if found.text is not None:
                return found
        found = _boxed(text)
        if found.text is not None or found.span is not None:
            return found
    if "<answer>" in text:
        return _tag(text)
    if "####" in text:
        found = _gsm8k(text)
        if found.text is None or re.search(r"\d|\\", found.text):
            return found
    found = _answer_line(text)
    if found.text is not None or found.why == _NO_STATEMENT:
        return found
    return _last_sentence(text)


def _last_sentence(text: str) -> ReadAnswer:
    text = text.rstrip()
    polite = _POLITE.search(text, max(0, len(text) - 200))
    stop = len(text[: polite.start()].rstrip()) if polite else len(text)
    if stop and not _SHOWN_AFTER_PROSE.search(text, 0, stop) and _is_answer(text[:stop]):
        return _trimmed(text, 0, stop, "bare") or ReadAnswer(None, "auto", why=_NO_STATEMENT)
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
        return _value_in(text, start, start + said.start(), "sentence", single=True)
    copula = None
    for mark in _COPULA.finditer(plain):
        if copula is None or not re.search(r"\d|\x00", plain[copula.end() : mark.start()]):
            copula = mark
        elif mark[0] != "=" or not _SUM.fullmatch(plain[copula.end() : mark.start()]):
            copula = None
            break
    if copula is not None and re.search(r"\d|\x00", plain[copula.end() :]):
        found = _value_in(text, start + copula.end(), stop, "sentence", single=True)
        if found.text is not None:
            return found
    if len(formulas) == 1 and not re.search(r"\d", plain):
        begin, end = formulas[0]
        return _trimmed(text, start + begin, start + end, "sentence") or nothing
    return nothing


def _formulas(sentence: str) -> list[tuple[int, int]]:
    spans = [match.span() for match in _MONEY_FORMULA.finditer(sentence)]
    for match in _FORMULA.finditer(sentence):
        if not any(a < match.end() and match.start() < b for a, b in spans):
            spans.append(match.span())
    return sorted(spans)


# Values in sentences --------------------------------------------------------------------------------------------


def _sentence_end(text: str, start: int) -> int:
    """Where the sentence from ``start`` ends, or -1 where it is too long to be one."""
    for mark in _SENTENCE_END.finditer(text, start, start + _WINDOW):
        if not _inside_formula(text, start, mark.start()):
            return mark.start()
    return len(text) if len(text) <= start + _WINDOW else -1


def _trimmed(text: str, start: int, end: int, reading: str) -> ReadAnswer | None:
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


def _value_in(text: str, start: int, end: int, reading: str, *, single: bool = False) -> ReadAnswer:
    """The value that a stretch of prose states: all of it where it parses, else the value it begins or ends with."""
    whole = _trimmed(text, start, end, reading)
    nothing = ReadAnswer(None, reading, why=_NO_STATEMENT)
    if whole is None or whole.text is None or whole.span is None:
        return nothing
    if _DENIAL.match(whole.text) or _FIRM_DENIAL.match(whole.text):
        return ReadAnswer(None, reading, why="the statement denies a value")
    if _is_answer(whole.text) and not (single and _is_list(whole.text)):
        return whole
    begin = whole.span[0]
    formulas = [(a + begin, b + begin) for a, b in _formulas(whole.text)]
    numbers = [match.span() for match in _LAST_NUMBER.finditer(text, begin, whole.span[1])]
    outside = [span for span in numbers if not any(a <= span[0] < b for a, b in formulas)]
    values = sorted([*formulas, *outside])
    if len(values) == 1 and (values[0][0] == begin or not single):
        stop = _with_unit(text, values[0][1], whole.span[1])
        before, after = text[begin : values[0][0]], text[values[0][1] : whole.span[1] + 80]
        kept = not _DENIAL.search(before) and not _BESIDE.search(before) and not is_altered(before, after)
        if kept and not is_taken_back(after):
            return _trimmed(text, values[0][0], stop, reading) or nothing
    copula = None
    for copula in _COPULA.finditer(text, begin, whole.span[1]):
        if any(a <= copula.start() < b for a, b in formulas):
            copula = None  # noqa: PLW2901 - a copula inside a formula is none
            continue
    if not single and copula is not None and not _DENIAL.search(text, begin, whole.span[1]):
        return _value_in(text, copula.end(), whole.span[1], reading, single=True)
    if values and values[0][0] == begin and not single and re.match(r",\s+[a-z]", text[values[0][1] : whole.span[1]]):
        return _trimmed(text, *values[0], reading) or nothing
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


_CONTRACTS = {
    "auto": _auto,
    "boxed": _boxed,
    "gsm8k": _gsm8k,
    "answer_line": _answer_line,
    "tag": _tag,
    "last_number": _last_number,
}
