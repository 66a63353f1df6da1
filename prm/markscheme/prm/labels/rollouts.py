"""From a prefix of a solution to rollouts, and from rollouts to how often they come right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from markscheme.prm.labels.result import Estimate
from markscheme.prm.labels.tasks import LabelTask
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.grading import AnswerVerifier
from markscheme.verifiers.math.verifier import MathVerifier
from markscheme.verifiers.verdict import SCORES, Outcome

Prompt = str | Sequence[Mapping[str, str]]
"""A text to go on from, or messages to answer."""


class Generate(Protocol):
    """Any function that completes prompts."""

    def __call__(self, prompts: Sequence[Prompt], n: int) -> list[list[str]]:
        """Return ``n`` completions of each prompt, in order, without the prompt."""
        ...


Check = Callable[[LabelTask, str], Outcome]
"""Says whether a whole solution ends in the right answer. UNREADABLE: it states none (yet)."""


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Checks a solution's final answer against the task's gold answer.

    Attributes:
        verifier: `MathVerifier` by default.
    """

    verifier: AnswerVerifier = field(default_factory=MathVerifier)

    def __call__(self, task: LabelTask, text: str) -> Outcome:
        """See `Check`.

        Raises:
            DataError: the task has no gold answer.
            GoldError: its gold answer cannot be read.
        """
        if not task.gold:
            raise DataError(f"row {task.row} has no gold answer, without which no rollout can be checked")
        return self.verifier.verify(text, task.gold).outcome


@dataclass(frozen=True, slots=True)
class PrefixPrompt:
    r"""Writes a problem with the first steps of a solution, as a text to go on from.

    Attributes:
        ask: from a problem to the text behind which a solution begins.
        separator: what follows each step; that of the policy's own solutions.
        lead: what stands before the first step and is not part of ``ask``, such as the blank after "Answer:", which
            must not end a prompt.
    """

    ask: Callable[[str], str] = "{}\n\n".format
    separator: str = "\n\n"
    lead: str = ""

    def __call__(self, task: LabelTask, count: int) -> str:
        """The prompt of the first ``count`` steps; with 0, the problem alone."""
        return self.ask(task.problem) + (self.lead if count else "") + self.solution(task, count)

    def solution(self, task: LabelTask, count: int) -> str:
        """The first ``count`` steps alone."""
        return "".join(step + self.separator for step in task.steps[:count])


@dataclass(frozen=True, slots=True)
class ChatAsk:
    """Writes a problem by a chat template, up to where the assistant's turn begins.

    The steps go behind it as text, so they are never changed by a template that strips or wraps an assistant's message.

    Attributes:
        tokenizer: of the policy.
        messages: from a problem to the messages that ask it; by default the user's alone.
        options: more variables for the template, such as ``enable_thinking``.
    """

    tokenizer: Any
    messages: Callable[[str], Sequence[Mapping[str, str]]] = lambda problem: [{"role": "user", "content": problem}]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, problem: str) -> str:
        """The text. A beginning-of-sequence token is left to the tokenizer where that adds its own.

        Raises:
            DataError: the tokenizer has no chat template.
        """
        if not getattr(self.tokenizer, "chat_template", None):
            raise DataError("the tokenizer has no chat template: ask in plain text")
        turns = [dict(message) for message in self.messages(problem)]
        text = str(
            self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **self.options)
        )
        begin, begin_id = self.tokenizer.bos_token, self.tokenizer.bos_token_id
        adds = begin is not None and list(self.tokenizer("a")["input_ids"])[:1] == [begin_id]
        return text.removeprefix(begin) if adds else text


def estimates(
    generate: Generate, prompt: PrefixPrompt, check: Check, n: int, asked: Sequence[tuple[LabelTask, int]]
) -> list[Estimate]:
    """Roll out prefixes, all in one call, and count how often they come right.

    Args:
        generate: completes prompts.
        prompt: writes them.
        check: judges the prefix with its completion.
        n: rollouts a prefix.
        asked: solutions, and how many of their steps the prefix holds.

    Raises:
        DataError: ``generate`` does not give ``n`` texts for each prompt.
    """
    if not asked:
        return []
    found = generate([prompt(task, count) for task, count in asked], n)
    checked_rollouts(found, len(asked), n)
    return [
        count_outcomes([check(task, prompt.solution(task, count) + text) for text in texts])
        for (task, count), texts in zip(asked, found, strict=True)
    ]


def checked_rollouts(found: Sequence[Sequence[str]], prompts: int, n: int) -> None:
    """Raise DataError unless there are ``n`` texts for each prompt."""
    if len(found) != prompts:
        raise DataError(f"generate was given {prompts} prompts and gave {len(found)} lists of completions")
    wrong = next((place for place, texts in enumerate(found) if len(texts) != n), None)
    if wrong is not None:
        raise DataError(
            f"generate was asked for {n} completions a prompt and gave {len(found[wrong])} of prompt {wrong}"
        )


def count_outcomes(outcomes: Sequence[Outcome], *, stated: bool = False) -> Estimate:
    """Count outcomes: no answer is a wrong one, an undecided one does not count."""
    scores = [SCORES[outcome] for outcome in outcomes]
    right, undecided = scores.count(1.0), scores.count(None)
    return Estimate(right=right, judged=len(scores) - undecided, undecided=undecided, stated=stated)


def own_answer(check: Check, prompt: PrefixPrompt, task: LabelTask) -> Outcome:
    """What the verifier says of the solution as it stands."""
    return check(task, prompt.solution(task, len(task.steps)))


def answer_right(outcome: Outcome) -> bool | None:
    """Whether a stated answer is right; None where it was not decided or there is none."""
    return {Outcome.CORRECT: True, Outcome.INCORRECT: False}.get(outcome)
