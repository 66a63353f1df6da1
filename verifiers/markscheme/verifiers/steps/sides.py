r"""Expressions in prose: numbers under operators, with the words between them set aside.

A side of an equation is some tokens of a clause; ``SideReader.runs`` finds the expressions in it. ``16 eggs - 3 eggs``
is one, its words are units; in ``she sold 48 in April and 24 * 2`` there are two. An expression never grows over a word
that may stand for a value: it is then unknown or doubtful, and what is doubtful is never called wrong.
"""

from __future__ import annotations

from markscheme.verifiers.steps.nouns import is_share
from markscheme.verifiers.steps.operands import Operands
from markscheme.verifiers.steps.runs import Item, Run
from markscheme.verifiers.steps.vocabulary import (
    CLAUSE,
    CONNECTIVE,
    FUNCTION_WORDS,
    LABELS,
    LEAD_IN,
    OPERATORS,
    PARTS,
    POINTING,
    TOTALS,
)

_DOTS = frozenset(("...", "..", "…", r"\dots", r"\ldots", r"\cdots"))
_LINES = frozenset(("\n", r"\\", r"\[", r"\]", "$$"))
_MARKS = frozenset((r"\checkmark", r"\square", r"\blacksquare", r"\qed", r"\star"))  # they say nothing of a value
_MIXED = ["fn", "open", "num", "close", "open", "num", "close"]


