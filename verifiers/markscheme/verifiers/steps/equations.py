"""The relations of a step: from its text to pairs of expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from markscheme.verifiers.steps.clauses import Clause, clauses, match_brackets, with_breaks
from markscheme.verifiers.steps.nouns import is_share
from markscheme.verifiers.steps.readings import Link
from markscheme.verifiers.steps.runs import Run
from markscheme.verifiers.steps.sides import SideReader
from markscheme.verifiers.steps.tokens import Token, scan
from markscheme.verifiers.steps.vocabulary import APPROXIMATE, CLAUSE, LEAD_IN

Side = tuple[Run | None, Run | None]  # the expression that a side begins with, and the one that it ends with
_LEADS = frozenset("that because thus know find see check so".split())


class Equation(NamedTuple):
    """A link and its place: ``[start, end)`` in characters, and where the right value ends without its noun."""

    link: Link
    start: int
    end: int
    value_end: int


def equations(text: str) -> Iterator[Equation]:
    """The relations of a step with an expression on both sides, those of annotations first. Linear in the text."""
    tokens: list[Token] = []
    calculated: set[int] = set()  # where the relations stand whose result an annotation gives
    for token in scan(text):
        if token.kind != "ann":
            tokens.append(token)
            continue
        yield from _annotated(token)
        last = next((one for one in reversed(tokens[-3:]) if one.kind != "cur"), None)
        if last is not None and last.kind == "rel":
            calculated.add(last.start)
        else:
            tokens.append(token._replace(kind="break"))
    tokens = with_breaks(tokens)
    reader = SideReader(tokens, match_brackets(tokens))
    for clause in clauses(tokens):
        yield from _chain(reader, clause, calculated)


def _annotated(token: Token) -> Iterator[Equation]:
    """The relations inside ``<<…>>``, where every side must be an expression and nothing else."""
    inside, at = scan(token.text[2:-2]), token.start + 2
    reader = SideReader(inside, match_brackets(inside))
    for clause in clauses(inside):
        bounds = [clause.start - 1, *clause.relations, clause.stop]
        filled: list[Run | None] = []
        for low, high in pairwise(bounds):
            runs = reader.runs(low + 1, high)
            whole = len(runs) == 1 and (runs[0].first, runs[0].last) == (low + 1, high)
            filled.append(runs[0] if whole else None)
        for n, place in enumerate(clause.relations):
            left, right = filled[n], filled[n + 1]
            if left is not None and right is not None:
                end = at + inside[right.last - 1].end
                link = Link(left, inside[place].text, right, opens=n == 0, strict=True)
                yield Equation(link, at + inside[left.first].start, end, end)


def _sides(reader: SideReader, clause: Clause) -> list[Side]:
    """The sides of a clause."""
    found: list[Side] = []
    for low, high in pairwise([clause.start - 1, *clause.relations, clause.stop]):
        runs = reader.runs(low + 1, high)
        if not runs:
            found.append((None, None))
            continue
        lead = reader.tokens[low + 1 : runs[0].first]
        named = any(token.kind != "word" or token.text.casefold() not in LEAD_IN | APPROXIMATE for token in lead)
        last = runs[-1] if runs[-1].last == high and not _names_variable(reader, runs[-1], high) else None
        found.append((None if named else runs[0], last))
    return found


def _names_variable(reader: SideReader, run: Run, stop: int) -> bool:
    """Whether what stands before the relation is a letter of its own: ``2^8 verifies that x = 4``."""
    token = reader.tokens[stop - 1]
    lone = token.kind == "word" and len(token.text) == 1 and not token.glued
    return stop - 1 > run.first and lone and run.letter != token.text


def _chain(reader: SideReader, clause: Clause, calculated: set[int]) -> Iterator[Equation]:
    """The links of a clause whose two sides are expressions."""
    tokens = reader.tokens
    sides = _sides(reader, clause)
    for n, place in enumerate(clause.relations):
        left, right, sign = sides[n][1], sides[n + 1][0], tokens[place]
        if left is None or right is None or (sign.weak and (left.bare or is_share(left))):
            continue
        begin = clause.start if n == 0 else clause.relations[n - 1] + 1
        opens = n == 0 or left is not sides[n][0]
        words = opens and any(token.kind == "word" for token in tokens[begin : left.first])
        lead = tokens[place + 1 : right.first]
        link = Link(
            left,
            sign.text,
            right,
            opens=opens,
            labelled=words or (opens and begin > 0 and tokens[begin - 1].text == ","),
            about="about" if any(token.text.casefold() in APPROXIMATE for token in lead) else "",
            unsure=sign.open_ended or (sign.weak and not _says_so(reader, left, begin)),
            shown=sign.start in calculated,
        )
        yield Equation(
            link, tokens[left.first].start, tokens[_shown_end(right, tokens)].end, tokens[right.core - 1].end
        )


def _says_so(reader: SideReader, left: Run, begin: int) -> bool:
    """Whether "is" states the value of what stands before it: not of its units digit, remainder or square."""
    before = reader.word(left.first - 1, left.first) if left.first > begin else ""
    return (not before or before in CLAUSE or before in _LEADS) and not any(item.text == "-" for item in left.items)


def _shown_end(run: Run, tokens: Sequence[Token]) -> int:
    """The index of the last token of an expression to show, with one word of its noun."""
    end = run.last - 1
    while end > run.core and tokens[end].kind == "word" and tokens[end - 1].kind == "word":
        end -= 1
    return end
