"""Equality of answers: the rules that pair every type with every other."""

from __future__ import annotations

from collections.abc import Sequence

from markscheme.verifiers.math.answers import Answer, parse_answer
from markscheme.verifiers.math.comparison import DIFFERENT, EQUAL, Comparison
from markscheme.verifiers.math.congruences import same_congruence
from markscheme.verifiers.math.conventions import Conventions
from markscheme.verifiers.math.identity import has_finite_decimal, rational
from markscheme.verifiers.math.lexer import NotMath, TooLarge
from markscheme.verifiers.math.limits import LIGHT_BUDGET, OverBudget, Undefined, Unsupported, budget, spend
from markscheme.verifiers.math.lists import Lists, has_dots
from markscheme.verifiers.math.nodes import (
    SETS,
    Choice,
    Const,
    Dots,
    Expr,
    FiniteSet,
    Interval,
    Listing,
    Logic,
    Matrix,
    NamedSet,
    Node,
    Num,
    Qualified,
    Relation,
    SetBuilder,
    SetOp,
    Sym,
    Text,
    Tuple,
    symbols,
)
from markscheme.verifiers.math.relations import same_statement, stated, statement_against_value
from markscheme.verifiers.math.scalars import MISMATCH, SCALARS, same_scalar
from markscheme.verifiers.math.sets import NoSet, region, same_region, simple_interval, subject
from markscheme.verifiers.math.vectors import as_vector
from markscheme.verifiers.math.words import NUMBER_WORDS, canonical_words
from markscheme.verifiers.outcomes import Reason

MAX_COMPARISONS = 4000
_ORDER = ("<", ">", "<=", ">=", "!=", "in", "notin")


