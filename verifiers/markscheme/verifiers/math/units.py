"""Units: dimension and exact factor. What is not here is an unknown noun, which says nothing about the value."""

from __future__ import annotations

import re
from fractions import Fraction

Dimension = tuple[tuple[str, int], ...]
F = Fraction

# name -> (dimension, factor to the dimension's base unit). Plurals by "s" and "es" are tried as well.
_BASE: dict[str, tuple[dict[str, int], Fraction]] = {}


def _add(names: str, dimension: dict[str, int], factor: Fraction | int) -> None:
    for name in names.split():
        _BASE[name] = (dimension, F(factor))


_METRIC = {"n": -9, "micro": -6, "m": -3, "c": -2, "d": -1, "": 0, "k": 3}
_LONG = {"nano": -9, "micro": -6, "milli": -3, "centi": -2, "deci": -1, "": 0, "kilo": 3}
for _prefix, _power in _METRIC.items():
    _add(f"{_prefix}m", {"length": 1}, F(10) ** _power)
    if _prefix not in ("n", "d", "c"):
        _add(f"{_prefix}g", {"mass": 1}, F(10) ** (_power - 3))
    if _prefix in ("n", "m", ""):
        _add(f"{_prefix}s", {"time": 1}, F(10) ** _power)
    if _prefix in ("m", "c", "d", ""):
        _add(f"{_prefix}L {_prefix}l", {"length": 3}, F(10) ** (_power - 3))
for _prefix, _power in _LONG.items():
    _add(f"{_prefix}meter {_prefix}metre", {"length": 1}, F(10) ** _power)
    _add(f"{_prefix}gram {_prefix}gramme", {"mass": 1}, F(10) ** (_power - 3))
    _add(f"{_prefix}liter {_prefix}litre", {"length": 3}, F(10) ** (_power - 3))
    _add(f"{_prefix}second", {"time": 1}, F(10) ** _power)
    _add(f"{_prefix}watt", {"mass": 1, "length": 2, "time": -3}, F(10) ** _power)
    _add(f"{_prefix}joule", {"mass": 1, "length": 2, "time": -2}, F(10) ** _power)
    _add(f"{_prefix}newton", {"mass": 1, "length": 1, "time": -2}, F(10) ** _power)
_add("gm gms", {"mass": 1}, F(1, 1000))
_add("inch inches in", {"length": 1}, F(254, 10000))
_add("foot feet ft", {"length": 1}, F(3048, 10000))
_add("yard yd", {"length": 1}, F(9144, 10000))
_add("mile mi", {"length": 1}, F(1609344, 1000))
_add("acre", {"length": 2}, F(40468564224, 10**7))
_add("hectare", {"length": 2}, 10**4)
_add("pound lb", {"mass": 1}, F(45359237, 10**8))
_add("ounce oz", {"mass": 1}, F(45359237, 16 * 10**8))
_add("ton", {"mass": 1}, F(90718474, 10**5))
_add("tonne", {"mass": 1}, 1000)
_add("gallon gal", {"length": 3}, F(3785411784, 10**12))
_add("quart qt", {"length": 3}, F(3785411784, 4 * 10**12))
_add("pint", {"length": 3}, F(3785411784, 8 * 10**12))
_add("sec", {"time": 1}, 1)
_add("minute min", {"time": 1}, 60)
_add("hour hr h", {"time": 1}, 3600)
_add("day", {"time": 1}, 86400)
_add("week wk", {"time": 1}, 7 * 86400)
_add("month", {"month": 1}, 1)
_add("year yr", {"month": 1}, 12)
_add("kmh kph", {"length": 1, "time": -1}, F(1000, 3600))
_add("mph", {"length": 1, "time": -1}, F(1609344, 1000 * 3600))
_add("N", {"mass": 1, "length": 1, "time": -2}, 1)
_add("J", {"mass": 1, "length": 2, "time": -2}, 1)
_add("kJ", {"mass": 1, "length": 2, "time": -2}, 1000)
_add("W", {"mass": 1, "length": 2, "time": -3}, 1)
_add("kW", {"mass": 1, "length": 2, "time": -3}, 1000)
_add("Hz hertz", {"time": -1}, 1)
_add("Pa pascal", {"mass": 1, "length": -1, "time": -2}, 1)
_add("V volt", {"volt": 1}, 1)
_add("A amp ampere", {"ampere": 1}, 1)
_add("ohm", {"volt": 1, "ampere": -1}, 1)
_add("mol mole", {"mole": 1}, 1)
_add("dollar buck usd", {"money": 1}, 100)
_add("cent penny pennies ¢", {"money": 1}, 1)
_add("dime", {"money": 1}, 10)
_add("euro eur €", {"euro": 1}, 1)
_add("rupee rs", {"rupee": 1}, 1)
_add("yuan", {"yuan": 1}, 1)
_add("yen ¥", {"yen": 1}, 1)
_add("£ gbp", {"sterling": 1}, 1)
_add("degree deg", {"degree": 1}, 1)
_add("arcminute", {"degree": 1}, F(1, 60))
_add("arcsecond", {"degree": 1}, F(1, 3600))
_add("celsius", {"celsius": 1}, 1)
_add("fahrenheit", {"fahrenheit": 1}, 1)
_add("radian rad", {"radian": 1}, 1)

