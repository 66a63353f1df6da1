"""LaTeX commands and named functions: fractions, roots, sums, integrals, matrices."""

from __future__ import annotations

import re
from fractions import Fraction

from markscheme.verifiers.math.arithmetic import make_function, minus, scalar, substitute_imaginary, within_caps
from markscheme.verifiers.math.lexer import END, NotMath, Token
from markscheme.verifiers.math.names import Names
from markscheme.verifiers.math.nodes import ONE, TWO, Const, Dots, Expr, Matrix, Node, Num, Op, Sym
from markscheme.verifiers.math.stream import Calculus
from markscheme.verifiers.math.words import CONSTANTS, FUNCTIONS

_GREEK = frozenset(
    [
        r"\alpha",
        r"\beta",
        r"\gamma",
        r"\delta",
        r"\epsilon",
        r"\zeta",
        r"\eta",
        r"\theta",
        r"\iota",
        r"\kappa",
        r"\lambda",
        r"\mu",
        r"\nu",
        r"\xi",
        r"\rho",
        r"\sigma",
        r"\tau",
        r"\upsilon",
        r"\phi",
        r"\chi",
        r"\psi",
        r"\omega",
        r"\Gamma",
        r"\Delta",
        r"\Theta",
        r"\Lambda",
        r"\Xi",
        r"\Pi",
        r"\Sigma",
        r"\Upsilon",
        r"\Phi",
        r"\Psi",
        r"\Omega",
        r"\hbar",
        r"\ell",
        r"\nabla",
        r"\odot",
        r"\star",
        r"\aleph",
        r"\Re",
        r"\Im",
    ]
)
_DECORATIONS = frozenset(
    [
        r"\overline",
        r"\bar",
        r"\vec",
        r"\hat",
        r"\widehat",
        r"\tilde",
        r"\dot",
        r"\ddot",
        r"\overrightarrow",
        r"\mathcal",
        r"\mathbb",
        r"\underline",
        r"\mathfrak",
    ]
)
_DERIVATIVE = re.compile(r"d(?P<order>\^\d)?d(?:[xytzuvs]|\\theta)(?(order)(?P=order))")
_FUNCTION_COMMANDS = {f"\\{name}": head for name, head in FUNCTIONS.items()} | {r"\arccot": "acot"}
_BIG = {r"\sum": "sum", r"\prod": "prod"}
_ATOM_COMMANDS = (
    frozenset(
        [
            r"\frac",
            r"\sqrt",
            r"\surd",
            r"\cuberoot",
            r"\fourthroot",
            r"\binom",
            r"\pi",
            r"\infty",
            r"\begin",
            r"\int",
            r"\lim",
            r"\lfloor",
            r"\lceil",
            r"\angle",
            r"\triangle",
            r"\|",
        ]
    )
    | _GREEK
    | _DECORATIONS
    | frozenset(_FUNCTION_COMMANDS)
    | frozenset(_BIG)
)


