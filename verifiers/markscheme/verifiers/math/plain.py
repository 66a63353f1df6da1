r"""Plain numbers, read in microseconds: ``-12``, ``1,234.5``, ``\frac{3}{4}``, ``3/4``, ``50\%``.

They are most of what models answer. Each gives the node that the grammar gives (a property in the tests); anything else
is left to the grammar.
"""

from __future__ import annotations

import re
from fractions import Fraction

from markscheme.verifiers.math.nodes import Node, Num, Op, neg

_PLAIN = re.compile(
    r"(?P<minus>-?)(?:"
    r"(?P<whole>\d{1,15}|[1-9]\d{0,2}(?:,\d{3}){1,5}|[1-9]\d{0,2}(?:\{,\}\d{3}){1,5})(?:\.(?P<part>\d{1,15}))?"
    r"|\\[dt]?frac\{(?P<top_minus>-?)(?P<top>\d{1,15})\}\{(?P<bottom>\d{1,15})\}"
    r"|(?P<over>\d{1,15})/(?P<under>\d{1,15}))(?P<percent>\\?%)?"
)


def plain_number(text: str) -> Node | None:
    """The node of a plain number, or None for any other text."""
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    minus, whole, part, top_minus, top, bottom, over, under, percent = match.groups()
    node: Num | Op
    if whole is not None:
        digits = whole.replace("{,}", "").replace(",", "")
        scale = 10 ** len(part) if part else 1
        node = Num(Fraction(int(digits + (part or "")), scale), len(part) if part else None)
        if percent:
            node = Op("percent", (node,))
    elif percent:
        return None
    elif top is not None:
        above = Num(Fraction(int(top)))
        node = Op("div", (neg(above) if top_minus else above, Num(Fraction(int(bottom)))))
    else:
        node = Op("div", (Num(Fraction(int(over))), Num(Fraction(int(under)))))
    return neg(node) if minus else node


def plain_value(node: Node) -> Fraction | None:
    """The value of a plain number's node without a percent sign, or None for any other node."""
    if isinstance(node, Num):
        return node.value
    if isinstance(node, Op):
        if node.head == "neg":
            inner = plain_value(node.args[0])
            return None if inner is None else -inner
        if node.head == "div":
            top, bottom = node.args
            if isinstance(top, Num) and isinstance(bottom, Num) and bottom.value:
                return top.value / bottom.value
    return None
