"""Words that equations in prose have around them and between their numbers."""

from __future__ import annotations

from fractions import Fraction

# Words that end a value's noun phrase: what follows is another statement.
CLAUSE = frozenset(
    "and so then thus is are was were be been being therefore hence because since if but or as"
    " means meaning leaving giving making while when whereas where now given"
    " equals equal gives makes has have had let also".split()
)
# Words that may stand between an operator or "=" and the number that it is about.
LEAD_IN = frozenset(
    "the a an another his her their its our my your only just exactly another additional extra those these other"
    " remaining total of still all each every both some initial original first second third last".split()
)
APPROXIMATE = frozenset("about approximately roughly around nearly almost approx circa".split())
# Before a number, without an operator between: "3 shirts at $20", where the product is meant and not written.
CONNECTIVE = frozenset("of at by with per each times x containing in".split())
# "of" after these names a sum and multiplies nothing: "for a total of 5 * 3".
TOTALS = frozenset("total sum cost amount price balance average number rest remainder score value".split())
# Before a number that only counts what the line is about: "Day 1 - 5 pages".
LABELS = frozenset(
    "day week month year step part grade question problem case option level chapter page exercise equation"
    " figure example".split()
)
SCALES = {
    "hundred": Fraction(100),
    "hundreds": Fraction(100),
    "thousand": Fraction(1000),
    "thousands": Fraction(1000),
    "million": Fraction(10**6),
    "millions": Fraction(10**6),
    "billion": Fraction(10**9),
    "billions": Fraction(10**9),
    "trillion": Fraction(10**12),
    "dozen": Fraction(12),
    "dozens": Fraction(12),
    "pair": Fraction(2),
    "pairs": Fraction(2),
    "halves": Fraction(1, 2),
    "thirds": Fraction(1, 3),
    "quarters": Fraction(1, 4),
    "fourths": Fraction(1, 4),
    "fifths": Fraction(1, 5),
    "sixths": Fraction(1, 6),
    "eighths": Fraction(1, 8),
    "tenths": Fraction(1, 10),
    "k": Fraction(1000),
    "K": Fraction(1000),
    "bn": Fraction(10**9),
}
# "half of 18", "two-thirds of 9".
PARTS = {
    "half": Fraction(1, 2),
    "one-half": Fraction(1, 2),
    "third": Fraction(1, 3),
    "one-third": Fraction(1, 3),
    "two-thirds": Fraction(2, 3),
    "quarter": Fraction(1, 4),
    "fourth": Fraction(1, 4),
    "one-quarter": Fraction(1, 4),
    "one-fourth": Fraction(1, 4),
    "three-quarters": Fraction(3, 4),
    "three-fourths": Fraction(3, 4),
    "one-fifth": Fraction(1, 5),
    "two-fifths": Fraction(2, 5),
    "three-fifths": Fraction(3, 5),
    "four-fifths": Fraction(4, 5),
    "one-sixth": Fraction(1, 6),
    "one-eighth": Fraction(1, 8),
    "one-tenth": Fraction(1, 10),
    "twice": Fraction(2),
    "double": Fraction(2),
    "triple": Fraction(3),
}
# Operators in words.
OPERATORS = {"plus": "+", "minus": "-", "times": "*", "multiplied": "*", "divided": "/"}
# Words after a number that make it no plain value.
FUNCTION_WORDS = frozenset("mod modulo choose base remainder r log ln sin cos tan gcd lcm mod( th st nd rd".split())
ORDINALS = frozenset(("st", "nd", "rd", "th"))
POINTING = LEAD_IN | frozenset("that this each every per next same".split())
CURRENCIES = {"$": "dollar", "\\$": "dollar", "€": "euro", "£": "£", "¥": "yen", "₹": "rupee", "¢": "cent"}
# Units, and the factors to the units beside them, in which a number without a unit may be meant.
CONVERSIONS = {
    **dict.fromkeys(("second", "sec"), (60, 3600)),
    **dict.fromkeys(("minute", "min"), (60,)),
    **dict.fromkeys(("hour", "hr", "h"), (60, 24, 3600)),
    "day": (24,),
    "month": (12,),
    "year": (12,),
    **dict.fromkeys(("$", "dollar", "cent", "penny", "pennie"), (100,)),
    **dict.fromkeys(("inch", "inche", "foot", "feet", "ft"), (12,)),
    **dict.fromkeys(("cm", "centimeter"), (100,)),
    **dict.fromkeys(("m", "meter", "metre"), (100, 1000)),
    **dict.fromkeys(("km", "kilometer", "g", "gram", "kg", "kilogram", "ml", "l", "liter", "litre"), (1000,)),
    **dict.fromkeys(("ounce", "oz", "pound", "lb"), (16,)),
}
# Units without a dimension in the answer grammar that are written right behind a number.
MORE_UNITS = frozenset("mb kb gb tb kwh mwh lbs hrs mins secs pcs pts cal kcal sqft ppl mcg".split())
