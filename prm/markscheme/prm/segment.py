r"""Steps of a completion: where each stands in the text, and which tokens are its own.

Text steps are found by a ``StepSplitter``; ``token_steps`` finds their tokens through the completion's ids, whatever
the tokenizer does at the steps' borders: tokens that hold a separator and the text beside it, characters that span
several tokens, special tokens without text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markscheme.prm.alignment import Alignment, Decoder, align
from markscheme.verifiers.errors import DataError

Spans = Callable[[str], Iterable[tuple[int, int]]]

# "Step 3:", "**Step 3.**", "### Step 3 - …" at the start of a line; without width: the heading stays in its step.
_HEADINGS = re.compile(
    r"^(?=[ \t#>*_]{0,12}step[ \t]{1,4}\d{1,4}\b[ \t*_]{0,6}(?:[:.)–—-]|\r?$))", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class StepSpan:
    """One step of a completion. The tokens of its steps, one after the other, are all tokens of the completion.

    Attributes:
        text: the step, without the blanks and separators around it.
        start_char: where it begins in the decoded completion, in characters.
        end_char: where it ends, exclusive.
        first_token: the index of its first token in the completion, 0-based. The first step begins at 0.
        last_token: the index of its last token: what follows a step up to the next one (separator, special tokens, end
            of sequence) belongs to it. Increases strictly from step to step.
        truncated: the completion ends before the step does. Only the last step can be truncated.
        count: how many steps of the text it holds: more than 1 where one token ends several, which no index can part.
    """

    text: str
    start_char: int
    end_char: int
    first_token: int
    last_token: int
    truncated: bool = False
    count: int = 1


class StepSplitter:
    r"""Finds the steps of a text. Steps that are empty or blank are none.

    Args:
        pattern: what parts the steps. Text (``"\n\n"``, ``"\n"``, ``"<step>"``) parts them where it stands, as
            ``str.split`` does. ``"steps"`` begins a step at each line that is headed "Step k:"; what stands before the
            first is a step too. A compiled regular expression parts them at its matches; one that matches the empty
            string (a lookahead) begins a step there and takes nothing away. A callable returns the character spans of
            the steps of a text, ``[(start, stop), …]``, in order.

    Raises:
        ValueError: an empty separator.
        TypeError: a pattern that is none of these.
    """

    def __init__(self, pattern: str | re.Pattern[str] | Spans = "\n\n") -> None:
        self.pattern = pattern
        self._regex: re.Pattern[str] | None = None
        if isinstance(pattern, str):
            if not pattern:
                raise ValueError('an empty separator parts nothing: pass the text between steps, such as "\\n\\n"')
            self._regex = _HEADINGS if pattern == "steps" else re.compile(re.escape(pattern))
        elif isinstance(pattern, re.Pattern):
            self._regex = pattern
        elif not callable(pattern):
            raise TypeError(f"expected text, a compiled pattern or a callable, not {type(pattern).__name__}")

    def __repr__(self) -> str:
        return f"StepSplitter({self.pattern!r})"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character spans of the steps of ``text``, in order, without the blanks around each.

        Raises:
            DataError: a callable's spans are out of order, overlap, or lie outside the text.
        """
        if self._regex is None:
            found = self._called(text)
        else:
            found, start = [], 0
            for match in self._regex.finditer(text):
                found.append((start, match.start()))
                start = match.end()
            found.append((start, len(text)))
        return [span for span in (_trimmed(text, *span) for span in found) if span[0] < span[1]]

    def split(self, text: str) -> list[str]:
        """Return the steps of ``text``."""
        return [text[start:stop] for start, stop in self.spans(text)]

    def is_open(self, text: str) -> bool:
        """Whether the last step of ``text`` may go on: no separator follows it (headings and callables cannot say)."""
        spans = self.spans(text)
        if not spans or self._regex is None:
            return True
        return all(match.start() == match.end() for match in self._regex.finditer(text, spans[-1][1]))

    def _called(self, text: str) -> list[tuple[int, int]]:
        assert callable(self.pattern)  # noqa: S101 - for the type checker
        found, last = [(int(start), int(stop)) for start, stop in self.pattern(text)], 0
        for n, (start, stop) in enumerate(found):
            if not last <= start <= stop <= len(text):
                raise DataError(
                    f"the splitter's span {n} is ({start}, {stop}): expected {last} <= start <= stop <= {len(text)}, "
                    f"that is spans in order, without overlap, inside the text of {len(text)} characters"
                )
            last = stop
        return found


def _trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    part = text[start:stop]
    blank = len(part) - len(part.lstrip())
    return start + blank, max(start + len(part.rstrip()), start + blank)


