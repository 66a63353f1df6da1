"""Checks the arithmetic that a step states: right, wrong, or no claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from markscheme.verifiers.claims import is_doubted, is_supposed, is_taken_back
from markscheme.verifiers.math.limits import budget
from markscheme.verifiers.steps.clauses import Clause, clauses, match_brackets, with_breaks
from markscheme.verifiers.steps.links import Finding, Link, judge
from markscheme.verifiers.steps.nouns import is_share
from markscheme.verifiers.steps.runs import Run
from markscheme.verifiers.steps.sides import SideReader
from markscheme.verifiers.steps.tokens import Token, scan
from markscheme.verifiers.steps.verdicts import ClaimOutcome, StepClaim, StepOutcome, StepVerdict
from markscheme.verifiers.steps.vocabulary import APPROXIMATE, CLAUSE, LEAD_IN

_RELATION = re.compile(
    r"[=≈≃≅≒＝<>≤≥≠]|\\(?:approx|simeq|sim|cong|leq?|geq?|neq?|lt|gt)(?![a-zA-Z])|\bequals?\b"
    r"|\d[)}%\s$]{0,4}\b(?:is|are|gives|makes)\b\s{1,3}\\?[$(\d.]"
)
_ROUNDING = re.compile(
    r"\b(?:round(?:ed|ing)|rounds? (?:to|up|down|off|it|this|that)|approx\w*|nearest|estimat\w*|whole numbers?|truncat\w*"
    r"|decimal places?|integer part)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?](?=\s)|\n")
_SUPPOSED = re.compile(
    r"\b(?:(?:suppose|supposing|assum\w+|incorrect\w*|mistaken\w*|wrongly|erroneous\w*|contradict\w*)\b"
    r"|(?:instead of|rather than|not(?: \w+)?)[\s$]*$)",
    re.IGNORECASE,
)
_REFUTED = re.compile(
    r"[\s$)\]}\\*]*(?:\?|[\s.,;:!—-]*(?:(?:and|but|so|which|this|that|it|thus|therefore|we (?:have|get|reach))\s+)*"
    r"(?:(?:is|are|was|'s)\s+)?(?:also\s+)?(?:an?\s+)?(?:contradict\w*|impossib\w*|absurd|false|untrue|wrong|incorrect"
    r"|invalid|(?:(?:is|are|was|does|do|did|can)\s?)?(?:n't|not)\s+(?:be|hold|work|equal|match|possible|true|right"
    r"|correct|valid|what|the case|satisf\w*|make sense|consistent|agree)\b))",
    re.IGNORECASE,
)
_LEADS = frozenset("that because thus know find see check so".split())
_SHOWN = 200  # characters of a claim that a verdict keeps
_WORK = 300_000  # units of work, about a microsecond each, that one step may take of the answer grammar


class EquationStepVerifier:
    """Checks every arithmetic claim that a step states: ``16 - 3 - 4 = 9``, ``<<16-3-4=9>>``, ``20% of 50 = 10``.

    Claims are found in prose, LaTeX and calculator annotations; chains ``a = b = c`` are claims link by link. Numbers are
    exact. A claim holds when the two sides are equal, or equal to the digits that are written (``100/3 = 33.33``); where
    units, percentages or words allow more than one reading, it holds when it does in one of them, and it is wrong only
    when it is in all. Equations with variables, definitions ("1 box = 12 eggs") and what the step supposes or denies
    claim nothing. Deterministic, linear in the text, thread-safe; needs no gold answer.

    Args:
        max_claims: relations of a step that are looked at; a step with more is judged by these, and says so.

    Raises:
        ValueError: ``max_claims`` below 1.
    """

    def __init__(self, *, max_claims: int = 1000) -> None:
        if max_claims < 1:
            raise ValueError(f"max_claims must be at least 1, not {max_claims}")
        self.max_claims = max_claims

    def verify_step(self, text: str) -> StepVerdict:
        """Judge one step.

        Raises:
            TypeError: a step that is no string.
        """
        if not isinstance(text, str):
            raise TypeError(f"a step must be a string, not {type(text).__name__}")
        if _RELATION.search(text) is None:
            return _NOTHING
        claims: list[StepClaim] = []
        complete = True
        with budget(_WORK):
            try:
                for looked_at, (link, start, end) in enumerate(_links(text)):
                    if looked_at == self.max_claims:
                        complete = False
                        break
                    claim = _claim(text, link, start, end)
                    if claim is not None:
                        claims.append(claim)
            except RecursionError:  # the caps on nesting fit a stack of which the caller has left half
                complete = False
        claims.sort(key=lambda claim: claim.span)
        return StepVerdict(outcome=_outcome(claims), claims=tuple(claims), complete=complete)

    def verify_steps(self, steps: Iterable[str]) -> list[StepVerdict]:
        """Judge steps, in order."""
        return [self.verify_step(step) for step in steps]


_NOTHING = StepVerdict(outcome=StepOutcome.NO_CLAIM)


def _outcome(claims: Sequence[StepClaim]) -> StepOutcome:
    outcomes = {claim.outcome for claim in claims}
    if ClaimOutcome.WRONG in outcomes:
        return StepOutcome.WRONG
    return StepOutcome.RIGHT if ClaimOutcome.RIGHT in outcomes else StepOutcome.NO_CLAIM


def _claim(text: str, link: Link, start: int, end: int) -> StepClaim | None:
    found = judge(link)
    wrong = found is not None and found.outcome is ClaimOutcome.WRONG
    if wrong and not link.strict and not link.about and _ROUNDING.search(text, max(start - 60, 0), end + 60):
        again = judge(link._replace(about="rounded"))
        found = again if again is not None and again.outcome is ClaimOutcome.RIGHT else found
    if found is None or (not link.strict and not _stated(text, start, end, wrong=wrong)):
        return None
    return StepClaim(
        text=text[start:end][:_SHOWN],
        span=(start, end),
        relation=link.relation,
        left=found.left[:_SHOWN],
        right=found.right[:_SHOWN],
        outcome=found.outcome,
        reason=found.reason,
        detail=found.detail[:_SHOWN],
        source="annotation" if link.strict else "prose",
    )


def _stated(text: str, start: int, end: int, *, wrong: bool) -> bool:
    """Whether the step states what it writes: it may suppose it, doubt it, or take it back."""
    before = _SENTENCE.split(text[max(start - 120, 0) : start])[-1]
    after = text[end : end + 60]
    if is_supposed(before + " ") or is_doubted(before) or is_taken_back(after):
        return False
    return not (wrong and (_SUPPOSED.search(before) or _REFUTED.match(after)))


# From text to links -------------------------------------------------------------------------------------------------


def _links(text: str) -> Iterator[tuple[Link, int, int]]:
    """The relations of a step with their expressions and places: those of annotations first."""
    tokens: list[Token] = []
    calculated: set[int] = set()  # where the relations stand whose result an annotation gives
    for token in scan(text):
        if token.kind != "ann":
            tokens.append(token)
            continue
        yield from _annotation(token)
        last = next((one for one in reversed(tokens[-3:]) if one.kind != "cur"), None)
        if last is not None and last.kind == "rel":
            calculated.add(last.start)
        else:
            tokens.append(token._replace(kind="break"))
    tokens = with_breaks(tokens)
    reader = SideReader(tokens, match_brackets(tokens))
    for clause in clauses(tokens):
        yield from _chain(reader, clause, calculated)


def _annotation(token: Token) -> Iterator[tuple[Link, int, int]]:
    """The relations inside ``<<…>>``, where every side must be an expression."""
    inside = scan(token.text[2:-2])
    reader = SideReader(inside, match_brackets(inside))
    for clause in clauses(inside):
        sides = _sides(reader, clause)
        for n, place in enumerate(clause.relations):
            left, right = sides[n][1], sides[n + 1][0]
            if left is not None and right is not None and left.last == place and _fills(sides[n + 1], clause, n):
                at = token.start + 2
                link = Link(left, inside[place].text, right, opens=n == 0, strict=True)
                yield link, at + inside[left.first].start, at + inside[right.last - 1].end


def _fills(side: tuple[Run | None, Run | None], clause: Clause, n: int) -> bool:
    """Whether an expression fills the side after the ``n``-th relation."""
    stop = clause.relations[n + 1] if n + 1 < len(clause.relations) else clause.stop
    return side[0] is not None and side[0].last == stop


def _sides(reader: SideReader, clause: Clause) -> list[tuple[Run | None, Run | None]]:
    """For each side the expression that it begins with and the one that it ends with."""
    bounds = [clause.start - 1, *clause.relations, clause.stop]
    found: list[tuple[Run | None, Run | None]] = []
    for low, high in pairwise(bounds):
        runs = reader.runs(low + 1, high)
        if not runs:
            found.append((None, None))
            continue
        first = runs[0] if _is_lead_in(reader.tokens[low + 1 : runs[0].first]) else None
        last = runs[-1] if runs[-1].last == high and not _names_variable(reader.tokens, runs[-1], high) else None
        found.append((first, last))
    return found


def _names_variable(tokens: Sequence[Token], run: Run, stop: int) -> bool:
    """Whether what stands before the relation is a letter of its own: ``2^8 verifies that x = 4``."""
    token = tokens[stop - 1]
    lone = token.kind == "word" and len(token.text) == 1 and not token.glued
    return stop - 1 > run.first and lone and run.letter != token.text


def _is_lead_in(tokens: Sequence[Token]) -> bool:
    return all(token.kind == "word" and token.text.casefold() in LEAD_IN | APPROXIMATE for token in tokens)


def _chain(reader: SideReader, clause: Clause, calculated: set[int]) -> Iterator[tuple[Link, int, int]]:
    """The links of a clause whose two sides are expressions."""
    tokens = reader.tokens
    sides = _sides(reader, clause)
    for n, place in enumerate(clause.relations):
        left, right = sides[n][1], sides[n + 1][0]
        if left is None or right is None or (tokens[place].weak and (left.bare or is_share(left))):
            continue
        begin = clause.start if n == 0 else clause.relations[n - 1] + 1
        opens = n == 0 or left is not sides[n][0]
        before = tokens[begin : left.first] if opens else ()
        lead = tokens[place + 1 : right.first]
        link = Link(
            left,
            tokens[place].text,
            right,
            opens=opens,
            labelled=any(token.kind == "word" for token in before) or _after_comma(tokens, begin, opens=opens),
            about="about" if any(token.text.casefold() in APPROXIMATE for token in lead) else "",
            unsure=tokens[place].open_ended or (tokens[place].weak and not _says_so(reader, left, begin)),
            shown=tokens[place].start in calculated,
        )
        yield link, tokens[left.first].start, tokens[_end(right, tokens)].end


def _after_comma(tokens: Sequence[Token], begin: int, *, opens: bool) -> bool:
    """Whether a side goes on behind a comma: ``5 hours, 20 minutes = 320 minutes``."""
    return opens and begin > 0 and tokens[begin - 1].text == ","


def _says_so(reader: SideReader, left: Run, begin: int) -> bool:
    """Whether "is" states the value of what stands before it: not of its units digit, remainder or square."""
    before = reader.word(left.first - 1, left.first) if left.first > begin else ""
    return (not before or before in CLAUSE or before in _LEADS) and not any(item.text == "-" for item in left.items)


def _end(run: Run, tokens: Sequence[Token]) -> int:
    """The index of the last token of an expression, its trailing words left out but for the first."""
    end = run.last - 1
    while end > run.first and tokens[end].kind == "word" and tokens[end - 1].kind == "word":
        end -= 1
    return end


__all__ = ["EquationStepVerifier", "Finding"]
