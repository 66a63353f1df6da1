r"""The expression half of the grammar: sums, products, powers, functions, LaTeX and code notation alike.

Recursive descent over the lexer's tokens. ``level`` is 0 at the top of an answer, where a unit or a word may
follow a value, and greater inside brackets and groups. Nesting is capped.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from markscheme.verifiers.math.lexer import END, NotMath, Token, TooLarge
from markscheme.verifiers.math.nodes import (
    ONE,
    SETS,
    TWO,
    Const,
    Dots,
    Expr,
    Matrix,
    Node,
    Num,
    Op,
    SetOp,
    Sym,
    Tuple,
    neg,
)
from markscheme.verifiers.math.units import SPACED_LETTERS, lookup
from markscheme.verifiers.math.words import AND_WORDS, CONSTANTS, FUNCTIONS, OR_WORDS, ORDINALS

MAX_DEPTH = 60
_GREEK = frozenset(
    r"\alpha \beta \gamma \delta \epsilon \zeta \eta \theta \iota \kappa \lambda \mu \nu \xi \rho \sigma \tau \upsilon \phi \chi \psi"
    r" \omega \Gamma \Delta \Theta \Lambda \Xi \Pi \Sigma \Upsilon \Phi \Psi \Omega \hbar \ell \nabla \odot \star \aleph \Re \Im".split()
)
_DECORATIONS = frozenset(r"\overline \bar \vec \hat \widehat \tilde \dot \ddot \overrightarrow \mathcal \mathbb \underline \mathfrak".split())
_FUNCTION_COMMANDS = {f"\\{name}": head for name, head in FUNCTIONS.items()} | {r"\arccot": "acot"}
_FUNCTION_LETTERS = frozenset("fghFGH") | {r"\phi", r"\Phi", r"\psi"}
_NOT_PRODUCTS = AND_WORDS | OR_WORDS | frozenset(
    "if is are the per in to of at on by for as so be no yes not odd pct sq all any one two six ten am pm you we it its an has"
    " was cat dog red sun mon tue wed thu fri sat top men boy nor via old new few day mod dne nan".split()
)  # fmt: skip
_VOWELS = frozenset("aeiou")
_CLOSERS = {"(": ")", "[": "]", r"\{": r"\}", r"\langle": r"\rangle"}
_INDEX_LETTERS = frozenset("ijklmnpqrst")
_BIG = {r"\sum": "sum", r"\prod": "prod"}


class Calculus(NotMath):
    """A limit or derivative: the grammar knows what it is and leaves it to computer algebra."""


def is_product_word(word: str) -> bool:
    """Whether a bare run of letters may be a product of variables rather than a word."""
    low = word.lower()
    if low in _NOT_PRODUCTS or len(word) > 3 or (len(word) == 3 and word.istitle()):
        return False
    if len(word) == 3 and word.islower():
        first, middle, last = (char in _VOWELS for char in word)
        return not (middle and not first and not last)
    return True


def is_numeric(node: Node) -> bool:
    """Whether an expression has no symbols at all."""
    if isinstance(node, Op):
        return all(is_numeric(arg) for arg in node.args)
    return isinstance(node, Num | Const)


class ExpressionParser:
    """Parses expressions; ``grammar.AnswerParser`` adds what only a whole answer can hold."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.level = 0
        self.depth = 0
        self.bars = 0

    # Tokens -----------------------------------------------------------------------------------------------------

    @property
    def now(self) -> Token:
        """The token to be read next."""
        return self.tokens[self.at] if self.at < len(self.tokens) else END

    def ahead(self, count: int = 1) -> Token:
        """The token ``count`` places on."""
        return self.tokens[self.at + count] if self.at + count < len(self.tokens) else END

    def accept(self, *texts: str) -> str | None:
        """Read the next token if it is one of these operators or commands."""
        token = self.now
        if token.kind in ("op", "cmd") and token.text in texts:
            self.at += 1
            return token.text
        return None

    def expect(self, text: str) -> None:
        """Read this operator or command, or fail."""
        if not self.accept(text):
            raise NotMath(f"expected {text!r}, found {self.now.text!r}")

    def deeper(self) -> None:
        """Count a level of nesting, against the cap."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLarge(f"nested more than {MAX_DEPTH} deep")

    # Sums, products, powers -------------------------------------------------------------------------------------

    def sum(self) -> Node:
        """``term ± term ± …``."""
        self.deeper()
        left = self.term()
        while True:
            if op := self.accept("+", "-"):
                right = self.term()
                if op == "-" and isinstance(left, SETS):
                    left = SetOp("difference", (left, right))
                else:
                    left = add(left, right if op == "+" else minus(right))
            elif op := self.accept(r"\pm", r"\mp"):
                left = Op(op[1:], (scalar(left), scalar(self.term())))
            else:
                break
        self.depth -= 1
        return left

    def term(self) -> Node:
        """A product, with its sign."""
        sign = self.accept("+", "-", r"\pm", r"\mp")
        if sign:
            self.deeper()
            inner = self.term()
            self.depth -= 1
            if sign == "+":
                return inner
            return minus(inner) if sign == "-" else Op(sign[1:], (scalar(inner),))
        left = self.power()
        while True:
            if self.accept("*", r"\cdot", r"\times"):
                left = mul(left, self.signed_power())
            elif self.accept("/", r"\div") or (self.level and not self.bars and self.accept(":")):
                left = Op("div", (scalar(left), scalar(self.signed_power())))
            elif self.accept(r"\mod"):
                if self.level == 0 and self.now.text == "{":
                    self.at -= 1
                    return left
                left = Op("mod", (scalar(left), scalar(self.power())))
            elif self.starts_factor(left):
                left = self.juxtaposed(left)
            else:
                return left

    def signed_power(self) -> Node:
        """A factor after an explicit operator, where a sign may stand: ``2 * -3``."""
        if self.accept("-"):
            return minus(self.signed_power_once())
        self.accept("+")
        return self.power()

    def signed_power_once(self) -> Node:
        """The factor after that sign."""
        return self.power()

    def juxtaposed(self, left: Node) -> Node:
        """The next factor, multiplied without a sign, or the fraction of a mixed number."""
        before = self.at
        right = self.power()
        whole = isinstance(left, Num) and left.places is None and left.value.denominator == 1
        if whole and isinstance(right, Op) and right.head in ("percent", "deg"):  # 33\frac13\%
            inner = right.args[0]
            mixed = self.mixed(left, inner, before)
            return Op(right.head, (mixed,)) if mixed else mul(left, right)
        return (whole and self.mixed(left, right, before)) or mul(left, right)

    def mixed(self, left: Node, right: Node, before: int) -> Expr | None:
        """The mixed number of a whole number and the proper fraction that follows it, or None."""
        if isinstance(right, Op) and right.head == "div":
            top, bottom = right.args
            if (
                isinstance(top, Num)
                and isinstance(bottom, Num)
                and 0 < top.value < bottom.value
                and self.tokens[before].text == r"\frac"
                and self.tokens[before - 1].kind == "num"
            ):
                return Op("add", (left, right))
        return None

    def starts_factor(self, left: Node) -> bool:
        """Whether the next token begins a factor of the running product."""
        token = self.now
        if token.kind == "num":
            # Only the "1/2" of "16 1/2" may follow a number; a number may follow a closed group, as in "2^{n}3".
            return not isinstance(left, Num) and self.tokens[self.at - 1].text in ("}", ")", "]") and not token.spaced
        if token.kind == "word":
            return self.word_is_factor(token, left)
        if token.kind == "text":
            return self.level > 0 and token.text in FUNCTIONS
        if token.text == "|":
            return self.bars == 0 and self.bar_opens()
        return token.text in ("(", "[", "{", r"\langle") or (token.kind == "cmd" and self.is_atom_command(token.text))

    def bar_opens(self) -> bool:
        """Whether a bar here begins an absolute value: another bar follows."""
        return any(token.text == "|" for token in self.tokens[self.at + 1 : self.at + 60])

    def word_is_factor(self, token: Token, left: Node) -> bool:
        """Whether a word goes on with the product; a unit or a noun after a number does not."""
        word = token.text
        if self.level == 0 and token.spaced and word in SPACED_LETTERS and is_numeric(left) and self.ends_as_unit():
            return False
        if len(word) == 1 or word in FUNCTIONS or word in CONSTANTS:
            return True
        if self.level == 0:
            if is_numeric(left) and lookup(word):
                return False
            return is_product_word(word) or self.function_prefix(word) is not None
        return len(word) <= 4

    def ends_as_unit(self) -> bool:
        """Whether a lone letter and its power are the last of the element: ``25 m^2``, and not ``3 m + 2``."""
        n = 1
        if self.ahead(n).text == "^":
            n += 4 if self.ahead(n + 1).text == "{" else 2
        if self.ahead(n).text == "/" and self.ahead(n + 1).text in SPACED_LETTERS:
            n += 2
            n += 2 if self.ahead(n).text == "^" else 0
        if self.ahead(n).text == "=":  # 1 h = 60 min
            return any(token.kind in ("word", "text") and lookup(token.text) for token in self.tokens[self.at + n :])
        return self.ahead(n) is END or self.ahead(n).text in (",", ";", "and", "or")

    @staticmethod
    def is_atom_command(name: str) -> bool:
        """Whether a command begins an atom."""
        return (
            name in _GREEK
            or name in _FUNCTION_COMMANDS
            or name in _DECORATIONS
            or name in _BIG
            or name in (r"\frac", r"\sqrt", r"\surd", r"\cuberoot", r"\fourthroot", r"\binom", r"\pi", r"\infty", r"\begin", r"\int", r"\lim",
                        r"\lfloor", r"\lceil", r"\angle", r"\triangle", r"\|")
        )  # fmt: skip

    def power(self) -> Node:
        """``base ^ exponent`` with postfix signs; right-associative."""
        self.deeper()
        base = self.postfix(self.atom())
        while self.now.text in ("^", "**") and self.now.kind == "op":
            self.at += 1
            if self.now.text == "{" and self.ahead().text in (r"\circ", r"\degree") and self.ahead(2).text == "}":
                self.at += 3
                base = self.degrees(base)
            elif self.accept(r"\circ", r"\degree"):
                base = self.degrees(base)
            elif self.ordinal():
                pass
            elif self.prime_group():
                base = Sym(f"{base.name}'") if isinstance(base, Sym) else Op("app:'", (base,))
            else:
                base = self.raised(base)
            base = self.postfix(base)
        self.depth -= 1
        return base

    def raised(self, base: Node) -> Node:
        """The power whose exponent comes next; ``f^{-1}(x)`` is the inverse function applied."""
        exponent = self.exponent()
        if self.now.text == "_" and isinstance(base, Sym) and "_" not in base.name:  # v^2_0
            base = self.applied(base.name)
        if isinstance(base, Sym) and base.name in _FUNCTION_LETTERS and exponent == Num(Fraction(-1)) and self.now.text == "(":
            return Op(f"app:{base.name}^-1", self.arguments())
        if isinstance(base, Matrix | Tuple):
            raise NotMath("a power of a matrix or tuple")
        return Op("pow", (scalar(base), exponent))

    def exponent(self) -> Expr:
        """What stands after ``^``: a group, or one signed atom with its own exponent."""
        if self.accept("-"):
            return neg(self.exponent())
        self.accept("+")
        if self.now.text == "{":
            return scalar(self.group())
        atom = self.postfix(self.atom())
        if self.accept("^", "**"):
            self.deeper()
            atom = Op("pow", (scalar(atom), self.exponent()))
            self.depth -= 1
        return scalar(atom)

    def ordinal(self) -> bool:
        """Read the suffix of an ordinal: ``12^{\\mathrm{th}}``."""
        start = self.at
        braced = self.accept("{")
        if self.now.text in ORDINALS:
            self.at += 1
            if not braced or self.accept("}"):
                return True
        self.at = start
        return False

    def prime_group(self) -> bool:
        """Read ``^\\prime`` or ``^{\\prime}``."""
        if self.accept(r"\prime"):
            return True
        if self.now.text == "{" and self.ahead().text == r"\prime" and self.ahead(2).text == "}":
            self.at += 3
            return True
        return False

    def degrees(self, base: Node) -> Node:
        """Degrees, with minutes and seconds where they follow: ``60^\\circ 42' 30''``."""
        value: Expr = scalar(base)
        for mark, size in (("'", 60), ('"', 3600)):
            if self.now.kind == "num" and self.ahead().text == mark and not (mark == "'" and self.ahead(2).text == "'"):
                part = Num(Fraction(self.now.value or 0) / size)
                self.at += 2
                value = Op("add", (value, part))
            elif self.now.kind == "num" and mark == '"' and self.ahead().text == "'" and self.ahead(2).text == "'":
                part = Num(Fraction(self.now.value or 0) / size)
                self.at += 3
                value = Op("add", (value, part))
        return Op("deg", (value,))

    def postfix(self, base: Node) -> Node:
        """Factorials, percent signs, primes and subscripts."""
        while True:
            if self.now.text == "!" and self.now.kind == "op" and self.ahead().text != "=":
                self.at += 1
                double = self.accept("!")
                base = Op("factorial2" if double else "factorial", (scalar(base),))
            elif self.accept("%", r"\%"):
                base = Op("percent", (scalar(base),))
            elif self.now.text == r"\degree":
                self.at += 1
                base = self.degrees(base)
            elif self.now.text == "_" and isinstance(base, Sym) and "_" not in base.name:
                base = self.applied(base.name)
            elif self.now.text == "'" and isinstance(base, Sym):
                self.at += 1
                base = self.applied(f"{base.name}'")
            else:
                return base

    # Atoms ------------------------------------------------------------------------------------------------------

    def atom(self) -> Node:
        """The smallest pieces."""
        token = self.now
        if token.kind == "num":
            return self.number()
        if token.kind == "word":
            return self.word()
        if token.kind == "text":
            return self.text_atom()
        if token.kind == "op" or token.text in (r"\{", r"\langle"):
            if token.text in ("(", "[", r"\{", r"\langle", "]"):
                return self.bracket()
            if token.text == "{":
                return self.group()
            if token.text == "|":
                return self.absolute("|")
            if token.text in ("...", ".."):
                self.at += 1
                return Dots()
        if token.kind == "cmd":
            return self.command()
        raise NotMath(f"no value at {token.text!r}" if token is not END else "a value is missing at the end")

    def number(self) -> Node:
        """A number, with its base or the fraction of "16 1/2" where they follow."""
        token = self.now
        self.at += 1
        value = Num(token.value or Fraction(0), token.places)
        top, slash, bottom = self.now, self.ahead(), self.ahead(2)
        if (
            top.kind == "num" and top.spaced and slash.text == "/" and bottom.kind == "num"
            and token.places is None and top.places is None and bottom.places is None and 0 < (top.value or 0) < (bottom.value or 0)
        ):  # fmt: skip
            self.at += 3
            return Op("add", (value, Op("div", (Num(top.value or Fraction(0)), Num(bottom.value or Fraction(1))))))
        if self.now.kind == "word" and self.now.text in ORDINALS and not self.now.spaced and self.level == 0:
            self.at += 1
        return value

    def group(self) -> Node:
        """``{ … }``, with ``\\choose``."""
        self.expect("{")
        self.level += 1
        bars, self.bars = self.bars, 0
        inner = self.sum()
        if self.accept(r"\choose"):
            inner = Op("binom", (scalar(inner), scalar(self.sum())))
        elif self.accept(r"\over"):
            inner = Op("div", (scalar(inner), scalar(self.sum())))
        self.bars = bars
        self.level -= 1
        self.expect("}")
        return inner

    def bracket(self) -> Node:
        """Brackets of any kind."""
        raise NotImplementedError

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

    def text_atom(self) -> Node:
        r"""``\text{sin}``, or a name in words, where one may stand."""
        token = self.now
        if token.text in FUNCTIONS:
            self.at += 1
            return self.function(FUNCTIONS[token.text])
        if len(token.text) == 1 and token.text.isalpha():
            self.at += 1
            return self.applied(token.text)
        if token.text and (self.level > 0 or self.ahead().text in ("=", "_", ":")):
            self.at += 1
            return self.applied(token.text)
        raise NotMath(f"words where a value should be: {token.text[:40]!r}")

    @staticmethod
    def function_prefix(word: str) -> str | None:
        """The function that a word begins with when only a variable follows: ``sinx``, ``lnx``."""
        for size in (4, 3, 2):
            if word[:size] in FUNCTIONS and 0 < len(word) - size <= 2 and word[:size] not in ("Re", "Im", "tg", "lg"):
                return word[:size]
        return None

    def word(self) -> Node:
        """A run of letters: a function, a constant, a variable, or a product of variables."""
        token = self.now
        word = token.text
        if word in FUNCTIONS and (len(word) > 1):
            self.at += 1
            return self.function(FUNCTIONS[word])
        if word in CONSTANTS:
            self.at += 1
            return Const(CONSTANTS[word])
        if len(word) == 1:
            self.at += 1
            if word in ("e", "i"):
                return Const(word)
            return self.applied(word)
        prefix = self.function_prefix(word)
        if prefix:
            self.tokens[self.at : self.at + 1] = [replace(token, text=prefix), Token("word", word[len(prefix) :])]
            return self.word()
        if not (is_product_word(word) or (self.level > 0 and len(word) <= 4)):
            raise NotMath(f"a word where a value should be: {word[:40]!r}")
        letters = [Token("word", char) for char in word]
        self.tokens[self.at : self.at + 1] = [replace(letters[0], spaced=token.spaced), *letters[1:]]
        return self.word()

    def applied(self, name: str) -> Node:
        """A name with its subscript, primes and, where it is a function, its arguments."""
        index: Expr | None = None
        if self.accept("_"):
            name, index = self.subscript(name)
        while self.accept("'"):
            name += "'"
        if self.now.text == "(" and not self.now.spaced and (name[0] in _FUNCTION_LETTERS or name in _FUNCTION_LETTERS):
            arguments = self.arguments()
            return Op(f"app:{name}", arguments if index is None else (index, *arguments))
        return Sym(name) if index is None else Op(f"app:{name}", (index,))

    def subscript(self, name: str) -> tuple[str, Expr | None]:
        """Names keep a subscript of digits or words; an index that is an expression makes a function of it."""
        token = self.now
        if token.text == "{":
            start = self.at
            self.at += 1
            parts = []
            while self.now is not END and self.now.text != "}":
                if self.now.text in ("{", "("):
                    parts = []
                    break
                parts.append(self.now)
                self.at += 1
            plain = all(part.kind in ("num", "word", "text", "cmd") or part.text in (",", "'", "*") for part in parts)
            one_letter = len(parts) == 1 and parts[0].text in _INDEX_LETTERS
            if parts and plain and not one_letter and not any(part.text in (r"\frac", r"\sqrt") for part in parts):
                self.at += 1
                return f"{name}_{''.join(part.text for part in parts)}", None
            self.at = start
            return name, scalar(self.group())
        self.at += 1
        if token.kind == "num" and len(token.text) > 1 and token.text.isdigit():
            return f"{name}_{token.text}", None
        if token.kind == "word" and len(token.text) > 1:
            self.tokens[self.at - 1 : self.at] = [Token("word", token.text[0]), Token("word", token.text[1:])]
            token = self.tokens[self.at - 1]
        if token.text in _INDEX_LETTERS:
            return name, Sym(token.text) if token.text != "i" else Sym("i")
        if token.kind in ("num", "word", "text", "cmd"):
            return f"{name}_{token.text}", None
        raise NotMath("a subscript is missing")

    def arguments(self) -> tuple[Node, ...]:
        """``( a, b )`` as the arguments of a function."""
        inner = self.bracket()
        return inner.items if isinstance(inner, Tuple) else (inner,)

    # Commands and functions -------------------------------------------------------------------------------------

    def command(self) -> Node:  # noqa: C901 - one line a command
        """An atom that begins with a LaTeX command."""
        name = self.now.text
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
            inner = self.power()
            return Sym(f"{name}{inner}") if not isinstance(inner, Sym) else Sym(name + inner.name)
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
                Token("num", rest, False, Fraction(int(rest))),
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
        top = self.argument()
        bottom = self.argument()
        words = "".join(token.text for token in self.tokens[start : self.at] if token.text not in ("{", "}"))
        if words in ("ddx", "ddt", "ddy", "dd\\theta") or words.startswith(r"\partial"):
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
        base = exponent = None
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
        return Op(head, (body, variable, low, high))

    def letter(self) -> str:
        """A single letter, as a name."""
        token = self.now
        if token.kind == "word" and len(token.text) == 1:
            self.at += 1
            return token.text
        raise NotMath(f"expected a letter, found {token.text!r}")

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
        self.at += 1
        if self.accept("*"):
            name += "*"
        self.expect("}")
        if name.rstrip("*") not in ("pmatrix", "bmatrix", "vmatrix", "matrix", "Bmatrix", "smallmatrix", "array", "Vmatrix"):
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
        self.at += 1
        self.accept("*")
        self.expect("}")
        if not rows or len({len(one) for one in rows}) != 1:
            raise NotMath("a matrix whose rows differ in length")
        matrix = Matrix(tuple(rows))
        return Op("det", (matrix,)) if name[0] in "vV" else matrix


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
        return Matrix(tuple(tuple(_dot(row, column) for column in columns) for row in left.rows))
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


def make_function(head: str, arguments: tuple[Node, ...], base: Expr | None) -> Node:
    """The node of a named function. Raises NotMath for a wrong number of arguments."""
    if head == "log" and len(arguments) == 2 and base is None:
        return Op("logb", (arguments[0], arguments[1]))
    if head == "log" and base is not None:
        return Op("logb", (scalar(arguments[0]), base))
    if head in ("gcd", "lcm", "max", "min"):
        return Op(head, arguments)
    if head == "binom" and len(arguments) == 2:
        return Op("binom", arguments)
    if head == "sqrt":
        return Op("root", (scalar(arguments[0]), TWO)) if len(arguments) == 1 else _bad(head)
    if head == "cbrt":
        return Op("root", (scalar(arguments[0]), Num(Fraction(3))))
    if len(arguments) != 1 or (base is not None):
        return _bad(head)
    return Op(head, arguments)


def _bad(head: str) -> Node:
    raise NotMath(f"{head} with a wrong number of arguments")
