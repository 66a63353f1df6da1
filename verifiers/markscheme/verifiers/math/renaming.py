"""Names that may differ: constants of integration and the integer parameters of a family of solutions.

x, y and z are never renamed, nor is any other letter that stands for something given.
"""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

from markscheme.verifiers.math.comparison import Comparison
from markscheme.verifiers.math.identity import same_expression
from markscheme.verifiers.math.nodes import Const, Expr, Num, Op, Sym, substitute, symbols

_CONSTANT = re.compile(r"[A-DKc](?:_\d)?|c|k_\d")
_PARAMETER = re.compile(r"[klmnpN]")


def same_up_to_names(left: Expr, right: Expr, otherwise: Comparison) -> Comparison:
    """Try the renamings that are allowed; ``otherwise`` is the verdict where none makes the two equal."""
    mine, yours = sorted(symbols(left) - symbols(right)), sorted(symbols(right) - symbols(left))
    if not mine or len(mine) != len(yours) or len(mine) > 3:
        return otherwise
    constants = all(_CONSTANT.fullmatch(name) for name in (*mine, *yours)) and any(
        re.fullmatch(r"[Cc](_\d)?", name) for name in (*mine, *yours)
    )
    constants = constants and bool(symbols(left) & symbols(right) or len(mine) > 1)
    family = len(mine) == 1 and is_family_parameter(left, mine[0]) and is_family_parameter(right, yours[0])
    if not (constants or family):
        return otherwise
    for order in itertools.permutations(mine):
        renamed: Expr = right
        for old, new in zip(yours, order, strict=True):
            renamed = substitute(renamed, old, Sym(f"{new}\x00"))  # type: ignore[assignment]
        for new in order:
            renamed = substitute(renamed, f"{new}\x00", Sym(new))  # type: ignore[assignment]
        found = same_expression(left, renamed)
        if found.equal:
            return found
    return otherwise


def is_family_parameter(node: Expr, name: str) -> bool:
    """Whether an integer parameter only adds multiples of π: ``π/6 + 2kπ``."""
    if not _PARAMETER.fullmatch(name):
        return False
    one, two, three = (substitute(node, name, Num(Fraction(n))) for n in (1, 2, 3))
    first, second = Op("add", (two, Op("neg", (one,)))), Op("add", (three, Op("neg", (two,))))
    if not same_expression(first, second).equal:
        return False
    for share in (1, 2, Fraction(1, 2), 4, Fraction(2, 3), Fraction(1, 3), Fraction(1, 4)):
        for sign in (1, -1):
            if same_expression(first, Op("mul", (Num(Fraction(share * sign)), Const("pi")))).equal:
                return True
    return False


def rename_bound_arguments(left: Op, right: Op, body: Expr) -> Expr | None:
    """``f(z) = z`` against ``f(x) = …``: the body with right's arguments named as left's, or None.

    Where the body holds one of left's arguments free, it is another function: what is returned equals no other body.
    """
    if left.head != right.head or len(left.args) != len(right.args):
        return None
    if symbols(left) & (symbols(body) - symbols(right)):  # f(y) = x + 1 is no f(x) = x + 1
        return Op("app:", (right, body))
    for new, old in zip(left.args, right.args, strict=True):
        if isinstance(new, Sym) and isinstance(old, Sym):
            body = substitute(body, old.name, Sym(f"{new.name}\x00"))  # type: ignore[assignment]
        elif new != old:
            return None
    for new in left.args:
        if isinstance(new, Sym):
            body = substitute(body, f"{new.name}\x00", new)  # type: ignore[assignment]
    return body
