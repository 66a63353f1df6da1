"""Clauses of a step that hold relations, and the sides of those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markscheme.verifiers.steps.tokens import Token

_LINES = frozenset(("\n", r"\\", r"\[", r"\]", "$$"))
_PAIRS = {")": "(", "]": "[", "}": "{"}


class Clause(NamedTuple):
    """``tokens[start:stop]`` without a break in it, and the places of its relations."""

    start: int
    stop: int
    relations: tuple[int, ...]


def match_brackets(tokens: Sequence[Token]) -> list[int]:
    """For each token the index of the bracket that it opens or closes with, or -1."""
    matches = [-1] * len(tokens)
    stack: list[int] = []
    for n, token in enumerate(tokens):
        if token.kind == "open":
            stack.append(n)
        elif token.kind == "close" and stack:
            if tokens[stack[-1]].text == _PAIRS[token.text]:
                matches[stack[-1]] = n
                matches[n] = stack.pop()
            elif token.text == "}":
                while stack and tokens[stack[-1]].text != "{":
                    stack.pop()
                if stack:
                    matches[stack[-1]] = n
                    matches[n] = stack.pop()
        elif token.kind == "break" and token.text == "\n" and len(stack) > 50:
            stack.clear()
    return matches


def with_breaks(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with a break for each bracket that holds a relation, and none for a line's end beside a relation."""
    matches = match_brackets(tokens)
    seen = [0]
    for token in tokens:
        seen.append(seen[-1] + (token.kind == "rel"))
    kept: list[Token] = []
    dropped = _within_equations(tokens)
    for n, token in enumerate(tokens):
        if token.kind in ("open", "close") and matches[n] >= 0:
            low, high = sorted((n, matches[n]))
            if seen[high] > seen[low]:
                kept.append(token._replace(kind="break"))
                continue
        if token.kind == "close" and matches[n] < 0:
            kept.append(token._replace(kind="break"))  # 2) 3 * 4 = 12
            continue
        if n in dropped:
            continue
        kept.append(token)
    return kept


def _within_equations(tokens: Sequence[Token]) -> set[int]:
    """The breaks of lines and displays that stand beside a relation: the equation goes on over them."""
    dropped: set[int] = set()
    start = 0
    for n in range(len(tokens) + 1):
        if n < len(tokens) and tokens[n].kind == "break" and tokens[n].text in _LINES:
            continue
        if start < n and any(one.kind == "rel" for one in (*tokens[max(start - 1, 0) : start], *tokens[n : n + 1])):
            dropped.update(range(start, n))
        start = n + 1
    return dropped


def clauses(tokens: Sequence[Token]) -> list[Clause]:
    """The clauses that hold a relation."""
    found: list[Clause] = []
    start = 0
    relations: list[int] = []
    for n, token in enumerate(tokens):
        if token.kind == "rel":
            relations.append(n)
        elif token.kind == "break":
            if relations:
                found.append(Clause(start, n, tuple(relations)))
                relations = []
            start = n + 1
    if relations:
        found.append(Clause(start, len(tokens), tuple(relations)))
    return found
