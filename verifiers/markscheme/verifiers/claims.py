"""Words that take a statement back: what is denied, doubted, supposed, asked or altered states no value."""

from __future__ import annotations

import re

_DENIED = (
    r"(?:wrong|incorrect|false|untrue|mistaken"
    r"|not\s+(?:right|correct|true|valid|possible|what|(?:the|my|our|an?)\s+(?:\w+\s+)?(?:answer|solution|value|result)))\b"
)
_SUPPOSED = re.compile(
    r"(?:\b(?:if|suppose|supposing|assume|assuming|whether|unless|pretend|imagine)(?:\s+that)?"
    r"(?:\s+(?:the|an?|my|our|your))?"
    r"|\b(?:false|untrue|wrong|incorrect|mistake|doubt|doubtful|unlikely|not\s+true|not\s+the\s+case)[\s:]+"
    r"(?:that(?:\s+(?:the|my|our))?|the|my|our)"
    r"|\b(?:the|an?|one|another)\s+(?:\w+\s+)?(?:wrong|incorrect|false|mistaken|naive|tempting))"
    r"\s+(?:(?:final|correct|right)\s+)*$",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"\b(?:doubt(?:s|ful)?|whether|no ?(?:one|body) (?:knows|can)|it is (?:false|untrue|wrong|incorrect))\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"[\s$)\]*.,;:…—–-]*(?:\\[)\]]\s*[.,]?\s*)?(?:\(\s*)?(?:(?:but|wait|hmm|oh|no|actually)[\s,.…!-]+)*"
    rf"(?:(?:(?:which|that|this|it)(?:\s+|(?=['’])))?(?:(?:is|was|are|seems|['’]s)\s+)?{_DENIED}"
    r"|no\b(?!\s*\.?\s*\w)|(?:it|this|that)\s+(?:should|must)\s+(?:actually\s+)?(?:be|have)\b)",
    re.IGNORECASE,
)
_SCALED = re.compile(
    r"[\s$)*\\]*(?:hundred|thousand|million|billion|trillion|dozen|times|squared|cubed|plus|minus|divided|multiplied)\b",
    re.IGNORECASE,
)
_ALTERED = re.compile(
    r"\b(?:half|third|quarter|twice|thrice|double|triple|negative|opposite|reciprocal|inverse|square|cube|root|times"
    r"|minus|sum|product|difference|quotient|complement|logarithm|hardly|but|unknown|unclear|instead|rather|from|or)\b"
    r"|(?:[<>≤≥≠~^/*+−-]|!=)\s*\$*\s*$",
    re.IGNORECASE,
)


def is_supposed(before: str) -> bool:
    """Whether what stands before "the answer is" supposes or denies it: "if the answer is", "a wrong answer is"."""
    return _SUPPOSED.search(before) is not None


def is_doubted(sentence: str) -> bool:
    """Whether a sentence says that its value is doubted: "I doubt that it is 5"."""
    return _DOUBTED.search(sentence) is not None


def is_taken_back(after: str) -> bool:
    """Whether what follows a value denies it at once: "is wrong", "(incorrect)", "... no"."""
    return _TAKEN_BACK.match(after) is not None


def is_altered(before: str, after: str) -> bool:
    """Whether the words beside a value make another of it: "half of 6", "6 thousand", "> 6"."""
    return _ALTERED.search(before) is not None or _SCALED.match(after) is not None
