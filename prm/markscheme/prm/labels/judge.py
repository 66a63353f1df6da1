r"""A language model as the labeler: asked for the first wrong step, as ProcessBench (2412.06559) asks its critics.

The judge's answer counts only if it is exactly what was asked for: one ``\boxed{k}`` with k a step or -1. Anything else
is asked again, then left without a label and counted; nothing is guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from markscheme.prm.labels.result import After, StepLabels, unlabelled, up_to
from markscheme.prm.labels.rollouts import Generate, Prompt, checked_rollouts
from markscheme.prm.labels.tasks import LabelTask
from markscheme.verifiers.errors import DataError

_BOX = re.compile(r"\\boxed\s*\{([^{}]*)\}?")
_INDEX = re.compile(r"-1|0|[1-9][0-9]{0,5}")
_THINK = re.compile(r"<think>|</think>")
TIED = "the judge's votes are tied"
UNPARSED = "no answer of the judge could be read"

INSTRUCTION = (
    "Below are a problem and a solution that is written in numbered steps. Check the steps one after the other. A step "
    "is wrong if it contains a mistake of mathematics, of logic or of fact, or does not follow from the problem and "
    "from the steps before it. Find the first wrong step.\n\nEnd with the number of the first wrong step in a box, "
    "such as \\boxed{2}. If no step is wrong, end with \\boxed{-1}. Write exactly one box."
)


def judge_messages(task: LabelTask) -> list[dict[str, str]]:
    """What the judge is asked: one user's message. Steps are numbered from 0."""
    steps = "\n\n".join(f"<step_{place}>\n{step}\n</step_{place}>" for place, step in enumerate(task.steps))
    text = f"{INSTRUCTION}\n\n<problem>\n{task.problem}\n</problem>\n\n{steps}"
    return [{"role": "user", "content": text}]


def read_judgement(text: str, steps: int) -> int | None:
    r"""Read a judge's answer, strictly.

    Only what follows ``</think>`` counts. There must be one boxed value (repeated at most), closed, a whole number from
    -1 to the last step.

    Returns:
        The first wrong step from 0, -1 for none; None where the answer cannot be read.
    """
    marks = _THINK.findall(text)
    if marks and marks[-1] == "<think>":
        return None  # it never came to an answer
    text = text.rsplit("</think>", 1)[-1]
    boxes = list(_BOX.finditer(text))
    values = {box[1].strip() for box in boxes}
    if len(values) != 1 or not all(box[0].endswith("}") for box in boxes):
        return None
    value = values.pop()
    if not _INDEX.fullmatch(value) or int(value) >= steps:
        return None
    return int(value)


class JudgeLabeler:
    """Labels steps by what a language model says of them.

    Args:
        ask: answers messages: any function of prompts and ``n``, such as one over an OpenAI-compatible server.
        votes: answers a solution; the step that most of them name counts, a tie names none.
        retries: how often answers that cannot be read are asked for again. With a greedy judge that is in vain.
        messages: what to ask.
        after: what becomes of steps after the first error; the judge says nothing of them.
        name: what tells this judge and its sampling from others: a resumed run compares it.

    Raises:
        DataError: no votes, or a negative number of retries.
    """

    source = "judge"

    def __init__(
        self,
        ask: Generate,
        *,
        votes: int = 1,
        retries: int = 2,
        messages: Callable[[LabelTask], Prompt] = judge_messages,
        after: After = "unlabelled",
        name: str = "",
    ) -> None:
        if votes < 1 or retries < 0:
            raise DataError(f"expected at least one vote and no negative retries, got {votes} and {retries}")
        self.ask, self.votes, self.retries, self.messages, self.after = ask, votes, retries, messages, after
        asked = messages(LabelTask(0, "?", ("?",)))
        self.identity = f"{self.source} {name} votes={votes} retries={retries} after={after} {asked!r}"

    def label(self, tasks: Sequence[LabelTask]) -> list[StepLabels]:
        """Label solutions. Raises as ``ask`` does."""
        read: list[list[int]] = [[] for _ in tasks]
        requests = [0] * len(tasks)
        for _ in range(1 + self.retries):
            open_ = [place for place in range(len(tasks)) if len(read[place]) < self.votes]
            if not open_:
                break
            missing = max(self.votes - len(read[place]) for place in open_)
            found = self.ask([self.messages(tasks[place]) for place in open_], missing)
            checked_rollouts(found, len(open_), missing)
            for place, answers in zip(open_, found, strict=True):
                requests[place] += len(answers)
                said = [read_judgement(answer, len(tasks[place].steps)) for answer in answers]
                read[place] += [one for one in said if one is not None]
        return [self._labels(task, own, n) for task, own, n in zip(tasks, read, requests, strict=True)]

    def _labels(self, task: LabelTask, read: Sequence[int], requests: int) -> StepLabels:
        unparsed = requests - len(read)
        ranked = Counter(read[: self.votes]).most_common(2)
        if not ranked:
            return unlabelled(task, self.source, UNPARSED, requests=requests, unparsed=unparsed)
        if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
            return unlabelled(task, self.source, TIED, requests=requests, unparsed=unparsed)
        first = ranked[0][0]
        return StepLabels(
            prompt=task.problem,
            completions=task.steps,
            labels=tuple(up_to(first, len(task.steps), self.after)),
            source=self.source,
            first_error=first,
            requests=requests,
            unparsed=unparsed,
        )
