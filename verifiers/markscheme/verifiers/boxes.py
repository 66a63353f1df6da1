r"""Boxes in a completion: ``\boxed{…}`` and ``\fbox{…}``, found in one pass, and when several of them are a list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from markscheme.verifiers.math.notation import strip_blanks

_MARK = re.compile(r"(?P<box>\\+(?:boxed|fbox|framebox)\s*\{|\x08oxed\s*\{)|\\[{}\\]|(?P<brace>[{}])")
_INSTRUCTION = re.compile(
    r"(?:\b(?:within|in|inside|into|using|with|by|a|an|the|format|form|notation|put|as|like)|[`\"'(])[\s$`\"'({]*$",
    re.IGNORECASE,
)
_DELIMITERS = re.compile(r"\$+|\\[()\[\]]|\\(?:q?quad|[,;:!> ])(?![a-zA-Z])|\\(?:text|mbox|mathrm|textbf)\s*\{|[{}*~]")
_NAME = r"(?:\\?[A-Za-z]\w*(?:_\{?\w+\}?)?(?:\([\w, ]*\))?\s*=\s*)"
_JOINT = re.compile(
    rf"(?:[,;+]|(?:,\s*)?\b(?:and|or)\b|,?\s*(?:[a-z]+|\([a-z]\))(?:\s+(?:[a-z]+|\([a-z]\))){{0,4}},?\s+(?:and|or)\b)?(?:\s*{_NAME})?",
)
_CORRECTION = re.compile(
    r"\b(?:then|so|thus|hence|therefore|wait|actually|not|wrong|correct|correcting|but|which|is|are|was|instead|rather|no|finally|now|gives?|get|we)\b"
)
_FOLDED = 8  # boxes whose values are compared
_PERCENT_AFTER = re.compile(r"\s*(?:\$|\\\)|\\\])?\s*(?:\\?%|(?:percent|per cent|pct)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Box:
    """A box: where its command begins, and where its content does and ends."""

    begin: int
    start: int
    end: int


def find_boxes(text: str) -> tuple[tuple[Box, ...], int]:
    """All complete outermost boxes in order, and where the last box that is never closed begins (-1: none)."""
    if "oxed" not in text and "box" not in text:
        return (), -1
    return _scan(text)


@lru_cache(maxsize=4)
def _scan(text: str) -> tuple[tuple[Box, ...], int]:
    stack: list[tuple[int, int]] = []
    boxes: list[Box] = []
    for mark in _MARK.finditer(text):
        if mark["box"]:
            stack.append((mark.start(), mark.end()))
        elif mark["brace"] == "{":
            stack.append((-1, mark.end()))
        elif mark["brace"] == "}" and stack:
            begin, start = stack.pop()
            if begin >= 0:
                while boxes and boxes[-1].begin > begin:
                    boxes.pop()
                boxes.append(Box(begin, start, mark.start()))
    open_boxes = [begin for begin, _ in stack if begin >= 0]
    return tuple(boxes), open_boxes[-1] if open_boxes else -1


def is_instruction(text: str, box: Box) -> bool:
    r"""Whether an empty box quotes the prompt: "put your answer within \boxed{}"."""
    return _INSTRUCTION.search(text[max(0, box.begin - 40) : box.begin]) is not None


def joined(text: str, one: Box, two: Box) -> bool:
    """Whether two neighbouring boxes stand in one list: only a joint, a noun or ``name =`` is between them."""
    between = text[one.end + 1 : two.begin]
    if len(between) > 120 or "\n\n" in between:
        return False
    plain = " ".join(_DELIMITERS.sub(" ", between).split())
    plain = re.sub(r"\\(?:and|or)\b", "", plain)
    if re.fullmatch(r"\++", plain.replace(" ", "")):
        return True
    return _JOINT.fullmatch(plain) is not None and _CORRECTION.search(re.sub(_NAME + "$", "", plain)) is None


def _distinct(contents: list[str]) -> list[str]:
    """Boxes with equal values fold: a list of two forms of one value states that value."""
    if len(contents) == 1 or len(contents) > _FOLDED:
        return contents
    from markscheme.verifiers.math.equality import same_answer  # noqa: PLC0415 - only several boxes need it
    from markscheme.verifiers.math.limits import LIGHT_BUDGET, budget  # noqa: PLC0415

    kept: list[str] = []
    with budget(LIGHT_BUDGET):  # for all pairs together; a pair that is left over does not fold
        for content in contents:
            if not any(same_answer(other, content) for other in kept):
                kept.append(content)
    return kept


def last_answer(text: str) -> tuple[str | None, tuple[int, int] | None, str]:
    """The answer in the last box or the last list of boxes: (answer, place, why there is none)."""
    found, unclosed = find_boxes(text)
    boxes = [box for box in found if text[box.start : box.end].strip() or not is_instruction(text, box)]
    if unclosed >= 0 and (not boxes or unclosed > boxes[-1].begin):
        return None, (unclosed, len(text)), "the last box is cut off"
    if not boxes:
        return None, None, ""
    last = boxes[-1]
    if not text[last.start : last.end].strip():
        return None, (last.begin, last.end + 1), "the last box is empty"
    run = [last]
    for box in reversed(boxes[:-1]):
        if not text[box.start : box.end].strip() or not joined(text, box, run[-1]):
            break
        run.append(box)
    run.reverse()
    contents = [strip_blanks(text[box.start : box.end]) for box in run]
    distinct = _distinct(list(dict.fromkeys(contents)))
    answer = " , ".join(distinct)
    if len(distinct) == 1:
        answer = text[last.start : last.end]
        run = [last]
    percent = _PERCENT_AFTER.match(text, last.end + 1)
    if percent and len(run) == 1 and "%" not in answer:
        answer = answer.rstrip() + r"\%"
    return answer, (run[0].start, last.end), ""
