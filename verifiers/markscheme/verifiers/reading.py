"""Where a completion states its answer: the reading contracts.

Every contract is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Literal

from markscheme.verifiers.boxes import find_boxes, last_answer
from markscheme.verifiers.claims import is_supposed, is_taken_back
from markscheme.verifiers.place import ReadAnswer
from markscheme.verifiers.sentences import NO_STATEMENT, NUMBER, POLITE, last_sentence, sentence_end, trimmed, value_in

Reading = Literal["auto", "boxed", "gsm8k", "answer_line", "tag", "last_number"]
"""Where a completion states its answer: a contract by its name; see `read_answer`."""
READINGS: tuple[Reading, ...] = ("auto", "boxed", "gsm8k", "answer_line", "tag", "last_number")


_END_OF_TURN = re.compile(
    r"<\|(?:im_end|im_start|endoftext|eot_id|end_of_text|end|user|assistant)\|>|</s>|<end_of_turn>"
)
_LEADING_TURN = re.compile(rf"\s*(?:{_END_OF_TURN.pattern})(?:assistant)?")
_MARKER = re.compile(
    r"(?:^|(?<=[\n.!?$)\]}*]))[ \t*_#>]{0,12}(?:the )?final answer[ *_]{0,6}(?::|=|\n|is\b:?)"
    r"|(?:^|(?<=\n))[ \t]*(?:#{1,6}[ \t*]*|\*\*)answer[ *:]{0,4}\n"
    r"|\b(?:answers?|(?:correct|right|best) (?:option|choice)) (?:to (?:the|this) (?:question|problem) )?"
    r"(?:is|are|would be|should be|equals|=|must be|will be)\b[ \t]?:?"
    r"|(?:^|(?<=\n))[ \t*_#>]{0,12}(?:answer|ans|A)[*_]{0,3} ?[:=]",
    re.IGNORECASE,
)
# "A: 18" and nothing more as the last line, which is how GSM8K's fine-tuned models end.
_PLAIN_LAST_LINE = re.compile(r"(?<=\n)(?:A|Answer|answer): ?(-?\d[\d,]*(?:\.\d+)?)\s{0,9}\Z")
_FINAL_LINE = re.compile(
    r"(?:^|(?<=\n))[ \t*_#>]{0,12}(?:the )?(?:final answer|answer)[ *_]{0,6}(?::|is\b:?)", re.IGNORECASE
)


def read_answer(completion: str, reading: Reading = "auto", *, thinking: bool = False) -> ReadAnswer:
    """Find where ``completion`` states its answer.

    Args:
        completion: a model's text. Only what follows ``</think>`` counts; an unclosed think block states no answer.
        reading: the contract. ``auto`` tries, in order: a final line after the last box, the last box, ``<answer>``,
            ``####``, an answer line, the one value of the last sentence, a completion that is only an answer.
        thinking: the prompt's template opened a think block: without ``</think>`` no answer is stated.

    Raises:
        ValueError: for an unknown contract.
        TypeError: for a completion that is no string.
    """
    if not isinstance(completion, str):
        raise TypeError(f"completion must be a string, not {type(completion).__name__}")
    if reading not in READINGS:
        raise ValueError(f"reading must be one of {', '.join(READINGS)}, not {reading!r}")
    offset, end, why = visible_part(completion, thinking=thinking)
    if why:
        return ReadAnswer(None, reading, None, why, cut_off=True)
    text = completion[offset:end]
    found = _CONTRACTS[reading](text)
    if found.span is None or not offset:
        return found
    start, stop = found.span
    return ReadAnswer(found.text, found.reading, (start + offset, stop + offset), found.why, found.cut_off)


def visible_part(completion: str, *, thinking: bool) -> tuple[int, int, str]:
    """Where the part of a completion that counts lies, ``(start, end, "")``, or why none does, ``(0, 0, why)``."""
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
    return trimmed(text, start, len(text) if end < 0 else end, "gsm8k") or ReadAnswer(
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
    return trimmed(text, opening + 8, close, "tag") or ReadAnswer(
        None, "tag", (opening, close), "the answer tag is empty"
    )


def _last_match(pattern: re.Pattern[str], text: str, start: int = 0) -> re.Match[str] | None:
    for size in (100, 1000, len(text)):  # most often it is near the end
        found = deque(pattern.finditer(text, max(start, len(text) - size)), maxlen=1)
        if found:
            return found[0]
    return None


def _last_number(text: str) -> ReadAnswer:
    last = _last_match(NUMBER, text)
    if last is None:
        return ReadAnswer(None, "last_number", why="no number")
    number = last[0].strip().rstrip(",")
    start = last.start() + last[0].index(number)
    return ReadAnswer(number, "last_number", (start, start + len(number)))


def _answer_line(text: str) -> ReadAnswer:
    plain = _PLAIN_LAST_LINE.search(text, max(0, len(text) - 60))
    if plain:
        return ReadAnswer(plain[1], "answer_line", plain.span(1))
    last = _last_match(_MARKER, text)
    if last is None:
        return ReadAnswer(None, "answer_line", why="no answer line")
    if is_supposed(text[max(0, last.start() - 60) : last.start()].rpartition("\n")[2]):
        return ReadAnswer(None, "answer_line", why=NO_STATEMENT)
    found = _statement_after(text, last.end(), "answer_line")
    if found.text is None and last[0].endswith("\n"):
        return ReadAnswer(None, "answer_line", why="prose follows the heading")
    return found


def _statement_after(text: str, start: int, reading: str) -> ReadAnswer:
    """The value that the sentence from ``start`` on states."""
    while start < len(text) and text[start] in " \t\n*_:":
        start += 1
    end = sentence_end(text, start)
    if end < 0 or text[end : end + 1] == "?" or POLITE.match(text[start:end].strip()):
        return ReadAnswer(None, reading, why=NO_STATEMENT)
    return value_in(text, start, end, reading)


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
    if found.text is not None or found.why == NO_STATEMENT:
        return found
    return last_sentence(text)


_CONTRACTS = {
    "auto": _auto,
    "boxed": _boxed,
    "gsm8k": _gsm8k,
    "answer_line": _answer_line,
    "tag": _tag,
    "last_number": _last_number,
}
