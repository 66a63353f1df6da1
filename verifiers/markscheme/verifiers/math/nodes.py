"""The types of answers: expressions, and the values that are not expressions.

All nodes are frozen and hashable; a node holds only nodes, exact rationals and strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from markscheme.verifiers.math.limits import spend


class Node:
    """Anything that an answer can be."""

    __slots__ = ()


class Expr(Node):
    """A scalar expression."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Num(Expr):
    """An exact rational. ``places``: digits written after a decimal point, None where none was written."""

    value: Fraction
    places: int | None = None


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """One of ``pi``, ``e``, ``i``, ``inf``."""

    name: str


@dataclass(frozen=True, slots=True)
class Sym(Expr):
    """A variable or a named constant, with its subscript: ``x``, ``C``, ``k_B``."""

    name: str


@dataclass(frozen=True, slots=True)
class Op(Expr):
    """An operator or function applied to arguments; ``evaluate.py`` knows the heads.

    ``app:f`` is an unknown function f. In ``sum``, ``prod`` and ``int`` the arguments are
    (body, variable, lower, upper) and the variable is bound.
    """

    head: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Quantity(Node):
    """A value with a unit: ``factor`` SI units of ``dimension`` a unit (cents, degrees and time count as SI-like)."""

    value: Expr
    unit: str
    dimension: tuple[tuple[str, int], ...]
    factor: Fraction


@dataclass(frozen=True, slots=True)
class Ratio(Node):
    """``3:4:5``. ``written`` keeps the digits, since ``12:00`` may be a time of day."""

    terms: tuple[Expr, ...]
    written: str = ""


@dataclass(frozen=True, slots=True)
class Clock(Node):
    """A time of day: seconds after midnight or noon, with ``half`` = "am", "pm" or "" where not stated."""

    seconds: int
    half: str


@dataclass(frozen=True, slots=True)
class Based(Node):
    """A number with its base written: ``101_2``. ``digits`` in upper case, with its sign and point."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Tuple(Node):
    """An ordered tuple, point or vector: ``(1,2)``, ``[1,2,3]`` ("[]"), angle brackets ("<>")."""

    items: tuple[Node, ...]
    brackets: str = "()"


@dataclass(frozen=True, slots=True)
class Matrix(Node):
    """Rows of entries."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Interval(Node):
    """An interval of reals."""

    low: Expr
    high: Expr
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class FiniteSet(Node):
    r"""``\{1,2\}``: unordered."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Listing(Node):
    """A bare list: ``1, 2 and 3``. Unordered against lists and sets, ordered against tuples."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class NamedSet(Node):
    """``R``, ``Q``, ``Z``, ``N``, ``C`` or ``empty``."""

    name: str


@dataclass(frozen=True, slots=True)
class SetOp(Node):
    """``union``, ``intersection`` or ``difference`` of sets."""

    head: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class SetBuilder(Node):
    """``{ variable | condition }``."""

    variable: Node
    condition: Node


@dataclass(frozen=True, slots=True)
class Relation(Node):
    """A chain ``terms[0] ops[0] terms[1] …``; ops are = < > <= >= != ~ in notin equiv."""

    terms: tuple[Node, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """Relations joined by "and" or "or"."""

    head: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Qualified(Node):
    """A statement under a condition that is part of the answer: ``f(x)=0`` for all ``x>1``."""

    body: Node
    condition: Node


@dataclass(frozen=True, slots=True)
class Text(Node):
    """Words, normalised: case, spacing and final punctuation do not count."""

    words: str


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """A choice letter, with the words or value that follow it, if any."""

    letter: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Dots(Expr):
    """An ellipsis, in a list or a sum. It has no value: answers with one are equal only term by term."""


SETS = FiniteSet | Interval | NamedSet | SetBuilder | SetOp

ZERO = Num(Fraction(0))
ONE = Num(Fraction(1))
TWO = Num(Fraction(2))


def neg(node: Expr) -> Expr:
    """Return ``-node``; a number stays a number."""
    if isinstance(node, Num):
        return Num(-node.value, node.places)
    return Op("neg", (node,))


_BINDERS = ("sum", "prod", "int")
_NO_SYMBOLS: frozenset[str] = frozenset()


def symbols(node: object) -> frozenset[str]:
    """The names of the free symbols in a node; variables bound by sums and integrals left out."""
    if isinstance(node, Num | Const):
        return _NO_SYMBOLS
    if isinstance(node, Sym):
        return frozenset((node.name,))
    if isinstance(node, Op):
        if node.head in _BINDERS and isinstance(node.args[1], Sym):
            return (symbols(node.args[0]) - {node.args[1].name}) | symbols(node.args[2:])
        return symbols(node.args)
    if isinstance(node, tuple):
        spend(0.3 * len(node))
        found: set[str] = set()
        for part in node:
            found |= symbols(part)
        return frozenset(found)
    if isinstance(node, Node):
        return symbols(tuple(getattr(node, name) for name in node.__dataclass_fields__))  # type: ignore[attr-defined]
    return _NO_SYMBOLS


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes that a node directly holds."""
    if isinstance(node, Op):
        return node.args
    if isinstance(node, Num | Sym | Const):
        return ()
    if isinstance(node, Matrix):
        return tuple(entry for row in node.rows for entry in row)
    found: list[Node] = []
    for name in node.__dataclass_fields__:  # type: ignore[attr-defined]
        value = getattr(node, name)
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, tuple):
            found.extend(part for part in value if isinstance(part, Node))
    return tuple(found)


def substitute(node: Node, name: str, value: Node) -> Node:
    """Replace the free symbol ``name`` by ``value``."""
    if isinstance(node, Sym):
        return value if node.name == name else node
    if isinstance(node, Op):
        spend(3)
        bound = node.head in _BINDERS and node.args[1] == Sym(name)
        if bound:
            return Op(node.head, (*node.args[:2], *(substitute(arg, name, value) for arg in node.args[2:])))
        return Op(node.head, tuple(substitute(arg, name, value) for arg in node.args))
    if not isinstance(node, Node) or isinstance(node, Num | Const | Text | Choice | Dots):
        return node

    def inside(part: object) -> object:
        if isinstance(part, Node):
            return substitute(part, name, value)
        return tuple(inside(one) for one in part) if isinstance(part, tuple) else part

    fields = node.__dataclass_fields__  # type: ignore[attr-defined]
    return type(node)(**{field: inside(getattr(node, field)) for field in fields})
