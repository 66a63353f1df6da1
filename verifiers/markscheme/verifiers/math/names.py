"""Letters and words in expressions: variables, subscripts, products of letters, unknown functions."""

from __future__ import annotations

from markscheme.verifiers.math.arithmetic import scalar
from markscheme.verifiers.math.lexer import END, NotMath, Token
from markscheme.verifiers.math.nodes import Const, Expr, Node, Op, Sym, Tuple
from markscheme.verifiers.math.stream import TokenStream
from markscheme.verifiers.math.words import AND_WORDS, CONSTANTS, FUNCTIONS, OR_WORDS

FUNCTION_LETTERS = frozenset("fghFGH") | {r"\phi", r"\Phi", r"\psi"}
_NOT_PRODUCTS = (
    AND_WORDS
    | OR_WORDS
    | frozenset(
        "if is are the per in to of at on by for as so be no yes not odd pct sq all any one two six ten am"
        " pm you we it its an has was cat dog red sun mon tue wed thu fri sat top men boy nor via old"
        " new few day mod dne nan".split()
    )
)
_VOWELS = frozenset("aeiou")
_INDEX_LETTERS = frozenset("ijklmnpqrst")


def is_product_word(word: str) -> bool:
    """Whether a bare run of letters may be a product of variables rather than a word."""
    low = word.lower()
    if low in _NOT_PRODUCTS or len(word) > 3 or (len(word) == 3 and word.istitle()):
        return False
    if len(word) == 3 and word.islower():
        first, middle, last = (char in _VOWELS for char in word)
        return not (middle and not first and not last)
    return True


class Names(TokenStream):
    """Parses what begins with a letter."""

    def text_atom(self) -> Node:
        r"""``\text{sin}``, or a name in words, where one may stand."""
        token = self.now
        if token.text in FUNCTIONS:
            self.at += 1
            return self.function(FUNCTIONS[token.text])
        if token.text.casefold() in ("infinity", "pi"):
            self.at += 1
            return Const(CONSTANTS[token.text.casefold()])
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
            self.tokens[self.at : self.at + 1] = [token._replace(text=prefix), Token("word", word[len(prefix) :])]
            return self.word()
        if not (is_product_word(word) or (self.level > 0 and len(word) <= 4)):
            raise NotMath(f"a word where a value should be: {word[:40]!r}")
        letters = [Token("word", char) for char in word]
        self.tokens[self.at : self.at + 1] = [letters[0]._replace(spaced=token.spaced), *letters[1:]]
        return self.word()

    def applied(self, name: str) -> Node:
        """A name with its subscript, primes and, where it is a function, its arguments."""
        index: Expr | None = None
        if self.accept("_"):
            name, index = self.subscript(name)
        while self.accept("'"):
            name += "'"
        if self.now.text == "(" and not self.now.spaced and (name[0] in FUNCTION_LETTERS or name in FUNCTION_LETTERS):
            arguments = self.arguments()
            return Op(f"app:{name}", arguments if index is None else (index, *arguments))
        return Sym(name) if index is None else Op(f"app:{name}", (index,))

    def subscript(self, name: str) -> tuple[str, Expr | None]:
        """Names keep a subscript of digits or words; an index that is an expression makes a function of it."""
        token = self.now
        if token.text == "{":
            start = self.at
            self.at += 1
            parts: list[Token] = []
            while self.now is not END and self.now.text != "}":
                if self.now.text in ("{", "("):
                    parts = []
                    break
                parts.append(self.now)
                self.at += 1
            plain = all(part.kind in ("num", "word", "text", "cmd") or part.text in (",", "'", "*") for part in parts)
            one_letter = len(parts) == 1 and parts[0].text in _INDEX_LETTERS
            if parts and plain and not one_letter and not any(part.text in (r"\frac", r"\sqrt") for part in parts):
                self.expect("}")
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

    def letter(self) -> str:
        """A single letter, as a name."""
        token = self.now
        if token.kind == "word" and len(token.text) == 1:
            self.at += 1
            return token.text
        raise NotMath(f"expected a letter, found {token.text!r}")