class Comparer:
    """Compares nodes under a policy; counts its comparisons against a cap."""

    def __init__(self, policy: Conventions) -> None:
        self.policy = policy
        self.count = 0
        self.lists = Lists(self)

    def __call__(self, gold: Node, given: Node) -> Comparison:
        """Compare a gold node with a given one. Raises TooLarge."""
        self.count += 1
        spend(5)
        if self.count > MAX_COMPARISONS:
            return Comparison(None, Reason.BUDGET, "too many comparisons")
        if gold == given and not (isinstance(gold, Relation) and gold.ops[0] in ("=", "~")):
            return EQUAL
        try:
            return self.by_type(gold, given)
        except (Undefined, Unsupported, NotMath) as error:
            return Comparison(False, Reason.DIFFERENT, str(error))

    def by_type(self, gold: Node, given: Node) -> Comparison:
        """Pair the types."""
        if isinstance(gold, Expr) and isinstance(given, Expr):
            return self.scalars(gold, given)
        if isinstance(gold, Qualified) or isinstance(given, Qualified):
            return self.qualified(gold, given)
        if isinstance(gold, Text | Choice) or isinstance(given, Text | Choice):
            return self.words(gold, given)
        by_set = self.sets(gold, given)
        if by_set is not None:
            return by_set
        if isinstance(gold, Logic) or isinstance(given, Logic):
            return self.logic(gold, given)
        if isinstance(gold, Relation) and isinstance(given, Relation):
            return same_statement(gold, given, self)
        if isinstance(gold, Listing | FiniteSet) or isinstance(given, Listing | FiniteSet):
            return self.lists.compare(gold, given)
        if isinstance(given, Relation):
            return statement_against_value(given, gold, self, gold_is_value=True)
        if isinstance(gold, Relation):
            return statement_against_value(gold, given, self, gold_is_value=False)
        if isinstance(gold, Tuple | Matrix) or isinstance(given, Tuple | Matrix):
            return self.vectors(gold, given)
        if isinstance(gold, SCALARS) and isinstance(given, SCALARS):
            return self.scalars(gold, given)
        return MISMATCH

    def scalars(self, gold: Node, given: Node) -> Comparison:
        """Single values."""
        if (gold == Dots()) != (given == Dots()):
            return Comparison(False, Reason.DIFFERENT, "an ellipsis alone has no value")
        found = same_scalar(gold, given, self.policy)
        if found.equal is None and (has_dots(gold) or has_dots(given)):
            return Comparison(None, Reason.BEYOND_KNOWLEDGE, "an ellipsis is compared term by term only")
        return found

    def qualified(self, gold: Node, given: Node) -> Comparison:
        """Statements under conditions: the conditions must be equal too."""
        if isinstance(gold, Qualified) and isinstance(given, Qualified):
            congruence = same_congruence(gold, given, self)
            if congruence is not None:
                return congruence
            body = self(gold.body, given.body)
            return self(gold.condition, given.condition) if body.equal else body
        return Comparison(False, Reason.DIFFERENT, "a condition stands on one side only")

    def words(self, gold: Node, given: Node) -> Comparison:
        """Text and choices."""
        if isinstance(gold, Choice) or isinstance(given, Choice):
            return self.choices(gold, given)
        if isinstance(gold, Text) and isinstance(given, Text):
            same = gold.words == given.words
            return EQUAL if same else Comparison(False, Reason.DIFFERENT, "different words")
        text, other = (gold, given) if isinstance(gold, Text) else (given, gold)
        assert isinstance(text, Text)  # noqa: S101
        if text.words == "none" and (other == NamedSet("empty") or other == FiniteSet(())):
            return EQUAL
        if text.words in ("reals", "integers"):
            named = NamedSet("R" if text.words == "reals" else "Z")
            found = EQUAL if other == named else self.sets(named, other)
            return EQUAL if found and found.equal else MISMATCH
        if text.words == "infinity" and other == Const("inf"):
            return EQUAL
        if isinstance(other, Sym):
            return (
                EQUAL if other.name.casefold() == text.words else Comparison(False, Reason.DIFFERENT, "different words")
            )
        number = NUMBER_WORDS.get(text.words)
        if number is not None and isinstance(other, Expr):
            return EQUAL if rational(other) == number else DIFFERENT
        if isinstance(other, Relation):
            said = stated(other, self)
            if said.value is not None and said.false is None:
                return self(gold, said.value) if text is gold else self(said.value, given)
        return Comparison(False, Reason.TYPE_MISMATCH, "words against a value")

    def choices(self, gold: Node, given: Node) -> Comparison:
        """Choice letters; what follows the letter does not count where both state one."""
        letters = [
            node.letter
            if isinstance(node, Choice)
            else node.name
            if isinstance(node, Sym) and len(node.name) == 1
            else None
            for node in (gold, given)
        ]
        if None not in letters:
            return EQUAL if letters[0] == letters[1] else Comparison(False, Reason.DIFFERENT, "another choice")
        for one, other in ((gold, given), (given, gold)):
            if isinstance(one, Choice) and isinstance(other, Text):
                if one.rest and canonical_words(one.rest) == other.words:
                    return EQUAL
                return EQUAL if other.words == one.letter.casefold() else DIFFERENT
        for node in (gold, given):
            if isinstance(node, Relation) and (said := stated(node, self)).value is not None and said.false is None:
                return self(gold, said.value) if node is given else self(said.value, given)
        return MISMATCH

    def sets(self, gold: Node, given: Node) -> Comparison | None:
        """Sets of reals in all their forms; None where the pair is not for sets."""
        pair = (gold, given)
        kinds = Interval | SetOp | NamedSet | SetBuilder | Logic
        if not any(isinstance(node, kinds) or _is_condition(node) for node in pair):
            return None
        sides = [self.named(node) for node in pair]
        if not all(isinstance(node, SETS | Tuple | Logic) or _is_condition(node) for node in sides):
            return (
                MISMATCH
                if any(isinstance(node, SETS) for node in sides) and not all(map(_is_condition, pair))
                else None
            )
        try:
            return same_region(region(sides[0]), region(sides[1]))
        except NoSet:
            pass
        one, two = (simple_interval(node) for node in sides)
        if one and two and len({subject(node) for node in sides if isinstance(node, Relation)}) < 2:
            return self.intervals(one, two)
        if isinstance(sides[0], SetOp) and isinstance(sides[1], SetOp) and sides[0].head == sides[1].head:
            return self.lists.unordered(sides[0].args, sides[1].args)
        if all(map(_is_condition, sides)) or any(isinstance(node, Logic) for node in sides):
            return None
        if isinstance(sides[0], SetBuilder) and isinstance(sides[1], SetBuilder):
            return self(sides[0].condition, sides[1].condition)
        if isinstance(sides[0], Relation) and isinstance(sides[1], Relation):
            return same_statement(sides[0], sides[1], self)
        for node, other in (sides, sides[::-1]):
            if isinstance(node, Relation) and node.ops == ("in",) and not isinstance(other, Relation):
                return self(node.terms[1], other) if node is sides[0] else self(other, node.terms[1])
        if all(isinstance(node, NamedSet | FiniteSet | Tuple) for node in sides):
            return DIFFERENT
        if any(isinstance(node, Tuple) for node in sides):
            return self.closed_pair(*sides)
        return Comparison(None, Reason.BEYOND_KNOWLEDGE, "sets that no method decides", heavy=True)

    def named(self, node: Node) -> Node:
        """A set under a label: ``D = (0, 1)``."""
        if isinstance(node, Relation) and set(node.ops) == {"="}:
            said = stated(node, self)
            if said.value is not None and said.false is None and isinstance(said.value, SETS | Tuple):
                return said.value
        return node

    def intervals(self, one: Interval, two: Interval) -> Comparison:
        """Intervals with symbolic ends: the same brackets and equal ends."""
        if (one.low_closed, one.high_closed) != (two.low_closed, two.high_closed):
            return Comparison(False, Reason.DIFFERENT, "different brackets")
        low = self(one.low, two.low)
        return self(one.high, two.high) if low.equal else low

    def closed_pair(self, one: Node, two: Node) -> Comparison:
        """A tuple that is no interval against a set: ``[1, 2]`` may be a vector, anything else differs."""
        sides = [
            Tuple((node.low, node.high), "<>")
            if isinstance(node, Interval) and node.low_closed and node.high_closed
            else node
            for node in (one, two)
        ]
        if all(isinstance(node, Tuple) and node.brackets == "<>" for node in sides):
            return self.vectors(*sides)
        if any(simple_interval(node) and symbols(node) for node in (one, two)):
            return Comparison(None, Reason.BEYOND_KNOWLEDGE, "a set with symbolic ends")
        return DIFFERENT

    def logic(self, gold: Node, given: Node) -> Comparison:
        """Conditions joined by and / or, in any order."""
        if isinstance(gold, Logic) and isinstance(given, Logic):
            if gold.head != given.head:
                return Comparison(False, Reason.DIFFERENT, "and against or")
            return self.lists.unordered(gold.args, given.args)
        return MISMATCH

    def vectors(self, gold: Node, given: Node) -> Comparison:
        """Tuples, matrices, and sums of unit vectors."""
        if isinstance(gold, Matrix) and isinstance(given, Matrix):
            if len(gold.rows) != len(given.rows) or len(gold.rows[0]) != len(given.rows[0]):
                return Comparison(False, Reason.DIFFERENT, "matrices of different shapes")
            return self.each([e for row in gold.rows for e in row], [e for row in given.rows for e in row])
        one, two = as_vector(gold, given), as_vector(given, gold)
        if one is None or two is None:
            return MISMATCH
        if len(one) != len(two):
            return Comparison(False, Reason.DIFFERENT, "different numbers of components")
        if (
            isinstance(gold, Tuple)
            and isinstance(given, Tuple)
            and {gold.brackets, given.brackets} == {"[]", "()"}
            and len(one) == 2
        ):
            return Comparison(False, Reason.DIFFERENT, "different brackets")
        return self.each(one, two)

    def each(self, gold: Sequence[Node], given: Sequence[Node]) -> Comparison:
        """Item by item, in order."""
        worst = EQUAL
        for a, b in zip(gold, given, strict=True):
            found = self(a, b)
            if found.equal is False:
                return found
            if found.equal is None or (worst == EQUAL and found.reason == Reason.SAMPLED_EQUAL):
                worst = found if worst.equal is not None else worst
        return worst


