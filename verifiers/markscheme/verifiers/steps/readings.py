"""The ways in which the two sides of an equation can be read, and whether they agree in one of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from markscheme.verifiers.steps.agreement import About, Agreement, Written, agree
from markscheme.verifiers.steps.runs import Run
from markscheme.verifiers.steps.values import NoValue, Reading, Value, evaluate

PLAIN = Reading(scales=False)
AGREED = (Agreement.EXACT, Agreement.ROUNDED)


class Link(NamedTuple):
    """A relation with its two expressions and what is known about its place."""

    left: Run
    relation: str
    right: Run
    opens: bool = True  # the left side is the first of its chain
    labelled: bool = False  # … and words stand before it
    about: About = ""  # what the text says of how exact the value is
    strict: bool = False  # inside <<…>>: no words, nothing meant but what is written
    unsure: bool = False  # the relation itself may be read otherwise
    shown: bool = False  # the right side shows a calculator's result


def agreement(link: Link, first: Reading, second: Reading, one: Value, other: Value) -> Agreement:
    """How the two values of a link agree, read in these ways."""
    about: About = (
        "about"
        if link.relation == "~" or any(item.open_ended for item in link.left.items + link.right.items)
        else link.about
    )
    left, right = link.left, link.right
    seen = [item.value for item in (*left.items, *right.items) if item.value is not None]
    if right.bare and other.exact is not None:
        number = Written(right.items, other.exact, second)
        return agree(one, other, number, about=about, shown=link.shown, seen=seen)
    if left.bare and one.exact is not None:
        return agree(other, one, Written(left.items, one.exact, first), about=about, shown=False, seen=seen)
    return agree(one, other, None, about=about, shown=False, seen=seen)


def read_in(link: Link, first: Reading, second: Reading) -> Agreement:
    """How the two sides agree when they are read in these ways; not at all where one has no value then."""
    try:
        one, other = evaluate(link.left.items, first), evaluate(link.right.items, second)
    except NoValue:
        return Agreement.NONE
    return agreement(link, first, second, one, other)


def agree_otherwise(link: Link) -> bool:
    """Whether the two are equal when an expression is taken for what else it may be."""
    lefts, rights = ([run.items, *run.others] for run in (link.left, link.right))
    for one in lefts:
        for other in rights:
            left, right = Run(0, items=one), Run(0, items=other)
            if read_in(link._replace(left=left, right=right), PLAIN, PLAIN) in AGREED:
                return True
    return False


def other_readings(link: Link) -> Iterator[tuple[Reading, Reading, bool]]:
    """The other ways to read both sides, and whether agreement in one of them is enough."""
    left, right = link.left.items, link.right.items
    if any(item.scale is not None for item in left + right):
        for one, other in ((True, True), (True, False), (False, True)):
            yield Reading(scales=one), Reading(scales=other), True
    if any(item.kind == "percent" for item in left + right):
        yield from _percentages(link)
    if all(any(item.unit is not None for item in items) for items in (left, right)):
        yield Reading(units=True), Reading(units=True), True
    if any(item.tight for item in left) and any(item.text == "/" and not item.tight for item in left):
        yield Reading(tight=True), Reading(), True


def _percentages(link: Link) -> Iterator[tuple[Reading, Reading, bool]]:
    left, right = link.left.items, link.right.items
    percent = [any(item.kind == "percent" for item in items) for items in (left, right)]
    if percent[0]:
        yield Reading(percent="relative"), Reading(), True  # 50 + 20% = 60
    if percent == [False, True] and link.right.bare:
        hundred = any(item.value == 100 for item in left)
        sums = not any(item.kind == "fn" or item.text == "/" for item in left)
        if hundred or sums or (link.right.items[0].value or 0) > 1:
            yield Reading(), Reading(percent="number"), hundred or sums  # 0.25 * 100 = 25%
    if percent == [True, False]:
        pairs = list(pairwise(left))
        whole = any(a.value == 100 and b.kind == "percent" for a, b in pairs)
        whole |= any(a.text == "/" and b.value == 100 for a, b in pairs)
        yield Reading(percent="number"), Reading(), whole  # 20% / 100 * 50 = 10
