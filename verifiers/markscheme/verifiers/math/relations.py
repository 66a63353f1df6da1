"""Equality of statements: labels, claims, equations, inequalities."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from markscheme.verifiers.math.comparison import DIFFERENT, EQUAL, UNKNOWN, Comparison
from markscheme.verifiers.math.identity import (
    NEEDED_POINTS,
    compare_at,
    is_real,
    same_expression,
    sample_points,
    strip_places,
)
from markscheme.verifiers.math.lexer import TooLarge
from markscheme.verifiers.math.limits import Heavy, Undefined, Unsupported
from markscheme.verifiers.math.nodes import (
    ONE,
    TWO,
    ZERO,
    Expr,
    Node,
    Num,
    Op,
    Ratio,
    Relation,
    Sym,
    Tuple,
    neg,
    substitute,
    symbols,
)
from markscheme.verifiers.math.renaming import rename_bound_arguments
from markscheme.verifiers.math.residues import PRIME, residue
from markscheme.verifiers.math.sets import FLIPPED
from markscheme.verifiers.outcomes import Reason

Compare = Callable[[Node, Node], Comparison]
_NAMED_FUNCTIONS = frozenset(("sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "abs", "det"))


class Stated(NamedTuple):
    """What a chain of equalities states: ``label = value``. ``false`` tells of a claim that does not hold."""

    label: Node | None
    value: Node | None
    false: Comparison | None = None


def is_label(node: Node) -> bool:
    """Whether a left side names a quantity: ``x``, ``f(x)``, ``|AB|``, ``m+n``, ``AB/CD``, ``(x, y)``, ``sin A``."""
    if isinstance(node, Sym):
        return True
    if isinstance(node, Tuple):
        return all(is_label(item) for item in node.items)
    if isinstance(node, Ratio):
        return all(is_label(term) for term in node.terms)
    if not isinstance(node, Op):
        return False
    if node.head.startswith("app:"):
        return True
    if node.head in _NAMED_FUNCTIONS:
        return isinstance(node.args[0], Sym) or (node.head == "abs" and is_label(node.args[0]))
    if node.head in ("add", "mul", "div"):
        parts = [
            arg.args[0] if isinstance(arg, Op) and arg.head == "neg" and node.head == "add" else arg
            for arg in node.args
        ]
        names = [name for part in parts for name in symbols(part)]
        return all(is_label(part) for part in parts) and (node.head != "add" or len(names) == len(set(names)))
    return False


def names_something(node: object) -> bool:
    """Whether a node has a free symbol or an unknown function: ``f(3)`` names a value as ``x`` does."""
    if isinstance(node, Op):
        return node.head.startswith("app:") or bool(symbols(node)) or any(names_something(arg) for arg in node.args)
    return bool(symbols(node))


def is_sum(node: Node) -> bool:
    """Whether a label is a sum of letters, which as ``x + y = 0`` is an equation and no label."""
    return isinstance(node, Op) and node.head == "add"


def stated(node: Relation, compare: Compare) -> Stated:
    """Read a chain of equalities. ``a ≈ b`` reads as a; a numeric left side is a claim that must hold."""
    if any(op not in ("=", "~") for op in node.ops):
        return Stated(None, None)
    terms = list(node.terms)
    if "~" in node.ops:
        first = node.ops.index("~")
        if first == 0 and is_label(terms[0]):
            if len(terms) > 2:
                terms = terms[:2]
        else:
            terms = terms[: first + 1]
    if len(terms) == 1:
        return Stated(None, terms[0])
    if len(terms) == 2 and not names_something(terms[0]) and is_label(terms[1]) and names_something(terms[1]):
        terms.reverse()
    label: Node | None = None
    if is_label(terms[0]) and names_something(terms[0]) and not symbols(terms[0]) & _free_names(terms[0], terms[1:]):
        label, terms = terms[0], terms[1:]
        if is_sum(label) and terms[-1] == ZERO:
            return Stated(None, None)
    elif any(names_something(term) for term in terms):
        return Stated(None, None)
    for left, right in itertools.pairwise(terms):
        found = compare(left, right)
        if not found.equal:
            reason = found.reason if found.equal is None else Reason.DIFFERENT
            return Stated(label, terms[-1], Comparison(found.equal, reason, "it states an equality that does not hold"))
    return Stated(label, terms[-1])


def _free_names(label: Node, terms: list[Node]) -> frozenset[str]:
    """The symbols of the right sides that a label may not share; a function's arguments are bound."""
    names = symbols(tuple(terms))
    if isinstance(label, Op) and label.head.startswith("app:"):
        return names - symbols(label)
    return names


