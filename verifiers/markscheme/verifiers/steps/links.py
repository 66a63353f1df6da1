"""Judging one relation between two expressions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from markscheme.verifiers.math.units import parse_unit
from markscheme.verifiers.outcomes import Reason
from markscheme.verifiers.steps.agreement import About, Agreement, Written, agree
from markscheme.verifiers.steps.runs import Item, Run
from markscheme.verifiers.steps.values import NoValue, Reading, Value, evaluate
from markscheme.verifiers.steps.verdicts import ClaimOutcome
from markscheme.verifiers.steps.vocabulary import CONVERSIONS

PLAIN = Reading(scales=False)
_MAP_SCALE = 20  # lengths further apart than this may be those of a map: "1 inch = 20 miles"
_GOOD = (Agreement.EXACT, Agreement.ROUNDED)


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
    return [(item.kind, item.value, item.text if item.kind != "num" else "") for item in one] == [
        (item.kind, item.value, item.text if item.kind != "num" else "") for item in other
    ] and [item.unit for item in one] == [item.unit for item in other]


# Equality ----------------------------------------------------------------------------------------------------------


def _equality(link: Link, one: Value, other: Value) -> Finding | None:
    found = _agreement(link, PLAIN, PLAIN, one, other)
    if link.relation == "!=":
        if found is Agreement.NONE:
            return Finding(ClaimOutcome.RIGHT, Reason.DIFFERENT, "the two values differ")
        doubt = link.left.doubtful or link.right.doubtful or found is not Agreement.EXACT
        return Finding(ClaimOutcome.UNDECIDED if doubt else ClaimOutcome.WRONG, Reason.EQUAL, f"both are {show(one)}")
    if found in _GOOD:
        return _right(found)
    if not link.strict:
        for first, second, certain in _other_readings(link):
            read = _read(link, first, second)
            if read in _GOOD and certain:
                return _right(read)
            if read is not Agreement.NONE:
                return Finding(
                    ClaimOutcome.UNDECIDED, Reason.UNIT_AMBIGUOUS, "equal only if a unit is meant that is not written"
                )
        if (link.left.others or link.right.others) and _otherwise(link):
            return _right(Agreement.EXACT)
    return _unequal(link, found, one, other)


def _otherwise(link: Link) -> bool:
    """Whether the two are equal when an expression is taken for what else it may be."""
    lefts, rights = ([run.items, *run.others] for run in (link.left, link.right))
    for one in lefts:
        for other in rights:
            left, right = Run(0, items=one), Run(0, items=other)
            if _read(link._replace(left=left, right=right), PLAIN, PLAIN) in _GOOD:
                return True
    return False


def _right(found: Agreement) -> Finding:
    exact = found is Agreement.EXACT
    return Finding(
        ClaimOutcome.RIGHT, Reason.EQUAL, "the same value" if exact else "the same to the digits that are written"
    )


def _unequal(link: Link, found: Agreement, one: Value, other: Value) -> Finding | None:
    """What an inequality of both sides means: a wrong claim, or none that can be held against the step."""
    if link.left.bare and link.opens and link.labelled:
        return None  # "after 3 days = 16 - 3"
    detail = f"{show(one)} is not {show(other)}"
    if found is Agreement.CUT and _may_be_cut(link, one, other):
        return Finding(ClaimOutcome.UNDECIDED, Reason.PRECISION_AMBIGUOUS, f"{detail}, unless it is rounded or cut off")
    if not link.strict:
        if link.left.doubtful or link.right.doubtful or link.unsure or _variable(link.left, link.right):
            return Finding(
                ClaimOutcome.UNDECIDED, Reason.BEYOND_KNOWLEDGE, f"{detail}, unless the words beside it mean more"
            )
        if _another_thing(link) or _mixed_things(link):
            return Finding(ClaimOutcome.UNDECIDED, Reason.UNIT_AMBIGUOUS, f"{detail}, but the two are different things")
        if _runs_on(link, one):
            return Finding(ClaimOutcome.UNDECIDED, Reason.BEYOND_KNOWLEDGE, f"{detail}: the sign of equality runs on")
        if link.shown and one.exact is not None and one.exact == -(other.exact or 0):
            return Finding(ClaimOutcome.UNDECIDED, Reason.BEYOND_KNOWLEDGE, f"{detail}: the sign is left out")
        if _conversion(link, one, other):
            return Finding(
                ClaimOutcome.UNDECIDED, Reason.UNIT_AMBIGUOUS, f"{detail}, unless a conversion of units is meant"
            )
    return Finding(ClaimOutcome.WRONG, Reason.DIFFERENT, detail)


def _may_be_cut(link: Link, one: Value, other: Value) -> bool:
    """Whether a value less than one unit of its last digit off may be meant: cut off, or what a division leaves."""
    if one.exact is None or other.exact is None:
        return True
    number, exact = (other.exact, one.exact) if link.right.bare else (one.exact, other.exact)
    if _places(link):
        return not link.strict and abs(number) <= abs(exact)  # 66.66 for 200/3
    if link.strict:
        return False
    items = link.left.items + link.right.items
    if any(item.text in ("/", r"\frac", r"\sqrt", "%") or item.kind == "const" for item in items):
        return True
    # 2.8284^2 = 8: as near as the digits of what was rounded before allow
    finest = [item for item in items if item.places > 1 and item.value]
    error = sum((Fraction(1, 2 * 10**item.places) / abs(item.value or Fraction(1)) for item in finest), Fraction(0))
    return abs(number - exact) <= 2 * error * abs(exact)


def _runs_on(link: Link, one: Value) -> bool:
    """``7 * 60 = 420 + 23 = 443``: the left side equals the first number of the right, which then goes on."""
    items = link.right.items
    if len(items) < 3 or items[0].kind != "num" or items[1].kind != "op":
        return False
    return one.exact is not None and one.exact == items[0].value


def _places(link: Link) -> int:
    run = link.right if link.right.bare else link.left
    return max(item.places for item in run.items)


def _agreement(link: Link, first: Reading, second: Reading, one: Value, other: Value) -> Agreement:
    about: About = "about" if link.relation == "~" or _open_ended(link) else link.about
    left, right = link.left, link.right
    seen = [item.value for item in (*left.items, *right.items) if item.value is not None]
    if right.bare and other.exact is not None:
        number = Written(right.items, other.exact, second)
        return agree(one, other, number, about=about, shown=link.shown, seen=seen)
    if left.bare and one.exact is not None:
        return agree(other, one, Written(left.items, one.exact, first), about=about, shown=False, seen=seen)
    return agree(one, other, None, about=about, shown=False, seen=seen)


def _open_ended(link: Link) -> bool:
    return any(item.open_ended for item in link.left.items + link.right.items)


def _read(link: Link, first: Reading, second: Reading) -> Agreement:
    try:
        one, other = evaluate(link.left.items, first), evaluate(link.right.items, second)
    except NoValue:
        return Agreement.NONE
    return _agreement(link, first, second, one, other)


def _other_readings(link: Link) -> list[tuple[Reading, Reading, bool]]:
    """The other ways to read both sides, and whether agreement in one of them is enough."""
    found: list[tuple[Reading, Reading, bool]] = []
    left, right = link.left.items, link.right.items
    scaled = [any(item.scale is not None for item in items) for items in (left, right)]
    if any(scaled):
        found += [(Reading(scales=a), Reading(scales=b), True) for a, b in ((True, True), (True, False), (False, True))]
    percent = [any(item.kind == "percent" for item in items) for items in (left, right)]
    if percent[0]:
        found.append((Reading(percent="relative"), Reading(), True))
    if percent[1] and not percent[0] and link.right.bare:
        hundred = any(item.value == 100 for item in left)
        sums = not any(item.kind == "fn" or item.text == "/" for item in left)
        large = (link.right.items[0].value or 0) > 1
        if hundred or sums or large:
            found.append((Reading(), Reading(percent="number"), hundred or sums))
    if percent[0] and not percent[1]:
        pairs = list(pairwise(left))
        whole = any(a.value == 100 and b.kind == "percent" for a, b in pairs) or any(
            a.text == "/" and b.value == 100 for a, b in pairs
        )
        found.append((Reading(percent="number"), Reading(), whole))
    known = [any(item.unit is not None for item in items) for items in (left, right)]
    if all(known):
        found.append((Reading(units=True), Reading(units=True), True))
    if any(item.tight for item in left) and any(item.text == "/" and not item.tight for item in left):
        found.append((Reading(tight=True), Reading(), True))
    return found


# What keeps an unequal pair from being a wrong claim ----------------------------------------------------------------


def _another_thing(link: Link) -> bool:
    """Whether the left side only names a thing of which the right side says something else: ``6 boxes = 72 eggs``."""
    left, right = link.left, link.right
    share = _is_share(left)
    if left.bare and _all_percent(left) != _all_percent(right) and max(_first(left), _first(right)) > 1:
        return True  # 48 = 120%, of something
    if not (left.bare or share):
        return False
    one, other = left.noun, right.noun
    if one and other and one != other:
        return not _same_dimension(left, right)
    if one and other:
        return False
    if one:
        return True
    if any(item.kind == "percent" for item in left.items):
        return True
    return link.opens and (bool(other) or (share and not right.bare))


def _variable(left: Run, right: Run) -> bool:
    """Whether a letter behind a number may be a variable: nothing on the other side says that it is a unit."""
    for run, other in ((left, right), (right, left)):
        unit = parse_unit(run.letter) if run.letter else None
        known = {item.unit[0] for item in other.items if item.unit is not None and not other.letter}
        if run.letter and (unit is None or unit[0] not in known):
            return True
    return False


def _mixed_things(link: Link) -> bool:
    """Whether different things add up to money: ``3 pencils + 1 eraser = 124 cents`` says what they cost."""
    left, right = link.left, link.right
    money = [
        any(item.unit is not None and item.unit[0] == (("money", 1),) for item in run.items) for run in (left, right)
    ]
    sums = all(item.text in "+-" for item in left.items if item.kind == "op")
    return money == [False, True] and sums and len(set(left.nouns) - {""}) > 1


def _all_percent(run: Run) -> bool:
    numbers = [n for n, item in enumerate(run.items) if item.kind == "num"]
    signs = [n for n, item in enumerate(run.items) if item.kind == "percent"]
    return bool(signs) and len(signs) == len(numbers)


def _first(run: Run) -> Fraction:
    return next((item.value for item in run.items if item.value is not None), Fraction(0))


def _is_share(run: Run) -> bool:
    """Whether a side is a plain fraction such as 1/3, which may stand for a share of something."""
    kinds = [item.text if item.kind in ("op", "fn") else item.kind for item in run.items]
    if kinds not in (["num", "/", "num"], [r"\frac", "open", "num", "close", "open", "num", "close"]):
        return False
    top, bottom = [item.value for item in run.items if item.value is not None]
    return top < bottom <= 12 and top.denominator == bottom.denominator == 1 and gcd(int(top), int(bottom)) == 1


def _same_dimension(left: Run, right: Run) -> bool:
    one, other = (next((item.unit for item in run.items if item.unit is not None), None) for run in (left, right))
    if one is None or other is None or one[0] != other[0]:
        return False
    # Days, weeks and months of work are not those of the calendar.
    names = {word.casefold().rstrip("s") for word in left.words + right.words}
    if not names.isdisjoint(("day", "week", "month", "year")):
        return False
    try:
        sizes = [evaluate(run.items, Reading(units=True)).exact for run in (left, right)]
    except NoValue:
        return False
    if not sizes[0] or not sizes[1]:
        return True
    return Fraction(1, _MAP_SCALE) < sizes[0] / sizes[1] < _MAP_SCALE


def _conversion(link: Link, one: Value, other: Value) -> bool:
    """Whether the two values are apart by a factor between units, and only one side has such a unit."""
    units = [next((item.unit for item in run.items if item.unit is not None), None) for run in (link.left, link.right)]
    if (units[0] is None) == (units[1] is None) or not one.exact or not other.exact:
        return False
    ratio = one.exact / other.exact
    factors = CONVERSIONS.get((link.left if units[0] else link.right).noun, ())
    return any(ratio in (factor, Fraction(1, factor)) for factor in factors)


# Order -------------------------------------------------------------------------------------------------------------


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


def show(value: Value) -> str:
    """A value as text, short."""
    if value.exact is None:
        return f"about {value.rough[0]:.10g}" if value.rough else "no value"
    exact = value.exact
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > 160:
        try:
            return f"about {float(exact):.10g}"
        except OverflowError:
            return "a number of many digits"
    if exact.denominator == 1:
        return str(exact.numerator)
    twos = exact.denominator
    for prime in (2, 5):
        while twos % prime == 0:
            twos //= prime
    if twos == 1 and exact.denominator < 10**9:
        return f"{float(exact):.15g}" if abs(exact) < 10**6 else str(exact)
    return str(exact) if exact.denominator < 10**4 else f"about {float(exact):.10g}"
