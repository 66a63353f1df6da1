r"""Values in prose: numbers with signs, currencies, units, powers; brackets; ``\frac`` and ``\sqrt``."""

from __future__ import annotations

from abc import abstractmethod

from markscheme.verifiers.math.units import lookup, parse_unit
from markscheme.verifiers.steps.nouns import Nouns, ends_in_unit
from markscheme.verifiers.steps.runs import NO_VALUE, Item, Run
from markscheme.verifiers.steps.vocabulary import APPROXIMATE, CURRENCIES, LEAD_IN, MORE_UNITS, ORDINALS, PARTS, SCALES

MAX_DEPTH = 40  # of brackets


class Operands(Nouns):
    """Reads one value."""

    @abstractmethod
    def operator(self, run: Run, at: int, stop: int) -> int | None:
        """Read an operator and its operand."""

    @abstractmethod
    def may_start(self, at: int, start: int, stop: int) -> bool:
        """Whether an expression may begin here."""

    def operand(self, run: Run, at: int, stop: int) -> int | None:
        """Read a value with its signs, its unit and its noun; where it ends, or None where there is none."""
        mark, words = len(run.items), run.words
        at = self.signs(run, at, stop)
        run.words = []
        end = self.value(run, at, stop) if at < stop else None
        if end is None:
            del run.items[mark:]
            run.words = words
        else:
            run.nouns.append(run.noun)
        return end

    def signs(self, run: Run, at: int, stop: int) -> int:
        """Read the signs before a value."""
        while at < stop and self.is_op(at, "+-"):
            if self.tokens[at].text == "-":
                run.items.append(Item("neg", "-"))
            elif run.items:
                run.doubtful = True  # "2 *+ 1": a slip of the pen
            at += 1
        return at

    def value(self, run: Run, at: int, stop: int) -> int | None:
        """Read a value behind its signs, with its currency and noun."""
        money = None
        while at < stop and self.tokens[at].kind == "cur":
            money = parse_unit(CURRENCIES.get(self.tokens[at].text, "dollar"))
            run.words = [self.tokens[at].text.lstrip("\\")]
            at = self.signs(run, at + 1, stop)
        if at >= stop:
            return None
        token = self.tokens[at]
        if token.kind == "num":
            run.items.append(Item("num", token.text, token.value, token.places, money, open_ended=token.open_ended))
            end = self.glued_word(run, at + 1, stop)
            return self.noun(run, end if ends_in_unit(run) else self.postfix(run, end, stop), stop)
        if self.word(at, stop) in PARTS:
            return self.part(run, at, stop)
        if token.kind == "const":
            run.items.append(Item("const", token.text))
            found: int | None = at + 1
        elif token.kind in ("open", "fn"):
            found = self.bracket(run, at, stop) if token.kind == "open" else self.function(run, at, stop)
        else:
            found = None
        return None if found is None else self.noun(run, self.postfix(run, found, stop), stop)

    def noun(self, run: Run, at: int, stop: int) -> int:
        """Note where a value ends, and read what it counts."""
        run.core = at
        return self.phrase(run, at, stop)

    def part(self, run: Run, at: int, stop: int) -> int | None:
        """``half of 18``, ``twice 5``."""
        word = self.word(at, stop)
        of = self.word(at + 1, stop) == "of"
        if of == (word in ("twice", "double", "triple")) or [item.text for item in run.items[-3::2]] == ["*", "*"]:
            return None  # "half of half of half of …"
        run.items += [Item("num", str(PARTS[word]), PARTS[word]), Item("op", "*")]
        run.cut = run.cut or len(run.items) - 1
        return self.operand(run, self.past_lead_in(at + 1 + of, stop), stop)

    def past_lead_in(self, at: int, stop: int) -> int:
        """Past words such as "the" and "another", if a value follows them."""
        end = at
        while self.word(end, stop) in LEAD_IN | APPROXIMATE or self.word(end, stop).endswith("'s"):
            end += 1
        return end if self.starts(end, stop) else at

    def glued_word(self, run: Run, at: int, stop: int) -> int:
        """Letters right behind a number: a unit, a scale, an ordinal, or a variable."""
        if at >= stop or not self.tokens[at].glued or self.tokens[at].kind not in ("word", "sub"):
            return at
        word = self.tokens[at].text
        money = at + 1 < stop and self.tokens[at + 1].kind == "cur" and self.starts(at + 2, stop)
        if word in ("x", "X") and at + 1 < stop and (self.tokens[at + 1].kind == "num" or money):
            return at  # 3x4
        if word in ("k", "K", "bn"):
            run.items[-1] = run.items[-1]._replace(scale=SCALES[word])
            run.doubtful |= word != "bn"  # 4K, or four times K
            return at + 1
        if word in ORDINALS or (len(word) == 1 and lookup(word)):
            run.ordinal |= word in ORDINALS
            run.letter = word if word not in ORDINALS else run.letter
            run.words.append(word)
            return at + 1
        if (
            lookup(word) is None
            and word.casefold() not in MORE_UNITS
            and (len(word) <= 3 or self.tokens[at].kind == "sub")
        ):
            run.unknown = True
            return at + 1
        return at

    # Brackets and functions -----------------------------------------------------------------------------------------

    def bracket(self, run: Run, at: int, stop: int) -> int | None:
        """A bracketed expression; None for a remark without a number. One that does not parse has no value here."""
        if not any(token.kind in ("num", "fn", "const") for token in self.inside(at, stop)):
            return None
        close = self.matches[at]
        applied = at > 0 and self.tokens[at].glued and self.tokens[at - 1].kind in ("word", "sub", "other")
        self.group(run, at + 1, close, "()")
        run.unknown |= applied  # f(3)
        return close + 1

    def group(self, run: Run, start: int, stop: int, brackets: str) -> None:
        """Read ``tokens[start:stop]`` as one expression in brackets."""
        inner = self.whole(start, stop, run.depth + 1)
        if inner is None or inner.unknown:
            run.unknown = True
        if inner is not None:
            run.doubtful |= inner.doubtful
            run.letter = run.letter or inner.letter
        items = [NO_VALUE] if inner is None else inner.items
        run.items += [Item("open", brackets[0]), *items, Item("close", brackets[1])]

    def whole(self, start: int, stop: int, depth: int) -> Run | None:
        """The expression that fills ``tokens[start:stop]``, or None."""
        if depth > MAX_DEPTH or start >= stop or not self.may_start(start, start, stop):
            return None
        run = Run(start, depth=depth)
        end = self.operand(run, start, stop)
        while end is not None and end < stop:
            end = self.operator(run, end, stop)
        return run if end == stop else None

    def function(self, run: Run, at: int, stop: int) -> int | None:
        r"""``\frac{…}{…}``, ``\sqrt[n]{…}``, ``\binom{…}{…}``."""
        name = self.tokens[at].text
        count = 1 if name == r"\sqrt" else 2
        run.items.append(Item("fn", name))
        at += 1
        if count == 1 and at < stop and self.tokens[at].text == "[":
            if self.matches[at] != at + 2 or self.tokens[at + 1].kind != "num":
                return None
            degree = self.tokens[at + 1]
            run.items += [Item("open", "["), Item("num", degree.text, degree.value), Item("close", "]")]
            at += 3
        for _ in range(count):
            if at >= stop:
                return None
            token = self.tokens[at]
            if token.kind == "num":
                run.items += [Item("open", "{"), Item("num", token.text, token.value), Item("close", "}")]
                run.unknown |= count == 2  # \frac12 takes single digits
                return at + 1
            if token.kind != "open" or not at < self.matches[at] < stop:
                return None
            self.group(run, at + 1, self.matches[at], "{}")
            at = self.matches[at] + 1
        return at

    def postfix(self, run: Run, at: int, stop: int) -> int:
        """Percent signs, powers and factorials."""
        while at < stop:
            token = self.tokens[at]
            if self.is_op(at, "%") or self.word(at, stop) in ("percent", "percentage"):
                run.items.append(Item("percent", "%"))
                at += 1
            elif token.kind == "op" and (token.text == "^" or (token.text == "**" and token.glued)):
                end = self.exponent(run, at + 1, stop)
                if end is None:
                    run.unknown |= token.text == "^"
                    return at
                at = end
            elif (
                self.is_op(at, "!") and token.glued and (at + 1 == stop or self.tokens[at + 1].kind in ("op", "close"))
            ):
                run.items.append(Item("op", "!"))
                at += 1
            else:
                break
        return at

    def exponent(self, run: Run, at: int, stop: int) -> int | None:
        """What stands after ``^``: a signed number or a group."""
        mark = len(run.items)
        run.items.append(Item("op", "^"))
        if self.is_op(at, "-"):
            run.items.append(Item("neg", "-"))
            at += 1
        if at < stop and self.tokens[at].kind == "num":
            run.items.append(Item("num", self.tokens[at].text, self.tokens[at].value))
            return at + 1
        end = self.bracket(run, at, stop) if at < stop and self.tokens[at].kind == "open" else None
        if end is None:
            del run.items[mark:]
        return end
