r"""The expression half of the grammar: sums, products, powers, LaTeX and code notation alike.

Recursive descent over the lexer's tokens.
"""

from __future__ import annotations

from fractions import Fraction

from markscheme.verifiers.math.arithmetic import add, is_numeric, minus, mul, scalar
from markscheme.verifiers.math.functions import Functions
from markscheme.verifiers.math.lexer import END, NotMath, Token
from markscheme.verifiers.math.names import FUNCTION_LETTERS, is_product_word
from markscheme.verifiers.math.nodes import SETS, Dots, Expr, Matrix, Node, Num, Op, SetOp, Sym, Tuple, neg
from markscheme.verifiers.math.units import SPACED_LETTERS, lookup
from markscheme.verifiers.math.words import CONSTANTS, FUNCTIONS, ORDINALS

_POSTFIX = frozenset(("!", "%", r"\%", r"\degree", "'", "_"))


class ExpressionParser(Functions):
    """Parses expressions; ``grammar.AnswerParser`` adds what only a whole answer can hold."""

    # Sums, products, powers -------------------------------------------------------------------------------------

    def sum(self) -> Node:
        """``term ± term ± …``."""
        self.deeper()
        left = self.term()
        while self.tokens[self.at] is not END:
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
        while self.tokens[self.at] is not END:
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
                break
        return left

    def signed_power(self) -> Node:
        """A factor after an explicit operator, where a sign may stand: ``2 * -3``."""
        if self.accept("-"):
            return minus(self.power())
        self.accept("+")
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
            if self.tokens[self.at - 1].text == "!":  # 3!7!
                return not token.spaced or self.ahead().text == "!"
            # Only the "1/2" of "16 1/2" may follow a number; a number may follow a closed group, as in "2^{n}3".
            return not isinstance(left, Num) and self.tokens[self.at - 1].text in ("}", ")", "]") and not token.spaced
        if token.kind == "word":
            if token.text in ("C", "F") and isinstance(left, Op) and left.head == "deg" and self.level == 0:
                return False
            if token.text == "U" and isinstance(left, SETS | Tuple):
                return False
            return self.word_is_factor(token, left)
        if token.text == "[" and (self.ahead() is END or self.ahead().text in (",", r"\cup", r"\cap", r"\setminus")):
            return False  # ]a, b[
        if token.kind == "text":
            return token.text in FUNCTIONS and (self.level > 0 or lookup(token.text) is None)
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
        unit = self.level == 0 and len(word) > 1 and is_numeric(left) and lookup(word) is not None
        if unit and self.ahead().text not in ("(", "_", "^", "{", r"\{"):  # 60 min, 5 sec
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
        if self.ahead(n).kind == "num" and lookup(self.ahead(n + 1).text):  # 2 h 30 min
            return True
        return self.ahead(n) is END or self.ahead(n).text in (",", ";", "and", "or")

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
        if isinstance(base, Matrix | Tuple) and self.transposes():
            return base if isinstance(base, Tuple) else Matrix(tuple(zip(*base.rows, strict=True)))
        exponent = self.exponent()
        if self.now.text == "_" and isinstance(base, Sym) and "_" not in base.name:  # v^2_0
            base = self.applied(base.name)
        if (
            isinstance(base, Sym)
            and base.name in FUNCTION_LETTERS
            and exponent == Num(Fraction(-1))
            and self.now.text == "("
        ):
            return Op(f"app:{base.name}^-1", self.arguments())
        if isinstance(base, Matrix | Tuple):
            raise NotMath("a power of a matrix or tuple")
        return Op("pow", (scalar(base), exponent))

    def transposes(self) -> bool:
        r"""Read ``T``, ``\top`` or either of them in braces as the exponent of a matrix or tuple."""
        braced = self.now.text == "{"
        if (self.ahead() if braced else self.now).text not in ("T", "t", r"\top", r"\intercal") or (
            braced and self.ahead(2).text != "}"
        ):
            return False
        self.at += 3 if braced else 1
        return True

    def exponent(self) -> Expr:
        """What stands after ``^``: a group, or one signed atom with its own exponent."""
        if self.accept("-"):
            self.deeper()
            inner = neg(self.exponent())
            self.depth -= 1
            return inner
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
        r"""Read the suffix of an ordinal: ``12^{\mathrm{th}}``."""
        start = self.at
        braced = self.accept("{")
        if self.now.text in ORDINALS:
            self.at += 1
            if not braced or self.accept("}"):
                return True
        self.at = start
        return False

    def prime_group(self) -> bool:
        r"""Read ``^\prime`` or ``^{\prime}``."""
        if self.accept(r"\prime"):
            return True
        if self.now.text == "{" and self.ahead().text == r"\prime" and self.ahead(2).text == "}":
            self.at += 3
            return True
        return False

    def degrees(self, base: Node) -> Node:
        r"""Degrees, with minutes and seconds where they follow: ``60^\circ 42' 30''``."""
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
        while self.tokens[self.at].text in _POSTFIX:
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
                break
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
        proper = slash.text == "/" and top.spaced and 0 < (top.value or 0) < (bottom.value or 0)
        if proper and all(part.kind == "num" and part.places is None for part in (token, top, bottom)):
            self.at += 3
            return Op("add", (value, Op("div", (Num(top.value or Fraction(0)), Num(bottom.value or Fraction(1))))))
        if self.now.kind == "word" and self.now.text in ORDINALS and not self.now.spaced and self.level == 0:
            self.at += 1
        return value

    def group(self) -> Node:
        r"""``{ … }``, with ``\choose``."""
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
