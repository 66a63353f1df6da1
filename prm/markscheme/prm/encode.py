"""From a problem and its steps to token ids and a position a step: one encoder for training, scoring and the trainer.

The commonest fault of process reward models is a label that sits on the wrong token (trl#2127, OpenRLHF#683,
ProcessBench#12). Here no position is ever searched for: every step is encoded on its own, the separator's ids are put
after it, and the position is where the separator was put.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

from markscheme.prm.encoding import Encoded, EncoderConfig, EncodingReport, LostStepsWarning
from markscheme.prm.joining import Joiner, contains
from markscheme.prm.protocol import Tokenizer
from markscheme.prm.schema import Message, StepSample
from markscheme.prm.segment import StepSplitter
from markscheme.verifiers.errors import DataError, StepDataError

__all__ = ["Encoded", "EncoderConfig", "EncodingReport", "LostStepsWarning", "Prompt", "StepEncoder"]

Prompt = str | Sequence[Message] | Sequence[Mapping[str, str]]
"""A problem: a text, or the messages that ask it."""


class StepEncoder:
    """Lays out a problem and its steps, and says where each step ends.

    ids are ``prompt, step 0, separator, step 1, separator, …``. They do not depend on what follows, so one forward pass
    over a solution scores what a pass over each prefix would. Step text never becomes a special token, whatever it
    spells. What stands after an assistant's turn in a chat template is not written: a causal model does not see it.

    Args:
        tokenizer: of the backbone.
        config: the layout; or its fields as keywords.
        strict: raise DataError when a step is lost, rather than count it.
        warn: of the first solution of which steps are lost; whoever shows the report himself says no.

    Raises:
        DataError: the tokenizer cannot write the separator, or has no chat template where one is asked for.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        config: EncoderConfig | None = None,
        *,
        strict: bool = False,
        warn: bool = True,
        **fields: Any,
    ) -> None:
        config = config or EncoderConfig()
        config = EncoderConfig.model_validate({**config.model_dump(), **fields})
        if config.template == "auto":
            has = bool(getattr(tokenizer, "chat_template", None))
            config = config.model_copy(update={"template": "chat" if has else "plain"})
        elif config.template == "chat" and not getattr(tokenizer, "chat_template", None):
            raise DataError('the tokenizer has no chat template: give it one, or pass template="plain"')
        self.tokenizer = tokenizer
        self.config = config
        self.strict = strict
        self.warn = warn
        self.report = EncodingReport()
        """All that this encoder has encoded so far."""
        self._joiner = Joiner(tokenizer)
        self.separator_ids, self.separator = self._joiner.separator(config.separator)

    @classmethod
    def from_config(cls, tokenizer: Tokenizer, saved: Mapping[str, Any], *, strict: bool = False) -> Self:
        """Build an encoder from what `EncoderConfig.model_dump` gave, as read back from JSON."""
        return cls(tokenizer, EncoderConfig.model_validate(dict(saved)), strict=strict)

    def text(self, prompt: Prompt, steps: Sequence[str]) -> str:
        """Return the text whose ids `encode` gives, before anything is cut off; special tokens are spelled out."""
        return self._prompt_text(prompt) + "".join(self._clean(step) + self.separator for step in steps)

    def encode(self, prompt: Prompt, steps: Sequence[str]) -> Encoded:
        """Encode one solution.

        Raises:
            DataError: a step is empty or, unless that is allowed, holds the separator; with ``strict`` also when a step
                is lost.
        """
        encoded, held = self._encode(prompt, steps)
        if encoded.lost and self.warn and not self.report.lost:
            warnings.warn(
                f"{self._lost(encoded)} and are lost; later ones are only counted, in StepEncoder.report",
                LostStepsWarning,
                stacklevel=2,
            )
        self.report.count(encoded, held)
        return encoded

    def encode_completion(self, prompt: Prompt, completion: str, splitter: StepSplitter | str = "\n\n") -> Encoded:
        """Encode what a policy wrote: its steps as ``splitter`` cuts them, laid out as in training.

        White space around steps and the policy's own separators make no difference, so these are the ids that the same
        steps have as a labelled sample. A completion without steps has no positions. Raises as `encode`.
        """
        finder = StepSplitter(splitter) if isinstance(splitter, str) else splitter
        return self.encode(prompt, finder.split(completion))

    def encode_sample(self, sample: StepSample) -> Encoded:
        """Encode a labelled solution: the ids of `encode`, and the targets of the kept steps. Raises as `encode`."""
        return _labelled(self.encode(sample.prompt, sample.completions), sample)

    def encode_many(
        self, samples: Iterable[StepSample], *, on_bad: Literal["error", "skip"] = "error"
    ) -> tuple[list[Encoded], EncodingReport]:
        """Encode labelled solutions; what is lost is counted in the report and shown in one LostStepsWarning.

        Args:
            samples: the rows.
            on_bad: what to do with rows that cannot be encoded, or of which no step fits: ``error`` raises once for all
                of them, ``skip`` leaves them out.

        Raises:
            StepDataError: rows are bad; it lists every one.
        """
        report, done = EncodingReport(), []
        for row, sample in enumerate(samples):
            try:
                encoded, held = self._encode(sample.prompt, sample.completions)
                if not encoded.positions:
                    raise DataError(self._lost(encoded))
            except DataError as error:
                report.leave_out(row, sample, str(error))
                continue
            report.count(encoded, held)
            done.append(_labelled(encoded, sample))
        if report.skipped and on_bad == "error":
            raise StepDataError(report.skipped, places=report.places)
        self.report.add(report)
        if report.sentences():
            warnings.warn(" ".join(report.sentences()), LostStepsWarning, stacklevel=2)
        return done, report

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, without the special tokens that the tokenizer puts before a plain text."""
        start = self._joiner.before if self.config.template == "plain" else ()
        rest = ids[len(start) :] if tuple(ids[: len(start)]) == start else ids
        return self._joiner.decode(rest)

    # What stands where ----------------------------------------------------------------------------------------------

    def _encode(self, prompt: Prompt, steps: Sequence[str]) -> tuple[Encoded, int]:
        """Encode, and count the steps that hold the separator; nothing is reported yet."""
        cleaned = [self._clean(step) for step in steps]
        if "" in cleaned:
            raise DataError(f"step {cleaned.index('')} is empty")
        pieces = self._joiner.pieces(cleaned)
        held = [i for i, piece in enumerate(pieces) if self._holds_separator(cleaned[i], piece)]
        if held and self.config.separator_in_step == "error":
            raise DataError(
                f"step {held[0]} holds the separator {self.separator!r}: choose a separator that no step has, or pass "
                'separator_in_step="allow"'
            )
        encoded = self._lay_out(self._prompt_ids(prompt), pieces)
        if encoded.lost and self.strict:
            raise DataError(self._lost(encoded))
        return encoded, len(held)

    def _lay_out(self, prompt: list[int], pieces: Sequence[Sequence[int]]) -> Encoded:
        limit = self.config.max_length
        ids, starts, positions = list(prompt), [], []
        for piece in pieces:
            if limit is not None and len(ids) + len(piece) + len(self.separator_ids) > limit:
                break
            starts.append(len(ids))
            ids += [*piece, *self.separator_ids]
            positions.append(len(ids) - 1)
        return Encoded(tuple(ids), tuple(positions), tuple(starts), len(prompt), len(pieces) - len(positions))

    def _lost(self, encoded: Encoded) -> str:
        limit = f"max_length={self.config.max_length}"
        if encoded.positions:
            return f"{encoded.lost} of {len(encoded.positions) + encoded.lost} steps are beyond {limit}"
        return f"no step fits: the problem alone takes {encoded.prompt_length} tokens of {limit}"

    def _holds_separator(self, step: str, piece: Sequence[int]) -> bool:
        return self.separator in step or contains(piece, self.separator_ids)

    def _clean(self, text: str) -> str:
        return text.strip() if self.config.strip else text

    def _prompt_text(self, prompt: Prompt) -> str:
        if self.config.template == "plain":
            if not isinstance(prompt, str):
                prompt = "\n\n".join(message["content"] for message in _messages(prompt))
            return self._clean(prompt) + self.config.prompt_separator
        turns = [{"role": "user", "content": self._clean(prompt)}] if isinstance(prompt, str) else _messages(prompt)
        if self.config.system is not None and turns[0]["role"] != "system":
            turns = [{"role": "system", "content": self.config.system}, *turns]
        render = getattr(self.tokenizer, "apply_chat_template")  # noqa: B009 - only a chat template needs it
        options = {"tokenize": False, "add_generation_prompt": True, **self.config.template_options}
        return str(render(turns, **options))

    def _prompt_ids(self, prompt: Prompt) -> list[int]:
        text = self._prompt_text(prompt)
        if self.config.template == "plain":
            return [*self._joiner.before, *self._joiner.first(text)]
        return self._joiner.rendered(text)


def _messages(prompt: Sequence[Message] | Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    return [message.model_dump() if isinstance(message, Message) else dict(message) for message in prompt]


def _labelled(encoded: Encoded, sample: StepSample) -> Encoded:
    return replace(encoded, labels=sample.targets[: len(encoded.positions)])
