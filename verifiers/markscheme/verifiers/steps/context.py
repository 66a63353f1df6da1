"""What the words around an equation make of it: supposed, doubted, refuted, rounded."""

from __future__ import annotations

import re

from markscheme.verifiers.claims import is_doubted, is_supposed, is_taken_back

_ROUNDING = re.compile(
    r"\b(?:round(?:ed|ing)|rounds? (?:to|up|down|off|it|this|that)|approx\w*|nearest|estimat\w*|whole numbers?"
    r"|truncat\w*|decimal places?|integer part)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?](?=\s)|\n")
_SUPPOSED = re.compile(
    r"\b(?:(?:suppose|supposing|assum\w+|incorrect\w*|mistaken\w*|wrongly|erroneous\w*|contradict\w*)\b"
    r"|(?:instead of|rather than|not(?: \w+)?)[\s$]*$)",
    re.IGNORECASE,
)
_REFUTED = re.compile(
    r"[\s$)\]}\\*]*(?:\?|[\s.,;:!—(-]*(?:(?:and|but|so|which|this|that|it|thus|therefore|we (?:have|get|reach))\s+)*"
    r"(?:(?:is|are|was|'s)\s+)?(?:also\s+)?(?:an?\s+)?(?:contradict\w*|impossib\w*|absurd|false|untrue|wrong|incorrect"
    r"|invalid|(?:(?:is|are|was|does|do|did|can)\s?)?(?:n't|not)\s+(?:be|hold|work|equal|match|possible|true|right"
    r"|correct|valid|what|the case|satisf\w*|make sense|consistent|agree)\b))",
    re.IGNORECASE,
)
_BEFORE, _AFTER, _BESIDE = 120, 60, 60  # characters that are looked at


def is_rounded(text: str, start: int, end: int) -> bool:
    """Whether the words beside ``text[start:end]`` say that a value is rounded."""
    return _ROUNDING.search(text, max(start - _BESIDE, 0), end + _BESIDE) is not None


def is_stated(text: str, start: int, end: int, *, wrong: bool) -> bool:
    """Whether the step states ``text[start:end]`` as true: it may suppose it, doubt it, or take it back.

    A claim that is ``wrong`` is not held against a step that says so itself, or that reasons from an assumption.
    """
    before = _SENTENCE.split(text[max(start - _BEFORE, 0) : start])[-1]
    after = text[end : end + _AFTER]
    if is_supposed(before + " ") or is_doubted(before) or is_taken_back(after):
        return False
    return not (wrong and (_SUPPOSED.search(before) or _REFUTED.match(after)))
