"""From a problem to what a model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markscheme.benchmarks.rollouts.shots import Shot
from markscheme.verifiers.errors import DataError

INSTRUCTION = "Solve the problem step by step, and put your final answer within \\boxed{}."
STOP = ("\nQuestion:",)
"""Where a plain completion ends: a base model goes on with a question of its own."""
Style = Literal["chat", "plain"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked: messages for its chat template, or text as it stands."""

    messages: tuple[dict[str, str], ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Prompter:
    """Makes prompts of one style.

    Attributes:
        style: "chat": the instruction and the question are a user's message, examples are earlier turns;
            "plain": ``Question: … Answer: …``, for base models.
        shots: worked examples that come before the question.
        instruction: what is asked of the model; with chat before the question, with plain at the very top.
        system: a system message; "" leaves the template's own.
    """

    style: Style = "chat"
    shots: Sequence[Shot] = ()
    instruction: str = INSTRUCTION
    system: str = ""

    def __call__(self, question: str) -> Prompt:
        """The prompt for a question."""
        return self._chat(question) if self.style == "chat" else self._plain(question)

    @property
    def stop(self) -> tuple[str, ...]:
        """Texts that end a completion in this style."""
        return STOP if self.style == "plain" else ()

    def _chat(self, question: str) -> Prompt:
        messages = [{"role": "system", "content": self.system}] if self.system else []
        for shot in self.shots:
            messages += [_turn("user", self._asked(shot.question)), _turn("assistant", shot.solution)]
        return Prompt(messages=(*messages, _turn("user", self._asked(question))))

    def _asked(self, question: str) -> str:
        return f"{self.instruction}\n\n{question}" if self.instruction else question

    def _plain(self, question: str) -> Prompt:
        parts = [text for text in (self.system, self.instruction) if text]
        parts += [f"Question: {shot.question}\nAnswer: {shot.solution}" for shot in self.shots]
        return Prompt(text="\n\n".join([*parts, f"Question: {question}\nAnswer:"]))


def prompter(style: Literal["auto", "chat", "plain"], shots: Sequence[Shot], few: int, *, chats: bool) -> Prompter:
    """A prompter for a model.

    Args:
        style: "auto" takes chat where the model has a template.
        shots: the suite's examples.
        few: how many of them.
        chats: whether the model has a chat template.

    Raises:
        DataError: chat is asked of a model without a template, or more examples than there are.
    """
    if few > len(shots):
        raise DataError(f"expected at most {len(shots)} worked examples, {few} were asked for")
    if style == "chat" and not chats:
        raise DataError("the model's tokenizer has no chat template: pass --style plain")
    return Prompter(style="plain" if style == "plain" or not chats else "chat", shots=tuple(shots[:few]))


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
