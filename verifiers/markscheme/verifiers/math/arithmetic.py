"""Arithmetic on nodes as they are parsed: scalars, and the sums and products of matrices and vectors."""

from __future__ import annotations

from fractions import Fraction

from markscheme.verifiers.math.lexer import NotMath, TooLarge
from markscheme.verifiers.math.nodes import TWO, Const, Expr, Matrix, Node, Num, Op, Sym, Tuple, neg, parts

MAX_HEIGHT = 100  # of the tree that is read: every later pass recurses on it
MAX_NODES = 20_000  # of that tree; products of matrices share parts, so that it may be far larger than the text


def within_caps(node: Node) -> Node:
    """The node, unless it is too deep or too large. Without recursion, and in time that the caps bound.

    Raises:
        TooLarge: it is.
    """
    count, waiting = 0, [(node, 1)]
    while waiting:
        one, level = waiting.pop()
        count += 1
        if level > MAX_HEIGHT or count > MAX_NODES:
            raise TooLarge(f"operators nested more than {MAX_HEIGHT} deep, or more than {MAX_NODES} of them")
        waiting.extend((part, level + 1) for part in parts(one))
    return node


def is_numeric(node: Node) -> bool:
    """Whether an expression has no symbols at all."""
    waiting = [node]  # no recursion: a chain such as 1/1/1/… is not yet known to be within the caps
    while waiting:
        one = waiting.pop()
        if isinstance(one, Op):
            waiting.extend(one.args)
        elif not isinstance(one, Num | Const):
            return False
    return True


def scalar(node: Node) -> Expr:
    """The node as an expression. Raises NotMath for a value that arithmetic does not take."""
    if isinstance(node, Expr):
        return node
    raise NotMath(f"arithmetic on a {type(node).__name__.lower()}")


def minus(node: Node) -> Node:
    """``-node`` for scalars, tuples and matrices."""
    if isinstance(node, Matrix):
        return Matrix(tuple(tuple(minus(entry) for entry in row) for row in node.rows))
    if isinstance(node, Tuple) and node.brackets in ("()", "<>"):
        return Tuple(tuple(minus(item) for item in node.items), node.brackets)
    return neg(scalar(node))


def add(left: Node, right: Node) -> Node:
    """``left + right`` for scalars and for matrices of one shape."""
    if isinstance(left, Matrix) and isinstance(right, Matrix):
        if len(left.rows) != len(right.rows) or len(left.rows[0]) != len(right.rows[0]):
            raise NotMath("a sum of matrices of different shapes")
        return Matrix(
            tuple(
                tuple(add(a, b) for a, b in zip(one, other, strict=True))
                for one, other in zip(left.rows, right.rows, strict=True)
            )
        )
    if isinstance(left, Op) and left.head == "add":
        return Op("add", (*left.args, scalar(right)))
    return Op("add", (scalar(left), scalar(right)))


def mul(left: Node, right: Node) -> Node:
    """``left · right`` for scalars, matrices, and a scalar times a matrix or vector."""
    if isinstance(left, Matrix) and isinstance(right, Matrix):
        if len(left.rows[0]) != len(right.rows) or len(left.rows) * len(right.rows[0]) * len(right.rows) > 1000:
            raise NotMath("a product of matrices of these shapes")
        columns = tuple(zip(*right.rows, strict=True))
        product = Matrix(tuple(tuple(_dot(row, column) for column in columns) for row in left.rows))
        within_caps(product)  # at once: a long product would not come to its end
        return product
    if isinstance(right, Matrix):
        return Matrix(tuple(tuple(mul(left, entry) for entry in row) for row in right.rows))
    if isinstance(right, Tuple) and right.brackets in ("()", "<>"):
        return Tuple(tuple(mul(left, item) for item in right.items), right.brackets)
    if isinstance(left, Op) and left.head == "mul":
        return Op("mul", (*left.args, scalar(right)))
    return Op("mul", (scalar(left), scalar(right)))


def _dot(row: tuple[Node, ...], column: tuple[Node, ...]) -> Node:
    total = mul(row[0], column[0])
    for a, b in zip(row[1:], column[1:], strict=True):
        total = add(total, mul(a, b))
    return total


def substitute_imaginary(node: Expr) -> Expr:
    """The body of a sum over i, where i is no imaginary unit."""
    if node == Const("i"):
        return Sym("i")
    if isinstance(node, Op):
        return Op(node.head, tuple(substitute_imaginary(arg) if isinstance(arg, Expr) else arg for arg in node.args))
    return node


def make_function(head: str, arguments: tuple[Node, ...], base: Expr | None) -> Node:
    """The node of a named function. Raises NotMath for a wrong number of arguments."""
    if head == "log" and len(arguments) == 2 and base is None:
        return Op("logb", (arguments[0], arguments[1]))
    if head == "log" and base is not None:
        return Op("logb", (scalar(arguments[0]), base))
    if head in ("gcd", "lcm", "max", "min"):
        return Op(head, arguments)
    if head == "cis" and len(arguments) == 1:
        return Op("exp", (Op("mul", (Const("i"), scalar(arguments[0]))),))
    if head == "binom":
        return Op("binom", arguments) if len(arguments) == 2 else _bad(head)
    if head == "sqrt":
        return Op("root", (scalar(arguments[0]), TWO)) if len(arguments) == 1 else _bad(head)
    if head == "cbrt":
        return Op("root", (scalar(arguments[0]), Num(Fraction(3)))) if len(arguments) == 1 else _bad(head)
    if len(arguments) != 1 or (base is not None):
        return _bad(head)
    return Op(head, arguments)


def _bad(head: str) -> Node:
    raise NotMath(f"{head} with a wrong number of arguments")
