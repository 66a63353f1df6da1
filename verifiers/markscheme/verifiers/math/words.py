"""The vocabulary of answers in words: connectives, synonyms, functions, named sets, numbers."""

from __future__ import annotations

import re

FUNCTIONS = {
    **{name: name for name in "sin cos tan cot sec csc sinh cosh tanh coth sech csch".split()},
    **{f"arc{name}": f"a{name}" for name in "sin cos tan cot sec csc".split()},
    **{f"a{name}": f"a{name}" for name in "sin cos tan cot sec csc sinh cosh tanh".split()},
    **{f"ar{name}": f"a{name}" for name in ("sinh", "cosh", "tanh")},
    "cosec": "csc",
    "tg": "tan",
    "ctg": "cot",
    "arctg": "atan",
    "exp": "exp",
    "log": "log",
    "lg": "lg",
    "ln": "ln",
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "abs": "abs",
    "floor": "floor",
    "ceil": "ceil",
    "ceiling": "ceil",
    "sgn": "sign",
    "sign": "sign",
    "gcd": "gcd",
    "lcm": "lcm",
    "max": "max",
    "min": "min",
    "det": "det",
    "Re": "re",
    "Im": "im",
    "cis": "cis",
    "factorial": "factorial",
    "binomial": "binom",
    "binom": "binom",
    "Gamma": "gamma",
}
CONSTANTS = {"pi": "pi", "Pi": "pi", "infinity": "inf", "inf": "inf", "infty": "inf", "oo": "inf"}
AND_WORDS = frozenset({"and", "et", "und", "as well as"})
OR_WORDS = frozenset({"or", "oder"})

# Words that answer as text where gold is text, and their classes of synonyms: a short, closed table.
_SYNONYMS = {
    "none": (
        "dne",
        "does not exist",
        "do not exist",
        "doesnt exist",
        "none",
        "no solution",
        "no solutions",
        "no real solution",
        "no real solutions",
        "no such",
        "no answer",
        "nonexistent",
        "not exist",
        "there is no solution",
        "there are no solutions",
        "undefined",
        "empty set",
        "the empty set",
    ),
    "yes": ("yes", "y"),
    "no": ("no", "n"),
    "true": ("true", "t"),
    "false": ("false", "f"),
    "reals": (
        "all real numbers",
        "all reals",
        "all real",
        "any real number",
        "every real number",
        "the real numbers",
        "reals",
        "real numbers",
        "all real x",
        "all real values",
        "set of all real numbers",
    ),
    "integers": ("all integers", "the integers", "any integer", "every integer", "set of all integers"),
    "infinity": ("infinitely many", "infinite"),
}
SYNONYMS = {word: name for name, words in _SYNONYMS.items() for word in words if len(word) > 1}

_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen"
).split()
NUMBER_WORDS = {word: n for n, word in enumerate(_NUMBER_WORDS)}
NUMBER_WORDS |= {
    word: 10 * n for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}

# Words that say something about an answer, so that a phrase with one of them is no mere noun to be ignored.
STATEMENT_WORDS = frozenset(
    "not no is are was be or and but if for when than wrong except plus minus times divided of only with"
    " without where each never isn't aren't neither nor least most more less greater fewer between about"
    " approximately roughly to over under both either cannot can't nan dozen half quarter hundred thousand"
    " million billion trillion double twice percent base modulo mod maybe perhaps possibly probably"
    " unless instead".split()
)
# Words that alter what follows, and words of prose: no name of a quantity holds one of them.
_ALTERING = frozenset(
    "not no isn't aren't neither nor never least most more less greater fewer between about half quarter twice double"
    " except wrong without cannot can't maybe perhaps than approximately roughly".split()
)
_PROSE = frozenset(
    "is are was were we i you get gets got have has had so thus hence therefore then since because gives give obtain"
    " obtained find found conclude see know if when that which".split()
)
NO_NAME = _ALTERING | _PROSE
# Phrases that restate the whole domain or only introduce the value: they add nothing and are dropped.
EMPTY_PHRASES = re.compile(
    r"(?:for|where|with|and)?\s*(?:all|any|every|each)\s+(?:real|positive|nonnegative|non-negative|natural|integer|possible)?\s*"
    r"(?:numbers?|values?|integers?)?\s*(?:of)?\s*[a-z]?|(?:where|for|with)?\s*[a-z]?\s*is\s+an?\s+(?:arbitrary\s+|any\s+)?"
    r"(?:real\s+)?(?:integer|constant|real number)(?:\s+of integration)?|only|exactly"
    r"|square units?|units?|sq\.? units?|cubic units?",
    re.IGNORECASE,
)
ORDINALS = frozenset(("st", "nd", "rd", "th"))
_PUNCTUATION = re.compile(r"[\s.,;:!?'\"`*()\[\]{}$_\\~-]+")


def plain_words(text: str) -> str:
    """Fold case, punctuation and spacing; ``"Does not  exist."`` becomes ``"does not exist"``."""
    return _PUNCTUATION.sub(" ", text.replace("'", "").replace("’", "")).strip().casefold()


def canonical_words(text: str) -> str:
    """The class of synonyms of a text, or its plain words; a leading article does not count."""
    words = plain_words(text)
    bare = re.sub(r"^(?:the|an?) (?=\w)", "", words)
    return SYNONYMS.get(words) or SYNONYMS.get(bare) or bare


# Words between a statement and the condition under which it holds.
CONDITION_WORDS = frozenset(
    ("for", "if", "when", "where", "with", "whenever", "provided", "such that", "for all", "for every", "for any")
)
