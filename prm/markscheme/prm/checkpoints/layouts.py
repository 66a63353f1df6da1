"""How public checkpoints lay out a problem and its steps, where `StepEncoder`'s own layouts are not theirs.

Each has ``encode(problem, steps)``, gives the ids that the checkpoint was trained on, and the position of each step by
construction or by the characters that were put there: never by a search for a token that a step may hold too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from markscheme.prm.encode import Encoded, StepEncoder
from markscheme.prm.joining import Joiner
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from markscheme.prm.protocol import Tokenizer

_NUMBERED = re.compile(r"step\s+\d+\s*[:.]", re.IGNORECASE)


class Layout(Protocol):
    """From a problem and its steps to ids and positions."""

    def encode(self, problem: str, steps: Sequence[str]) -> Encoded:
        """Lay one solution out. ``lost`` steps, from the end, did not fit.

        Raises:
            DataError: a step cannot be laid out.
        """
        ...


class NumberedLayout:
    """Math-Shepherd: ``problem Step 1: … ки⏎Step 2: … ки``, each step read at its tag.

    Args:
        tokenizer: the checkpoint's.
        tag: the id of the tag.
        max_length: in tokens.
    """

    def __init__(self, tokenizer: Tokenizer, tag: int, max_length: int | None) -> None:
        self._encoder = StepEncoder(
            tokenizer,
            template="plain",
            separator=(tag,),
            prompt_separator="",
            max_length=max_length,
            strip=False,
            warn=False,
        )

    def encode(self, problem: str, steps: Sequence[str]) -> Encoded:
        """See `Layout`. Steps that do not number themselves are numbered."""
        # The blank before the first step belongs to it: tokenizers of this family write it into the word.
        return self._encoder.encode(
            problem.strip(), [("\n" if place else " ") + step for place, step in enumerate(numbered(steps))]
        )


class LinesLayout:
    """Skywork-o1: begin-of-text, problem, ⏎, then each line of each step and ⏎ as an id of its own.

    A step of several lines is read at its last. Blank lines are left out.
    """

    def __init__(self, tokenizer: Any, max_length: int | None) -> None:
        self._joiner = Joiner(tokenizer)
        bos = getattr(tokenizer, "bos_token_id", None)
        self._before = [] if bos is None else [bos]
        self._line_end = self._joiner.pieces(["\n"])[0][-1]
        self._max_length = max_length

    def encode(self, problem: str, steps: Sequence[str]) -> Encoded:
        """See `Layout`."""
        ids = [*self._before, *self._joiner.first(problem.strip() + "\n")]
        prompt_length = len(ids)
        positions = []
        for number, step in enumerate(steps):
            lines = [line for line in step.strip().split("\n") if line.strip()]
            if not lines:
                raise DataError(f"step {number} is empty")
            for piece in self._joiner.pieces(lines):
                ids += [*piece, self._line_end]
            positions.append(len(ids) - 1)
        return cut(ids, positions, prompt_length, self._max_length)


class TurnsLayout:
    """RLHFlow: each step a turn of the user's, ``+`` the assistant's; a step's position holds that ``+``.

    The first turn is the problem, ``joint`` and the first step.

    Args:
        tokenizer: a fast one, with a chat template.
        plus: the id of ``+``.
        max_length: in tokens.
        joint: a blank in RLHFlow's own evaluation, a blank line in ProcessBench's.
    """

    def __init__(self, tokenizer: Any, plus: int, max_length: int | None, joint: str = " ") -> None:
        self._tokenizer = tokenizer
        self._plus = plus
        self._max_length = max_length
        self._joint = joint

    def encode(self, problem: str, steps: Sequence[str]) -> Encoded:
        """See `Layout`."""
        refuse_blank(steps)
        turns: list[dict[str, str]] = []
        prompts = []
        for number, step in enumerate(steps):
            asked = problem.strip() + self._joint + step.strip() if number == 0 else step.strip()
            turns.append({"role": "user", "content": asked})
            prompts.append(self._render(turns, ask=True))
            turns.append({"role": "assistant", "content": "+"})
        text = self._render(turns, ask=False)
        ids, offsets = encode_rendered(self._tokenizer, text)
        positions = tokens_at(offsets, [_plus_after(text, prompt, number) for number, prompt in enumerate(prompts)])
        joined = next((position for position in positions if ids[position] != self._plus), None)
        if joined is not None:
            raise DataError(
                f"token {joined} is {ids[joined]}, expected that of '+', {self._plus}: this template joins it to others"
            )
        return cut(ids, positions, positions[0], self._max_length)

    def _render(self, turns: list[dict[str, str]], *, ask: bool) -> str:
        return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=ask))


class DialogueLayout:
    """EurusPRM: the problem a user's turn, the steps an assistant's, ``Step k: …`` with blank lines between.

    Args:
        tokenizer: a fast one, with a chat template.
        max_length: in tokens.
        ends: where a step ends. ``card``: where the model card's code reads it, which counts tokens of a prefix that
            ends in the template's end-of-turn: with Qwen's template that is one or two tokens into the next step.
            ``step``: at the last token of the blank line after the step, as the definition has it.
    """

    def __init__(self, tokenizer: Any, max_length: int | None, ends: Literal["card", "step"] = "card") -> None:
        self._tokenizer = tokenizer
        self._max_length = max_length
        self._ends = ends

    def encode(self, problem: str, steps: Sequence[str]) -> Encoded:
        """See `Layout`. A position is the last token that counts towards a step."""
        refuse_blank(steps)
        texts = [step.strip() for step in numbered(steps)]
        whole = self._render(problem, texts)
        ids, offsets = encode_rendered(self._tokenizer, whole)
        if self._ends == "card":
            # The card takes a prefix's length - 2 as an index into log-probabilities, each of which is of the token
            # after its index; its mask, which is not shifted, begins one token before the answer.
            counts = [len(self._prefix(problem, texts, count)) for count in range(len(texts) + 1)]
            positions = [min(count, len(ids)) - 1 for count in counts[1:]]
            return cut(ids, positions, counts[0] - 2, self._max_length)
        start = whole.index(texts[0])
        characters, end = [], start
        for text in texts:
            end = whole.index(text, end) + len(text)
            characters.append(end + 1 if text is not texts[-1] else end - 1)
        return cut(ids, tokens_at(offsets, characters), tokens_at(offsets, [start])[0], self._max_length)

    def _prefix(self, problem: str, texts: Sequence[str], count: int) -> list[int]:
        text = self._render(problem, texts[:count])
        if 0 < count < len(texts):
            text += "\n\n"
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _render(self, problem: str, texts: Sequence[str]) -> str:
        turns = [{"role": "user", "content": problem.strip()}, {"role": "assistant", "content": "\n\n".join(texts)}]
        return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=False)).strip()


def _plus_after(text: str, prompt: str, number: int) -> int:
    """The character of the "+" that answers a prompt: the first after it that is not blank."""
    at = len(prompt) + len(text[len(prompt) :]) - len(text[len(prompt) :].lstrip())
    if not text.startswith(prompt) or text[at : at + 1] != "+":
        raise DataError(f"the chat template does not write the '+' of step {number} where the prompt for it ends")
    return at


def numbered(steps: Sequence[str]) -> list[str]:
    """Steps that begin with ``Step k:``: those that do not are given it."""
    refuse_blank(steps)
    return [
        step.strip() if _NUMBERED.match(step.strip()) else f"Step {number}: {step.strip()}"
        for number, step in enumerate(steps, start=1)
    ]


def refuse_blank(steps: Sequence[str]) -> None:
    """Refuse steps without text.

    Raises:
        DataError: with the first one's place.
    """
    if not steps:
        raise DataError("the solution has no steps")
    for number, step in enumerate(steps):
        if not step.strip():
            raise DataError(f"step {number} is empty")


def cut(ids: Sequence[int], positions: Sequence[int], prompt_length: int, max_length: int | None) -> Encoded:
    """Cut off steps that do not fit whole. A step starts behind the position of the one before."""
    kept = [position for position in positions if max_length is None or position < max_length]
    starts = [prompt_length, *(position + 1 for position in kept)][: len(kept)]
    end = len(ids)
    if max_length is not None and end > max_length:
        end = kept[-1] + 1 if kept else min(prompt_length, max_length)
    return Encoded(tuple(ids[:end]), tuple(kept), tuple(starts), prompt_length, len(positions) - len(kept))


def encode_rendered(tokenizer: Any, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Ids of what a chat template rendered, with the characters that each stands for.

    Raises:
        DataError: the tokenizer does not say which.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise DataError(
            "this checkpoint's layout needs a fast tokenizer, which says which characters a token stands for"
        )
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return list(found["input_ids"]), [tuple(pair) for pair in found["offset_mapping"]]


def tokens_at(offsets: Sequence[tuple[int, int]], characters: Sequence[int]) -> list[int]:
    """For each character, rising, the token that it ends in: the last that holds it."""
    found, token = [], 0
    for character in characters:
        while token + 1 < len(offsets) and offsets[token + 1][0] <= character:
            token += 1
        found.append(token)
    return found