# Equations ------------------------------------------------------------------------------------------------------


def as_difference(node: Relation) -> Expr | None:
    """``left - right`` of a single equation or inequality between expressions."""
    if len(node.terms) != 2 or not all(isinstance(term, Expr) for term in node.terms):
        return None
    return Op("add", (node.terms[0], neg(node.terms[1])))  # type: ignore[arg-type]


def same_equation(left: Relation, right: Relation) -> Comparison:
    """Equations equal up to a non-zero constant factor; inequalities up to a factor of the right sign."""
    one, two = as_difference(left), as_difference(right)
    if one is None or two is None:
        return Comparison(False, Reason.TYPE_MISMATCH, "statements of different shapes")
    factor = constant_factor(one, two)
    if not isinstance(factor, int):
        return factor
    if factor == 0:
        return Comparison(False, Reason.DIFFERENT, "different statements")
    wanted = left.ops[0] if factor > 0 else FLIPPED.get(left.ops[0], left.ops[0])
    return EQUAL if right.ops[0] == wanted else Comparison(False, Reason.DIFFERENT, "the inequality is turned round")


def constant_factor(one: Expr, two: Expr) -> int | Comparison:
    """The sign of the constant c with ``one = c · two``, 0 where there is none; a Comparison when not decided."""
    names = sorted(symbols(one) | symbols(two))
    if not names:
        return 0  # statements about numbers are compared term by term, never by their truth
    one, two = strip_places(one), strip_places(two)  # type: ignore[assignment]
    by_residue = _proportional_residues(one, two, names)
    if by_residue is False:
        return 0
    wanted = 1 if by_residue else NEEDED_POINTS  # residues have shown the factor; its sign is wanted
    ratios = []
    for point in sample_points(names, 20_261):
        try:
            a, b, _ = compare_at(one, two, point)
        except (Undefined, TooLarge):
            continue
        except Heavy:
            return UNKNOWN
        except Unsupported as unsupported:
            return Comparison(None, Reason.BEYOND_KNOWLEDGE, str(unsupported))
        if not (is_real(a) and is_real(b)) or not a or not b:
            if bool(a) != bool(b):
                return 0
            continue
        ratios.append(a.real / b.real)
        if abs(ratios[-1] - ratios[0]) > abs(ratios[0]) * Fraction(1, 10**25):
            return 0
        if len(ratios) >= wanted:
            break
    if len(ratios) < (wanted + 1) // 2:
        return UNKNOWN
    return 1 if ratios[0] > 0 else -1


def _proportional_residues(one: Expr, two: Expr, names: list[str]) -> bool | None:
    values = []
    for n in (3, 5):
        point = {name: pow(n + k, 12_345_679 + k, PRIME) for k, name in enumerate(names)}
        try:
            values.append((residue(one, point), residue(two, point)))
        except (Unsupported, Undefined, TooLarge):
            return None
    (a, b), (c, d) = values
    return (a * d - b * c) % PRIME == 0


def solves_to(node: Relation, expression: Expr) -> Comparison:
    """Whether an equation, linear in a variable that the expression lacks, solves to the expression."""
    difference = as_difference(node)
    if difference is None or node.ops != ("=",):
        return DIFFERENT
    undecided: Comparison | None = None
    for name in sorted(symbols(difference) - symbols(expression)):
        at_zero, at_one, at_two = (substitute(difference, name, value) for value in (ZERO, ONE, TWO))
        assert isinstance(at_zero, Expr) and isinstance(at_one, Expr) and isinstance(at_two, Expr)  # noqa: S101
        slope = Op("add", (at_one, neg(at_zero)))
        if not same_expression(Op("add", (at_two, neg(at_one))), slope).equal:
            continue
        if same_expression(slope, ZERO).equal is not False:
            continue
        solution = Op("div", (neg(at_zero), slope))
        if name in symbols(solution):
            continue
        found = same_expression(solution, expression)
        if found.equal:
            return Comparison(True, found.reason, f"the equation solved for {name}")
        if found.equal is None:
            undecided = found
    return undecided or Comparison(False, Reason.DIFFERENT, "an equation against a value")


