"""The type of an answer, as a name that a person can check."""

from __future__ import annotations

import re
from enum import StrEnum

from markscheme.verifiers.math.answers import parse_answer
from markscheme.verifiers.math.lexer import NotMath, TooLarge
from markscheme.verifiers.math.limits import LIGHT_BUDGET, OverBudget, budget
from markscheme.verifiers.math.nodes import (
    Based,
    Choice,
    Clock,
    Const,
    Expr,
    FiniteSet,
    Interval,
    Listing,
    Logic,
    Matrix,
    NamedSet,
    Node,
    Num,
    Op,
    Qualified,
    Quantity,
    Ratio,
    Relation,
    SetBuilder,
    SetOp,
    Sym,
    Text,
    Tuple,
    symbols,
)


class AnswerType(StrEnum):
    """The types that stay apart. A label (``x = 5``) does not count: that is a number."""

    NUMBER = "number"
    PERCENT = "percent"
    QUANTITY = "quantity"
    TUPLE = "tuple"
    INTERVAL = "interval"
    UNION = "union"
    SET = "set"
    LIST = "list"
    RATIO = "ratio"
    BASED = "based"
    RELATION = "relation"
    EQUATION = "equation"
    MATRIX = "matrix"
    EXPRESSION = "expression"
    TEXT = "text"
    CHOICE = "choice"
    TIME = "time"


_PLAIN: list[tuple[type, AnswerType]] = [
    (Quantity, AnswerType.QUANTITY),
    (Tuple, AnswerType.TUPLE),
    (Interval, AnswerType.INTERVAL),
    (SetOp, AnswerType.UNION),
    (FiniteSet, AnswerType.SET),
    (NamedSet, AnswerType.SET),
    (SetBuilder, AnswerType.SET),
    (Ratio, AnswerType.RATIO),
    (Based, AnswerType.BASED),
    (Matrix, AnswerType.MATRIX),
    (Text, AnswerType.TEXT),
    (Choice, AnswerType.CHOICE),
    (Clock, AnswerType.TIME),
    (Logic, AnswerType.RELATION),
]


def type_of(node: Node) -> AnswerType:
    """The type of a node."""
    if isinstance(node, Tuple) and len(node.items) == 2 and any(_infinite(item) for item in node.items):
        return AnswerType.INTERVAL
    for kind, name in _PLAIN:
        if isinstance(node, kind):
            return name
    if isinstance(node, Listing):
        return AnswerType.CHOICE if all(isinstance(item, Choice) for item in node.items) else AnswerType.LIST
    if isinstance(node, Qualified):
        return AnswerType.RELATION if not isinstance(node.body, Relation) else type_of(node.body)
    if isinstance(node, Relation):
        return _of_relation(node)
    return _of_expression(node)


def _infinite(node: Node) -> bool:
    return node in (Const("inf"), Op("neg", (Const("inf"),)))


def _of_relation(node: Relation) -> AnswerType:
    from markscheme.verifiers.math.equality import Comparer  # noqa: PLC0415 - for a label's sake only
    from markscheme.verifiers.math.relations import stated  # noqa: PLC0415
    from markscheme.verifiers.policy import Policy  # noqa: PLC0415

    if node.ops == ("in",):
        return type_of(node.terms[1])
    try:
        with budget(LIGHT_BUDGET):
            said = stated(node, Comparer(Policy()))
    except OverBudget as error:
        raise TooLarge("telling its type takes too much work") from error
    if said.value is not None and said.false is None and not (isinstance(said.label, Sym) and symbols(said.value)):
        return type_of(said.value)
    return AnswerType.EQUATION if set(node.ops) <= {"=", "~"} else AnswerType.RELATION


def _of_expression(node: Node) -> AnswerType:
    if not isinstance(node, Expr):
        raise NotMath(type(node).__name__)
    if isinstance(node, Sym) and node.name in "ABCDE":
        return AnswerType.CHOICE
    if isinstance(node, Op) and node.head == "neg" and isinstance(node.args[0], Op):
        return _of_expression(node.args[0])
    if isinstance(node, Op) and node.head == "deg":
        return AnswerType.QUANTITY
    if isinstance(node, Op) and node.head == "percent":
        return AnswerType.PERCENT
    number = isinstance(node, Num | Const) or (not symbols(node) and "app:" not in repr(node))
    return AnswerType.NUMBER if number else AnswerType.EXPRESSION


def answer_type(answer: str) -> AnswerType:
    """The type that a bare answer is read as.

    Raises:
        NotMath: it does not parse. NotMath is a ValueError.
        TooLarge: it is over a cap. TooLarge is a ValueError.
    """
    parsed = parse_answer(answer)
    if parsed.node is None:
        if re.search(r"[^\W\d_]{2,}", parsed.words) and not parsed.calculus:
            return AnswerType.TEXT
        raise NotMath(parsed.why)
    return type_of(parsed.node)
