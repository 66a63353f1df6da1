"""Judging one relation between two expressions."""

from __future__ import annotations

from typing import NamedTuple

from markscheme.verifiers.outcomes import Reason
from markscheme.verifiers.steps.agreement import Agreement
from markscheme.verifiers.steps.doubts import (
    another_thing,
    may_be_converted,
    may_be_cut,
    may_be_variable,
    mixed_things,
    runs_on,
)
from markscheme.verifiers.steps.readings import (
    AGREED,
    PLAIN,
    Link,
    agree_otherwise,
    agreement,
    other_readings,
    read_in,
)
from markscheme.verifiers.steps.runs import Item
from markscheme.verifiers.steps.values import NoValue, Value, evaluate, show
from markscheme.verifiers.steps.verdicts import ClaimOutcome


class Finding(NamedTuple):
    """How a link was judged, and why."""

    outcome: ClaimOutcome
    reason: Reason
    detail: str
    left: str = ""
    right: str = ""


def judge(link: Link) -> Finding | None:
    """Judge a link; None where it claims nothing: a definition, a label, a number beside itself."""
    left, right = link.left, link.right
    if left.unknown or right.unknown:
        return None
    if link.relation == "=" and _same(left.items, right.items):
        return None
    try:
        one, other = evaluate(left.items, PLAIN), evaluate(right.items, PLAIN)
    except NoValue as error:
        return Finding(ClaimOutcome.UNDECIDED, Reason.BUDGET, f"not evaluated: {error}")
    shown = show(one), show(other)
    try:
        found = _order(link, one, other) if link.relation not in ("=", "~", "!=") else _equality(link, one, other)
    except OverflowError:
        return Finding(ClaimOutcome.UNDECIDED, Reason.BUDGET, "a value is too large to compare", *shown)
    return None if found is None else found._replace(left=shown[0], right=shown[1])


def _same(one: list[Item], other: list[Item]) -> bool:
    """Whether two sides are the same expression, which claims nothing."""

    def bare(items: list[Item]) -> list[tuple[object, ...]]:
        return [(item.kind, item.value, item.unit, item.text if item.kind != "num" else "") for item in items]

    return bare(one) == bare(other)


def _equality(link: Link, one: Value, other: Value) -> Finding | None:
    found = agreement(link, PLAIN, PLAIN, one, other)
    if link.relation == "!=":
        if found is Agreement.NONE:
            return Finding(ClaimOutcome.RIGHT, Reason.DIFFERENT, "the two values differ")
        doubt = link.left.doubtful or link.right.doubtful or found is not Agreement.EXACT
        return Finding(ClaimOutcome.UNDECIDED if doubt else ClaimOutcome.WRONG, Reason.EQUAL, f"both are {show(one)}")
    if found in AGREED:
        return _right(found)
    if not link.strict:
        for first, second, certain in other_readings(link):
            read = read_in(link, first, second)
            if read in AGREED and certain:
                return _right(read)
            if read in AGREED or (read is Agreement.CUT and second.percent == "number"):
                return _undecided(Reason.UNIT_AMBIGUOUS, "equal only if a unit is meant that is not written")
        if (link.left.others or link.right.others) and agree_otherwise(link):
            return _right(Agreement.EXACT)
    return _unequal(link, found, one, other)


def _right(found: Agreement) -> Finding:
    how = "the same value" if found is Agreement.EXACT else "the same to the digits that are written"
    return Finding(ClaimOutcome.RIGHT, Reason.EQUAL, how)


def _undecided(reason: Reason, detail: str) -> Finding:
    return Finding(ClaimOutcome.UNDECIDED, reason, detail)


def _unequal(link: Link, found: Agreement, one: Value, other: Value) -> Finding | None:
    """What an inequality of both sides means: a wrong claim, or none that can be held against the step."""
    if link.left.bare and link.opens and link.labelled:
        return None  # "after 3 days = 16 - 3"
    detail = f"{show(one)} is not {show(other)}"
    if found is Agreement.CUT and link.relation != "~" and may_be_cut(link, one, other):
        return _undecided(Reason.PRECISION_AMBIGUOUS, f"{detail}, unless it is rounded or cut off")
    if link.strict:
        return Finding(ClaimOutcome.WRONG, Reason.DIFFERENT, detail)
    if link.left.doubtful or link.right.doubtful or link.unsure or may_be_variable(link.left, link.right):
        return _undecided(Reason.BEYOND_KNOWLEDGE, f"{detail}, unless the words beside it mean more")
    if another_thing(link, other) or mixed_things(link):
        return _undecided(Reason.UNIT_AMBIGUOUS, f"{detail}, but the two are different things")
    if runs_on(link, one):
        return _undecided(Reason.BEYOND_KNOWLEDGE, f"{detail}: the sign of equality runs on")
    if link.shown and one.exact is not None and one.exact == -(other.exact or 0):
        return _undecided(Reason.BEYOND_KNOWLEDGE, f"{detail}: the sign is left out")
    if may_be_converted(link, one, other):
        return _undecided(Reason.UNIT_AMBIGUOUS, f"{detail}, unless a conversion of units is meant")
    return Finding(ClaimOutcome.WRONG, Reason.DIFFERENT, detail)


def _order(link: Link, one: Value, other: Value) -> Finding | None:
    if one.exact is None or other.exact is None:
        return None
    holds = {
        "<": one.exact < other.exact,
        ">": one.exact > other.exact,
        "<=": one.exact <= other.exact,
        ">=": one.exact >= other.exact,
    }[link.relation]
    if holds:
        return Finding(ClaimOutcome.RIGHT, Reason.EQUAL, f"{show(one)} {link.relation} {show(other)} holds")
    doubt = link.left.doubtful or link.right.doubtful or (link.left.bare and link.opens and link.labelled)
    if doubt or link.left.noun != link.right.noun:
        return None
    return Finding(ClaimOutcome.WRONG, Reason.DIFFERENT, f"{show(one)} {link.relation} {show(other)} does not hold")