# Single letters that mean a unit even beside a bare number, where a space stands between ("25 m^2", "12 s").
SPACED_LETTERS = frozenset("mgshLNJWV")
_WORD = re.compile(r"[A-Za-z€£¥¢]+\.?|\d+|[\^/*·()-]|\S")
_POWER_WORDS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}


def lookup(word: str) -> tuple[dict[str, int], Fraction] | None:
    """The dimension and factor of a unit's name, singular or plural, or None for an unknown noun."""
    word = word.rstrip(".")
    for form in (word, word.casefold() if len(word) > 2 else word):
        for stem in (form, form.removesuffix("s"), form.removesuffix("es")):
            if (len(stem) > 1 or stem == form) and stem in _BASE:
                return _BASE[stem]
    return None


def parse_unit(text: str) -> tuple[Dimension, Fraction] | None:
    """Read a unit: ``cm^2``, ``square inches``, ``miles per hour``, ``m/s^2``. None where a word of it is unknown."""
    dimension: dict[str, int] = {}
    factor = F(1)
    sign, pending, last = 1, 1, None
    words = _WORD.findall(text.replace("**", "^").replace("{", "").replace("}", ""))
    n = 0
    while n < len(words):
        word = words[n].rstrip(".")
        n += 1
        low = word.casefold()
        if low in ("degree", "degrees", "deg") and n < len(words) and words[n].casefold() in ("celsius", "fahrenheit"):
            continue
        if low in ("per", "/"):
            sign, last = -1, None
        elif low in ("*", "·", "(", ")", "of", "a", "an") or (low == "-" and last is not None):
            continue
        elif low in _POWER_WORDS and (low not in ("squared", "cubed")):
            pending = _POWER_WORDS[low]
        elif low in ("squared", "cubed", "^") and last is not None:
            power = _POWER_WORDS.get(low, 0)
            if low == "^":
                minus = n < len(words) and words[n] == "-"
                n += minus
                if n >= len(words) or not words[n].isdigit() or len(words[n]) > 1:
                    return None
                power = int(words[n]) * (-1 if minus else 1)
                n += 1
            for name, one in last[0].items():
                dimension[name] = dimension.get(name, 0) + one * sign * (power - 1)
            factor *= last[1] ** (sign * (power - 1))
        else:
            found = lookup(word)
            if found is None:
                return None
            last = found
            for name, one in found[0].items():
                dimension[name] = dimension.get(name, 0) + one * sign * pending
            factor *= found[1] ** (sign * pending)
            pending = 1
    if last is None:
        return None
    return tuple(sorted((name, power) for name, power in dimension.items() if power)), factor