def is_vague_name(node: Node) -> bool:
    """A name that says what is meant (``S_{max}``, ``f(x)``, ``AB``) rather than one of the problem's variables."""
    return not (isinstance(node, Sym) and re.fullmatch(r"[a-zA-Z](?:_\w+)?|\\[a-z]+", node.name))


def same_statement(gold: Relation, given: Relation, compare: Compare) -> Comparison:
    """Compare two relations."""
    one, two = stated(gold, compare), stated(given, compare)
    if two.false:
        return two.false
    if one.false:
        return Comparison(None, Reason.UNREADABLE_GOLD, "the gold answer states an equality that does not hold")
    if gold == given:
        return EQUAL
    if one.value is not None and two.value is not None:
        by_value = _same_stated(one, two, compare)
        if by_value is not None:
            return by_value
    if all(op == "=" for op in (*gold.ops, *given.ops)) and len(gold.ops) == len(given.ops) == 1:
        return same_equation(gold, given)
    return same_chain(gold, given, compare)


def _same_stated(one: Stated, two: Stated, compare: Compare) -> Comparison | None:
    """Labelled values against labelled values; None where they must be compared as equations."""
    assert one.value is not None and two.value is not None  # noqa: S101
    if one.label is None or two.label is None:
        return compare(one.value, two.value)
    label, other = one.label, two.label
    if isinstance(label, Op) and isinstance(other, Op) and isinstance(two.value, Expr):
        renamed = rename_bound_arguments(label, other, two.value)
        if renamed is not None:
            return compare(one.value, renamed)
    if label == other or _same_names(label, other):
        return compare(one.value, two.value)
    if is_vague_name(label) or is_vague_name(other):
        found = compare(one.value, two.value)
        if found.equal and not (symbols(one.value) or symbols(two.value)):
            return found
    return None


def _same_names(label: Node, other: Node) -> bool:
    def plain(node: Node) -> str:
        name = re.sub(r"\\+(max|min)", r"\1", str(node))
        return re.sub(r"[{}\s]|text|\\+(?:vec|overrightarrow)", "", name)

    return plain(label) == plain(other)


def same_chain(gold: Relation, given: Relation, compare: Compare) -> Comparison:
    """Chains of relations, term by term, both ways round; single inequalities up to a positive factor."""
    if len(gold.ops) != len(given.ops):
        return Comparison(False, Reason.DIFFERENT, "statements of different lengths")
    turned = Relation(given.terms[::-1], tuple(FLIPPED.get(op, op) for op in given.ops[::-1]))
    undecided: Comparison | None = None
    for other in (given, turned):
        if other.ops != gold.ops:
            continue
        found = [compare(a, b) for a, b in zip(gold.terms, other.terms, strict=True)]
        if all(one.equal for one in found):
            return EQUAL
        undecided = next((one for one in found if one.equal is None), undecided)
    if len(gold.ops) == 1 and gold.ops[0] in FLIPPED and given.ops[0] in FLIPPED:
        return same_equation(gold, given)
    return undecided or Comparison(False, Reason.DIFFERENT, "different statements")


def statement_against_value(relation: Relation, value: Node, compare: Compare, *, gold_is_value: bool) -> Comparison:
    """A relation against what is none."""
    said = stated(relation, compare)
    if said.false:
        if gold_is_value:
            return said.false
        return Comparison(None, Reason.UNREADABLE_GOLD, "the gold answer states an equality that does not hold")
    found = Comparison(False, Reason.TYPE_MISMATCH, "a statement against a value")
    if said.value is not None:
        found = compare(value, said.value) if gold_is_value else compare(said.value, value)
        if found.equal:
            return found
    if isinstance(value, Expr) and not isinstance(value, Num) and symbols(value):
        solved = solves_to(relation, value)
        if solved.equal or found.equal is False:
            return solved
    return found