class SideReader(Operands):
    """Finds the expressions of the sides of equations."""

    def runs(self, start: int, stop: int) -> list[Run]:
        """The expressions of ``tokens[start:stop]``, in order."""
        found: list[Run] = []
        at = start
        while at < stop:
            run = self.run(at, stop, start, found[-1] if found else None) if self.may_start(at, start, stop) else None
            if run is None:
                at += 1
            else:
                found.append(run)
                at = run.last
        return found

    def may_start(self, at: int, start: int, stop: int) -> bool:
        """Whether an expression may begin here."""
        if self.starts(at, stop):
            return True
        if self.is_op(at, "+-") and self.starts(at + 1, stop):
            # "is -30": a sign; "Monday - 5" and "x -5": none
            token, before = self.tokens[at], self.tokens[at - 1]
            sign = self.tokens[at + 1].glued and not token.glued and before.kind == "word" and len(before.text) > 1
            return at == start or sign
        return self.word(at, stop) in PARTS

    def run(self, at: int, stop: int, start: int, before: Run | None) -> Run | None:
        """The expression that begins here, or None."""
        run = Run(at)
        self.look_back(run, start, before)
        end = self.operand(run, at, stop)
        if end is None:
            return None
        while end < stop:
            step = self.operator(run, end, stop)
            if step is None:
                break
            end = step
        run.last = end
        if end < stop:
            self.look_ahead(run, end, stop)
        run.unwrap()
        self.look_inside(run)
        return run

    # Operators ------------------------------------------------------------------------------------------------------

    def operator(self, run: Run, at: int, stop: int) -> int | None:
        """Read an operator and the operand after it; where they end, or None where no operator with an operand is."""
        found = self.operator_sign(run, at, stop)
        if found is None:
            return None
        sign, after = found
        mark, words, cut = len(run.items), run.words, run.cut
        before = self.tokens[at - 1]
        tight = after < stop and self.tokens[after].glued and self.tokens[at].glued
        if self.word(at, stop) == "of":
            run.cut = run.cut or mark
        run.items.append(Item("op", sign, tight=tight and sign == "/" and before.kind == "num"))
        end = self.operand(run, self.past_lead_in(after, stop), stop)
        if end is None:
            end = self.named_operand(run, after, stop)
        if end is None:
            del run.items[mark:]
            run.words, run.cut = words, cut
            return None
        if sign == "/" and tight and before.kind == "word":  # "64 seconds / 16 seconds/20 feet"
            run.doubtful |= any(item.text == "/" for item in run.items[:mark])
        if after == at and self.tokens[at].kind == "fn":
            self.mixed_number(run, mark)
        return end

    def operator_sign(self, run: Run, at: int, stop: int) -> tuple[str, int] | None:
        """The operator that stands here and where it ends."""
        token, word = self.tokens[at], self.word(at, stop)
        if token.kind == "op" and token.text in ("+", "-", "*", "/", "**"):
            return ("^" if token.text == "**" else token.text), at + 1
        implied = token.kind in ("open", "fn", "const") and (token.glued or self.tokens[at - 1].kind == "close")
        if (implied or token.kind == "fn") and not run.words and run.items[-1].kind != "percent":
            return "*", at  # 5(3), (2)(3), 2\frac12
        if word == "x" and self.starts(at + 1, stop):
            return "*", at + 1
        if word == "of" and is_share(run):
            return "*", at + 1
        if word in OPERATORS:
            by = self.word(at + 1, stop) == "by"
            if (word in ("multiplied", "divided")) == by and self.starts(at + 1 + by, stop):
                return OPERATORS[word], at + 1 + by
        return None

    def named_operand(self, run: Run, at: int, stop: int) -> int | None:
        """``February (28)``: a name with its value in brackets."""
        n = at
        while n - at < 4 and self.word(n, stop) and self.word(n, stop) not in CLAUSE:
            n += 1
        if n == at or n >= stop or len(self.tokens[n - 1].text) < 2:
            return None
        return self.bracket(run, n, stop) if self.tokens[n].kind == "open" and not self.tokens[n].glued else None

    def mixed_number(self, run: Run, mark: int) -> None:
        r"""``2\frac{1}{3}`` is a sum, most often; its sign of multiplication stands at ``mark``."""
        parts, number = run.items[mark + 1 : mark + 8], run.items[mark - 1]
        if (
            number.kind != "num"
            or number.places
            or [item.kind for item in parts] != _MIXED
            or parts[0].text != r"\frac"
        ):
            return
        top, bottom = parts[2].value, parts[5].value
        if top is not None and bottom is not None and 0 < top < bottom:
            run.items[mark] = Item("op", "+", tight=True)
            run.items.insert(mark - 1, Item("open", "("))
            run.items.insert(mark + 9, Item("close", ")"))

    # What is beside an expression -----------------------------------------------------------------------------------

    def look_back(self, run: Run, start: int, before: Run | None) -> None:
        """What stands just before an expression may change its value."""
        at = run.first - 1
        if at < start:
            self.look_back_over_break(run)
            return
        token = self.tokens[at]
        if token.kind == "op":
            named = at > start and self.tokens[at - 1].kind == "word" and len(self.tokens[at - 1].text) > 1
            if token.text == "-" and named and not token.glued:
                run.doubtful = True  # "Monday - 5": a dash, or less than Monday
            else:
                run.unknown = at > start or token.text not in "*+" or not self.begins_line(at)
        elif token.kind in ("other", "sub", "close", "const"):
            run.unknown = True
        elif token.kind == "num":
            run.doubtful = True
        elif token.kind == "open":
            run.unknown = at > start and self.tokens[at - 1].kind in ("op", "num", "close", "fn", "cur")
        elif token.kind == "word":
            self.look_back_at_word(run, at, before)

    def look_back_at_word(self, run: Run, at: int, before: Run | None) -> None:
        """The same for a word."""
        word = self.word(at, at + 1)
        if (
            word in ("minus", "plus", "times", "over", "than")
            or word in FUNCTION_WORDS
            or (len(word) == 1 and word not in "axi")
        ):
            run.unknown = True
        while word in LEAD_IN - CONNECTIVE and before is not None and at > before.first:
            at -= 1
            word = self.word(at, at + 1)
        least = 1 if word in ("of", "at", "x", "times", "per") else 2
        near = before is not None and least <= at - before.first <= 3 and at - before.last <= 2
        if before is not None and not before.bare and before.last == run.first:
            run.joined = word  # "20 + 10 decorations to the 29 + 24 decorations"
        if word in CONNECTIVE and near and self.word(at - 1, at) not in TOTALS:
            run.joined = word  # "3 shirts at $20 - $5"
        elif self.tokens[run.first].kind == "num" and self.word(at - 1, at) not in POINTING:
            plural = word.endswith("s") and word[:-1] in LABELS and self.is_op(run.first + 1, "-")
            run.label = word in LABELS or plural  # "Day 1 - 5 pages", "weeks 1-2"

    def look_back_over_break(self, run: Run) -> None:
        """A comma or point that belongs to the number: ``14, 400 / 80``, ``.8 + . 84``; dots before a sign."""
        if run.first == 0:
            return
        first, mark = self.tokens[run.first], self.tokens[run.first - 1]
        last = self.tokens[run.first - 2] if run.first > 1 else None
        if (self.is_op(run.first, "+") and not self.begins_line(run.first)) or (
            mark.text in _DOTS and first.kind == "op"
        ):
            run.unknown = True
        elif last is not None and first.kind == "num" and mark.text in (",", "."):
            run.doubtful |= last.kind == "num" and mark.text == "," and len(first.text) == 3
            run.unknown |= last.kind == "op"

    def begins_line(self, at: int) -> bool:
        """Whether a sign stands where a line begins, so that it may be a bullet."""
        return at == 0 or self.tokens[at - 1].text in _LINES or self.tokens[at - 1].kind == "open"

    def look_ahead(self, run: Run, at: int, stop: int) -> None:
        """What follows an expression may change its value."""
        token = self.tokens[at]
        following = self.word(at + 1, stop)
        if token.text == "!" and token.kind == "op":
            run.others.append([*run.items, Item("op", "!")])  # or the end of an exclamation
        elif token.kind == "op":
            dash = token.text == "-" and following and not self.tokens[at + 1].glued
            run.doubtful |= bool(dash)  # a dash, or less something
            run.unknown |= not dash
        elif token.kind in ("sub", "const", "fn") or (token.kind == "open" and token.glued):
            run.unknown = True
        elif token.kind == "other":
            part = token.glued and (token.text in (",", "|") or token.text[:1].isdigit())
            run.unknown |= part or (token.text[:1] == "\\" and token.text not in _MARKS)
        elif token.kind == "open":
            run.unknown |= following in FUNCTION_WORDS
        elif token.kind == "num":
            run.doubtful |= self.tokens[at - 1].kind != "word"
        elif token.kind == "word":
            word = self.word(at, stop)
            run.unknown |= word in FUNCTION_WORDS or word in OPERATORS

    def look_inside(self, run: Run) -> None:
        """What else the expression may be."""
        items = run.items
        if run.joined and not (run.joined == "in" and [item.text for item in items if item.kind == "op"][:1] == ["/"]):
            run.doubtful = True
        run.doubtful |= run.label or (run.ordinal and not run.bare)  # "1st - 5": counted the other way
        if run.label and [item.text for item in items[1:2]] == ["-"]:
            run.others.append(items[2:])
        if run.cut and items[run.cut + 1 :]:  # "10% of the $400 + $1580"
            head, rest = items[: run.cut + 1], items[run.cut + 1 :]
            run.others += [items[: run.cut], rest, [*head, Item("open", "("), *rest, Item("close", ")")]]
        if any(item.tight and item.text == "+" for item in items):
            run.others.append([Item("op", "*") if item.tight and item.text == "+" else item for item in items])
        if self.is_op(run.first, "-") and not self.tokens[run.first + 1].glued and self.begins_line(run.first):
            run.others.append(items[1:])  # a bullet
        if run.doubtful and self.is_op(run.first - 1, "-"):
            run.others.append([Item("neg", "-"), *items])  # a sign
