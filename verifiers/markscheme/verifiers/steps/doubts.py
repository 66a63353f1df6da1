"""What keeps two unequal values from being a wrong claim: they may be meant otherwise."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from markscheme.verifiers.math.units import parse_unit
from markscheme.verifiers.steps.readings import Link
from markscheme.verifiers.steps.runs import Run
from markscheme.verifiers.steps.values import NoValue, Reading, Value, evaluate
from markscheme.verifiers.steps.vocabulary import CONVERSIONS

_MAP_SCALE = 20  # lengths further apart than this may be those of a map: "1 inch = 20 miles"
_MONEY = (("money", 1),)


def may_be_cut(link: Link, one: Value, other: Value) -> bool:
    """Whether a value less than one unit of its last digit off may be meant: cut off, or what a division leaves."""
    if one.exact is None or other.exact is None:
        return True
    if not (link.right.bare or link.left.bare):
        return False
    number, exact = (other.exact, one.exact) if link.right.bare else (one.exact, other.exact)
    if written_places(link):
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


def runs_on(link: Link, one: Value) -> bool:
    """``7 * 60 = 420 + 23 = 443``: the left side equals the first number of the right, which then goes on."""
    items = link.right.items
    if len(items) < 3 or items[0].kind != "num" or items[1].kind != "op":
        return False
    return one.exact is not None and one.exact == items[0].value


def written_places(link: Link) -> int:
    """The digits after the point of the side that is one number."""
    run = link.right if link.right.bare else link.left
    return max(item.places for item in run.items)


def another_thing(link: Link, value: Value) -> bool:
    """Whether the left side only names a thing of which the right side says something else: ``6 boxes = 72 eggs``."""
    left, right = link.left, link.right
    if left.bare and _all_percent(left) != _all_percent(right) and max(_first(left), _first(right)) > 1:
        return bool(right.noun) or value.exact is None or value.exact >= 1  # 48 = 120%, of something
    share = _is_share(left)
    if not (left.bare or share):
        return False
    one, other = left.noun, right.noun
    if one and other:
        return one != other and not _same_dimension(left, right)
    if one:
        return True
    large = value.exact is None or value.exact >= 1
    return link.opens and (bool(other) or (share and large and not right.bare))


def may_be_variable(left: Run, right: Run) -> bool:
    """Whether a letter behind a number may be a variable: nothing on the other side says that it is a unit."""
    for run, other in ((left, right), (right, left)):
        unit = parse_unit(run.letter) if run.letter else None
        known = {item.unit[0] for item in other.items if item.unit is not None and not other.letter}
        if run.letter and (unit is None or unit[0] not in known):
            return True
    return False


def mixed_things(link: Link) -> bool:
    """Whether different things add up to money: ``3 pencils + 1 eraser = 124 cents`` says what they cost."""
    left, right = link.left, link.right
    money = [any(item.unit is not None and item.unit[0] == _MONEY for item in run.items) for run in (left, right)]
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


def may_be_converted(link: Link, one: Value, other: Value) -> bool:
    """Whether the two values are apart by a factor between units, and only one side has such a unit."""
    units = [next((item.unit for item in run.items if item.unit is not None), None) for run in (link.left, link.right)]
    if (units[0] is None) == (units[1] is None) or not one.exact or not other.exact:
        return False
    ratio = one.exact / other.exact
    factors = CONVERSIONS.get((link.left if units[0] else link.right).noun, ())
    return any(ratio in (factor, Fraction(1, factor)) for factor in factors)
