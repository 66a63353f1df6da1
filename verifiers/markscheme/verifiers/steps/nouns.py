"""The words after a value: units, nouns, scales, remarks in brackets."""

from __future__ import annotations

from markscheme.verifiers.math.units import lookup, parse_unit
from markscheme.verifiers.steps.runs import Run, Tokens
from markscheme.verifiers.steps.vocabulary import CLAUSE, CURRENCIES, FUNCTION_WORDS, OPERATORS, ORDINALS, PARTS, SCALES

MAX_WORDS = 10  # between a number and the operator that follows it


class Nouns(Tokens):
    """Reads what a value counts: words that say nothing of the value itself."""

    def phrase(self, run: Run, at: int, stop: int) -> int:
        """Read the unit or noun after a value; where it ends."""
        start = at
        while at < stop and len(run.words) < MAX_WORDS:
            step = self.phrase_step(run, at, stop)
            if step == 0:
                break
            at += step
        if at > start or run.words:
            self.set_unit(run)
            at = self.compound(run, at, stop)
        return at

    def phrase_step(self, run: Run, at: int, stop: int) -> int:
        """How many tokens of a noun phrase stand here; 0 at its end."""
        token = self.tokens[at]
        following = self.tokens[at + 1] if at + 1 < stop else None
        if token.kind == "word":
            return self.phrase_word(run, at, stop)
        behind = token.glued and self.tokens[at - 1].kind == "num" and not (following is not None and following.glued)
        alone = not (self.starts(at + 1, stop) or self.is_op(at + 1, "+-") or (following and following.glued))
        if token.kind == "cur" and (behind or alone):
            run.words.append(token.text.lstrip("\\"))  # 29 $
            return 1
        if token.kind == "open":
            return self.remark(run, at, stop)
        if token.kind != "op" or following is None:
            return 0
        if token.text == "/" and following.kind == "word" and following.text.casefold() not in PARTS:
            if len(following.text) == 1 and not lookup(following.text):
                return 0
            run.words += ["/", following.text]  # miles/hour
            return 2
        hyphen = token.text == "-" and token.glued and following.glued and following.kind == "word"
        if hyphen and len(following.text) > 1 and following.text.casefold() not in PARTS:
            run.words.append(following.text)  # 8-inch
            return 2
        if token.text == "^" and run.words and following.kind == "num":
            run.words += ["^", following.text]  # cm^2
            return 2
        return 0

    def phrase_word(self, run: Run, at: int, stop: int) -> int:
        """The same for a word."""
        token, word = self.tokens[at], self.word(at, stop)
        if (word in CLAUSE and not (word == "so" and self.word(at + 1, stop) == "far")) or word in FUNCTION_WORDS:
            return 0
        if word in SCALES and all(one in CURRENCIES for one in run.words):
            self.scale(run, word)
            return 1
        if (word == "x" or word in OPERATORS) and (self.starts(at + 1, stop) or self.word(at + 1, stop) == "by"):
            return 0
        if word == "of" and (self.starts(at + 1, stop) or self.is_op(at + 1, "+-") or is_share(run)):
            return 0
        after_bracket = token.glued and self.tokens[at - 1].kind == "close"
        nouns = [one for one in run.words if one not in CURRENCIES]
        name = self.word(at + 1, stop) and self.tokens[at + 1].glued  # M&M's
        if len(word) == 1 and (word != "a" or token.glued) and (token.glued or not nouns) and not name:
            run.unknown |= token.glued or not lookup(token.text)  # "3 x", "(3/4)e": variables
            run.letter = token.text
        elif after_bracket and len(word) <= 3 and not lookup(word):
            run.unknown = True  # \frac{1}{2}PQ
        run.doubtful |= word[-1].isdigit()
        run.words.append(token.text)
        return 1

    def scale(self, run: Run, word: str) -> None:
        """``5 thousand``, ``2 dozen``: the last number's scale."""
        for n in range(len(run.items) - 1, -1, -1):
            if run.items[n].kind == "num":
                run.items[n] = run.items[n]._replace(scale=SCALES[word] * (run.items[n].scale or 1))
                return

    def remark(self, run: Run, at: int, stop: int) -> int:
        """A remark in brackets: ``8 (this week)``, ``5 shirts (at $2 each)``. One of single letters is a product."""
        close = self.matches[at]
        if not at < close < stop or (self.tokens[at].glued and self.tokens[at - 1].kind in ("num", "close")):
            return 0
        inner = list(self.inside(at, stop))
        if not any(token.kind == "num" for token in inner):
            letters = [token for token in inner if token.kind == "word"]
            run.unknown |= bool(letters) and all(len(token.text) == 1 for token in letters)
            return close + 1 - at
        if run.words and inner[0].kind == "word":
            run.doubtful = True
            return close + 1 - at
        return 0

    def set_unit(self, run: Run) -> None:
        """Give the last value the unit that its words name."""
        words = [word for word in run.words if word not in CURRENCIES]
        if not words or lookup(words[0]) is None or (words[0] == "in" and len(words) > 1):
            return
        sizes = range(min(len(words), 4), 0, -1)
        unit = next((found for size in sizes if (found := parse_unit(" ".join(words[:size])))), None)
        for n in range(len(run.items) - 1, -1, -1):
            if run.items[n].kind in ("num", "close"):
                if run.items[n].unit is None:
                    run.items[n] = run.items[n]._replace(unit=unit)
                return

    def compound(self, run: Run, at: int, stop: int) -> int:
        """``1 hour 30 minutes``, ``5 feet and 3 inches``: the second part counts in the unit of the first."""
        number = at + (self.word(at, stop) == "and")
        name, last = self.word(number + 1, stop), run.items[-1]
        if not name or self.tokens[number].kind != "num":
            return at
        unit, small = parse_unit(name), self.tokens[number].value
        if unit is None or last.kind != "num" or last.unit is None or last.value is None or small is None:
            return at
        if last.unit[0] != unit[0] or small * unit[1] >= last.unit[1]:
            return at
        value = last.value + small * unit[1] / last.unit[1]
        run.items[-1] = last._replace(text=f"({value.numerator}/{value.denominator})", value=value, places=0)
        return number + 2


def is_share(run: Run) -> bool:
    """Whether the last operand is a fraction or a percentage without a noun, so that "of" multiplies."""
    if run.words or not run.items:
        return False
    if run.items[-1].kind == "percent":
        return True
    last = [item.text if item.kind == "op" else item.kind for item in run.items[-3:]]
    return last == ["num", "/", "num"] or any(item.kind == "fn" for item in run.items)


def ends_in_unit(run: Run) -> bool:
    """Whether letters behind a number were read as its unit."""
    return bool(run.words) and run.words[-1] not in ORDINALS and run.words[-1] not in CURRENCIES