def _is_condition(node: Node) -> bool:
    return isinstance(node, Relation) and any(op in _ORDER for op in node.ops)


class _Default:
    percent = "lenient"
    precision = "exact"


def same_answer(one: str, other: str) -> bool:
    """Whether two bare answers are shown equal in this process, by the default conventions."""
    try:
        return compare_answers(parse_answer(one), parse_answer(other), _Default()).equal is True
    except TooLarge:
        return False


def compare_plain(gold: Answer, given: Answer, policy: Conventions) -> Comparison | None:
    """Compare two plain numbers at once; None where a side is none, or a rule for written decimals may join in."""
    one, two = gold.value, given.value
    if one is None or two is None:
        return None
    if one == two:
        return EQUAL
    if policy.precision != "exact":
        return None
    written = any(isinstance(side.node, Num) and side.node.places is not None for side in (gold, given))
    if not written or (has_finite_decimal(one) and has_finite_decimal(two)):
        return DIFFERENT
    return None


def compare_answers(gold: Answer, given: Answer, policy: Conventions) -> Comparison:
    """Compare two answers as read. ``heavy`` in the result asks for the algebra worker.

    Raises:
        TooLarge: a side is over the caps.
    """
    plain = compare_plain(gold, given, policy)
    if plain is not None:
        return plain
    if gold.node is None or given.node is None:
        if gold.node is None and given.node is None and gold.words and gold.words == given.words:
            return Comparison(True, Reason.EQUAL, "the same words")
        if isinstance(gold.node, Text) and gold.words == given.words:
            return EQUAL
        if gold.calculus or given.calculus:
            return Comparison(None, Reason.BEYOND_KNOWLEDGE, "calculus is left to the algebra worker", heavy=True)
        return Comparison(False, Reason.NOT_GRAMMATICAL, given.why or "the gold answer is text")
    try:
        with budget(LIGHT_BUDGET):
            found = Comparer(policy)(gold.node, given.node)
    except OverBudget:
        expressions = isinstance(gold.node, Expr) and isinstance(given.node, Expr)
        return Comparison(None, Reason.BUDGET, "deciding it takes too much work", heavy=expressions)
    wordy = isinstance(gold.node, Text) or (
        isinstance(gold.node, Listing) and any(isinstance(i, Text) for i in gold.node.items)
    )
    if not found.equal and wordy and gold.words and gold.words == given.words:
        return EQUAL
    return found