class Functions(Names):
    """Parses what begins with a command or the name of a function."""

    @staticmethod
    def is_atom_command(name: str) -> bool:
        """Whether a command begins an atom."""
        return name in _ATOM_COMMANDS

    def command(self) -> Node:
        """An atom that begins with a LaTeX command."""
        self.deeper()
        node = self.by_command(self.now.text)
        self.depth -= 1
        return node

    def by_command(self, name: str) -> Node:
        """What a command and its arguments make."""
        self.at += 1
        if name == r"\frac":
            return self.fraction()
        if name == r"\sqrt":
            return self.root()
        if name in (r"\surd", r"\cuberoot", r"\fourthroot"):
            degree = {r"\surd": 2, r"\cuberoot": 3, r"\fourthroot": 4}[name]
            return Op("root", (scalar(self.atom()), Num(Fraction(degree))))
        if name == r"\binom":
            return Op("binom", (scalar(self.argument()), scalar(self.argument())))
        if name == r"\pi":
            return Const("pi")
        if name == r"\infty":
            return Const("inf")
        if name == r"\ldots":
            return Dots()
        if name in _FUNCTION_COMMANDS:
            return self.function(_FUNCTION_COMMANDS[name])
        if name in _BIG:
            return self.big(_BIG[name])
        if name == r"\int":
            return self.integral()
        if name == r"\lim":
            raise Calculus("a limit")
        if name == r"\begin":
            return self.environment()
        if name in (r"\lfloor", r"\lceil"):
            self.level += 1
            inner = scalar(self.sum())
            self.level -= 1
            self.expect(name.replace("l", "r", 1))
            return Op("floor" if name == r"\lfloor" else "ceil", (inner,))
        if name == r"\|":
            self.at -= 1
            return self.absolute(r"\|")
        if name in _DECORATIONS:
            return self.decorated(name)
        if name in (r"\angle", r"\triangle"):
            figure = self.power()
            return Sym(name + (figure.name if isinstance(figure, Sym) else str(within_caps(figure))))
        if name in _GREEK:
            return self.applied(name)
        if name in (r"\$", "\\"):
            raise NotMath("a currency sign in the middle")
        raise NotMath(f"unknown command {name}")

    def decorated(self, name: str) -> Node:
        r"""``\overline{AB}``, ``\vec{v}``, ``\hat{i}``: a name of its own. An overline over digits is refused."""
        token = self.now
        if token.kind == "word" and len(token.text) >= 1:
            self.at += 1
            return self.applied(f"{name}{token.text}")
        self.expect("{")
        parts = []
        while self.now is not END and self.now.text != "}":
            if self.now.kind == "num" or self.now.text == "{":
                raise NotMath(f"digits under {name}")
            parts.append(self.now.text)
            self.at += 1
        self.expect("}")
        return self.applied(name + "".join(parts))

    def argument(self) -> Node:
        r"""One argument of a command: a group, or what TeX takes as one token (``\frac12``, ``\frac\pi4``)."""
        token = self.now
        if token.text == "{":
            return self.group()
        if token.kind == "num" and len(token.text) > 1 and token.text.isdigit():
            first, rest = token.text[0], token.text[1:]
            self.tokens[self.at : self.at + 1] = [
                Token("num", first, token.spaced, Fraction(first)),
                Token("num", rest, value=Fraction(int(rest))),
            ]
        if token.kind == "word" and len(token.text) > 1 and token.text not in CONSTANTS:
            self.tokens[self.at : self.at + 1] = [Token("word", token.text[0]), Token("word", token.text[1:])]
        if self.now.kind == "num":
            self.at += 1
            token = self.tokens[self.at - 1]
            return Num(token.value or Fraction(0), token.places)
        self.level += 1
        atom = self.atom()
        self.level -= 1
        return atom

    def fraction(self) -> Node:
        r"""``\frac``; ``\frac{dy}{dx}`` is a name, and ``\frac{d}{dx}`` an operator left to computer algebra."""
        start = self.at
        if self.now.text == "{" and self.ahead().text == r"\partial" and self.ahead(2).text in ("}", "^"):
            raise Calculus("a derivative")
        top = self.argument()
        bottom = self.argument()
        words = "".join(token.text for token in self.tokens[start : self.at] if token.text not in ("{", "}"))
        if _DERIVATIVE.fullmatch(words):
            raise Calculus("a derivative")
        if words in ("dydx", "dxdt", "dydt"):
            return Sym(words)
        if isinstance(top, Matrix) or isinstance(bottom, Matrix):
            raise NotMath("a quotient of matrices")
        return Op("div", (scalar(top), scalar(bottom)))

    def root(self) -> Node:
        r"""``\sqrt[n]{x}``."""
        degree: Expr = TWO
        if self.now.text == "[":
            self.at += 1
            self.level += 1
            degree = scalar(self.sum())
            self.level -= 1
            self.expect("]")
        body = self.bracket() if self.now.text == "(" else self.argument()
        return Op("root", (scalar(body), degree))

    def function(self, head: str) -> Node:
        """A named function with its base, its power and its argument."""
        base: Expr | None = None
        exponent: Expr | None = None
        while self.now.text in ("_", "^") and self.now.kind == "op":
            if self.accept("_"):
                base = scalar(self.argument())
            else:
                self.at += 1
                exponent = self.exponent()
        arguments = self.function_arguments()
        if exponent == Num(Fraction(-1)) and f"a{head}" in FUNCTIONS.values():
            head, exponent = f"a{head}", None
        node = make_function(head, arguments, base)
        return Op("pow", (node, exponent)) if exponent is not None else node

    def function_arguments(self) -> tuple[Node, ...]:
        """In brackets, or the product that follows up to the next sign or function."""
        if self.now.text == "(":
            return self.arguments()
        if self.now.text == r"\{":
            inner = self.bracket()
            return tuple(getattr(inner, "items", (inner,)))
        if self.now.text in ("{", "["):
            inner = self.group() if self.now.text == "{" else self.bracket()
            if self.now.text != "^" and not self.starts_plain_factor():
                return (inner,)
            left: Node = inner
        elif self.accept("-"):
            left = minus(self.power())
        else:
            left = self.power()
        while self.starts_plain_factor() and self.starts_factor(left):
            left = self.juxtaposed(left)
        return (left,)

    def starts_plain_factor(self) -> bool:
        """Whether what follows is a factor that a bracketless argument takes in: no function, no bracket."""
        token = self.now
        if token.kind == "word":
            return token.text not in FUNCTIONS and self.function_prefix(token.text) is None
        if token.kind == "num":
            return False
        return token.text in (r"\pi", r"\frac", r"\sqrt") or token.text in _GREEK or token.text in _DECORATIONS

    def absolute(self, mark: str) -> Node:
        """``| … |``."""
        self.expect(mark)
        self.bars += 1
        self.level += 1
        inner = self.sum()
        self.level -= 1
        self.bars -= 1
        self.expect(mark)
        if isinstance(inner, Matrix):
            return Op("det", (inner,))
        return Op("abs", (inner,))

    def big(self, head: str) -> Node:
        r"""``\sum_{k=0}^{n} body`` and ``\prod``."""
        self.expect("_")
        self.expect("{")
        self.level += 1
        variable = self.applied(self.letter())
        self.expect("=")
        low = scalar(self.sum())
        self.level -= 1
        self.expect("}")
        self.expect("^")
        high = self.exponent()
        self.level += 1
        body = scalar(self.term())
        self.level -= 1
        if not isinstance(variable, Sym):
            raise NotMath("a running index that is not a letter")
        if variable.name == "i":
            body = substitute_imaginary(body)
        return Op(head, (body, variable, low, high))

    def integral(self) -> Node:
        r"""``\int_a^b body dx``; without bounds it is left to computer algebra."""
        if not self.accept("_"):
            raise Calculus("an indefinite integral")
        low = scalar(self.argument())
        self.expect("^")
        high = scalar(self.argument())
        end = self.at
        while end < len(self.tokens) and not (
            self.tokens[end].kind == "word" and len(self.tokens[end].text) >= 2 and self.tokens[end].text[-2] == "d"
        ):
            end += 1
        if end >= len(self.tokens):
            raise Calculus("an integral without its variable")
        last = self.tokens[end].text
        inside = [*self.tokens[self.at : end], *([Token("word", last[:-2])] if len(last) > 2 else [])]
        parser = type(self)(inside)
        parser.level = self.level + 1
        parser.depth = self.depth
        body = scalar(parser.sum()) if inside else ONE
        if parser.now is not END:
            raise NotMath("an integral that does not parse")
        self.at = end + 1
        return Op("int", (body, Sym(last[-1]), low, high))

    def environment(self) -> Node:
        r"""``\begin{pmatrix} … \end{pmatrix}`` and its relatives."""
        self.expect("{")
        name = self.now.text
        if self.now is END:
            raise NotMath("an environment without a name")
        self.at += 1
        if self.accept("*"):
            name += "*"
        self.expect("}")
        if name.rstrip("*") not in (
            "pmatrix",
            "bmatrix",
            "vmatrix",
            "matrix",
            "Bmatrix",
            "smallmatrix",
            "array",
            "Vmatrix",
        ):
            raise NotMath(f"the environment {name}")
        if name == "array" and self.accept("{"):
            while self.now is not END and not self.accept("}"):
                self.at += 1
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        self.level += 1
        bars, self.bars = self.bars, 0
        while not self.accept(r"\end"):
            if self.accept("\\\\"):
                rows, row = [*rows, tuple(row)], []
            elif not self.accept("&"):
                row.append(self.sum())
                if self.now.text not in ("&", "\\\\", r"\end"):
                    raise NotMath(f"expected & or a new row, found {self.now.text!r}")
        self.bars = bars
        self.level -= 1
        rows = [one for one in [*rows, tuple(row)] if one]
        self.expect("{")
        if self.now is END:
            raise NotMath(f"the environment {name} is never closed")
        closed = self.now.text
        self.at += 1
        if self.accept("*"):
            closed += "*"
        self.expect("}")
        if closed != name:
            raise NotMath(f"the environment {name} ended as {closed[:20]}")
        if not rows or len({len(one) for one in rows}) != 1:
            raise NotMath("a matrix whose rows differ in length")
        matrix = Matrix(tuple(rows))
        return Op("det", (matrix,)) if name[0] in "vV" else matrix