def token_steps(
    completion_ids: Sequence[int],
    tokenizer: Decoder,
    splitter: StepSplitter | str = "\n\n",
    *,
    end_ids: Collection[int] | None = None,
    truncated: bool | None = None,
    skip_special_tokens: bool = True,
) -> list[StepSpan]:
    """Return the steps of a completion with their tokens.

    Linear in the completion. A step's last token is the one that completes its last character, or the last one before
    the next step where separators or special tokens stand between; the last step's is the completion's last token, end
    of sequence included, padding behind it left out. A completion without text has no steps.

    Args:
        completion_ids: the ids as they were sampled; never text that was encoded anew.
        tokenizer: of transformers or tokenizers, or anything that decodes alike.
        splitter: finds the steps of the text; text stands for ``StepSplitter(text)``.
        end_ids: the ids that end a completion. Where not given: the tokenizer's ``eos_token_id``, and any other of its
            special tokens, since models also end a turn with one that is not its end of sequence (Gemma's
            ``<end_of_turn>``).
        truncated: whether the completion was cut off. Where not given, it was when its last id is neither among
            ``end_ids`` nor the tokenizer's padding; with a tokenizer that knows no end of sequence it was not.
        skip_special_tokens: leave special tokens out of the text, as TRL does.

    Raises:
        DataError: the splitter's spans are wrong, or the decoder cannot be aligned.
    """
    finder = StepSplitter(splitter) if isinstance(splitter, str) else splitter
    ends = _end_ids(tokenizer) if end_ids is None else frozenset(end_ids)
    pad = getattr(tokenizer, "pad_token_id", None)
    special = frozenset(getattr(tokenizer, "all_special_ids", ())) | ends
    ids = list(completion_ids)
    if truncated is None:
        closing = ends | {pad} | (special - {getattr(tokenizer, "unk_token_id", None)} if end_ids is None else set())
        truncated = bool(ends and ids) and ids[-1] not in closing
    aligned = align(ids, tokenizer, skip_special_tokens=skip_special_tokens)
    spans = finder.spans(aligned.text)
    if not spans:
        return []
    groups = _groups(spans, aligned)
    lasts = [_last_token(one[-1], two[0], ids, aligned, special) for one, two in pairwise(groups)]
    lasts.append(_unpadded(ids, ends, pad) - 1)
    lasts[-1] = max(lasts[-1], _completing(groups[-1][-1], aligned))
    cut = truncated and finder.is_open(aligned.text)
    firsts = [0, *(last + 1 for last in lasts[:-1])]
    return [
        StepSpan(
            aligned.text[group[0][0] : group[-1][1]],
            group[0][0],
            group[-1][1],
            first,
            last,
            truncated=cut and group is groups[-1],
            count=len(group),
        )
        for group, first, last in zip(groups, firsts, lasts, strict=True)
    ]


def _end_ids(tokenizer: Decoder) -> frozenset[int]:
    eos = getattr(tokenizer, "eos_token_id", None)
    if eos is None:
        return frozenset()
    return frozenset((eos,)) if isinstance(eos, int) else frozenset(eos)


def _unpadded(ids: list[int], ends: frozenset[int], pad: int | None) -> int:
    """The length of a completion without what pads it behind its end of sequence."""
    size = len(ids)
    while (
        size > 1 and (ids[size - 1] == pad or ids[size - 1] in ends) and (ids[size - 2] == pad or ids[size - 2] in ends)
    ):
        size -= 1
    if size > 1 and ids[size - 1] == pad and pad not in ends:
        size -= 1
    return size


def _completing(span: tuple[int, int], aligned: Alignment) -> int:
    """The index of the token that completes a step's last character."""
    return bisect_left(aligned.reached, span[1])


def _groups(spans: list[tuple[int, int]], aligned: Alignment) -> list[list[tuple[int, int]]]:
    """The steps, those together that one token completes."""
    groups: list[list[tuple[int, int]]] = []
    for span in spans:
        if groups and _completing(groups[-1][-1], aligned) == _completing(span, aligned):
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _last_token(
    span: tuple[int, int], following: tuple[int, int], ids: list[int], aligned: Alignment, special: frozenset[int]
) -> int:
    """The index of a step's last token: separators and special tokens before the following step are its own."""
    border = bisect_left(aligned.reached, following[0])  # the token with which what stands before the next step ends …
    if aligned.reached[border] > following[0]:
        border -= 1  # … which it shares with the next step
    else:
        stop = _completing(following, aligned)
        while border + 1 < stop and ids[border + 1] in special:
            border += 1
    return max(border, _completing(span, aligned))
