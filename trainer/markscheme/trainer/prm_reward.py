"""A judge of steps as the source of step rewards."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from markscheme.prm.judging import Solution, judge_solutions
from markscheme.prm.segment import StepSplitter, token_steps
from markscheme.trainer.step_monitor import Shape, StepMonitor
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from markscheme.prm.alignment import Decoder
    from markscheme.prm.protocol import StepScorer
    from markscheme.prm.segment import StepSpan

_HEADING = re.compile(r"^[\s#>*_]*step\s*\d+\s*[*_]*\s*[:.)–—-]?[*_]*", re.IGNORECASE)

_TRLS = {"completions", "log_extra", "trainer_state"}
"""What TRL passes beside the columns."""


class Guard(StrEnum):
    """Why a step is not the judge's to reward."""

    EMPTY = "empty"
    """It has no letter and no digit."""
    SHORT = "short"
    """It has fewer characters than a step can say anything in."""
    REPEATED = "repeated"
    """It says what an earlier step of the completion says."""
    REFUSED = "refused"
    """The judge cannot lay its solution out: a step holds the judge's own separator, say."""


@dataclass(frozen=True, slots=True)
class Guards:
    """What keeps form from being paid.

    Args:
        min_characters: a step with fewer, white space and a heading ("Step 3:") left out, is very short.
        repeated: a step that an earlier one of the completion equals, case, white space and heading left out, counts.
        reward: of a guarded step. The lowest reward, so that it never pays to write one; None leaves it out of
            advantages, which a policy can use to write steps that no one looks at.
    """

    min_characters: int = 3
    repeated: bool = True
    reward: float | None = 0.0

    def check(self, texts: Sequence[str]) -> list[Guard | None]:
        """Say of each step of a completion what is wrong with its form, if anything."""
        seen: set[str] = set()
        found: list[Guard | None] = []
        for text in texts:
            said = _said(text)
            if not any(character.isalnum() for character in said):
                found.append(Guard.EMPTY)
            elif len(said) < self.min_characters:
                found.append(Guard.SHORT)
            elif self.repeated and said in seen:
                found.append(Guard.REPEATED)
            else:
                found.append(None)
            seen.add(said)
        return found


class PRMStepReward:
    """Step rewards by a judge of steps: pass it as ``step_reward_func``.

    Each completion is parted into steps by its tokens, its steps are scored with one forward pass, and each step's
    score becomes the reward at its last token. A step that was cut off by the length limit gets none. The judge sees
    the completion as the policy wrote it, guarded steps included.

    Args:
        scorer: a `PRMScorer`, or anything with ``score(problem, steps)``; ``score_many`` is used where there is one.
        tokenizer: the policy's.
        splitter: what parts steps; text stands for ``StepSplitter(text)``.
        end_ids: the ids that end a completion, so that its last step counts as whole; as in ``token_steps``.
        problem_column: the column that holds the problem. None: the prompt's text, or its last user's message; then
            instructions in the prompt reach the judge too.
        guards: against empty, repeated and very short steps.
        unit: ``probability``: the score p in [0, 1]; ``difference``: p - (1 - p) in [-1, 1], as PURE has it.
        monitor: watches the steps' form; None: one with default settings.

    Attributes:
        figures: of the last batch.
    """

    def __init__(
        self,
        scorer: StepScorer,
        *,
        tokenizer: Decoder,
        splitter: StepSplitter | str = "\n\n",
        end_ids: Collection[int] | None = None,
        problem_column: str | None = None,
        guards: Guards | None = None,
        unit: Literal["probability", "difference"] = "probability",
        monitor: StepMonitor | None = None,
    ) -> None:
        if unit not in ("probability", "difference"):
            raise DataError(f"unit: expected probability or difference, got {unit!r}")
        self.scorer = scorer
        self.tokenizer = tokenizer
        self.splitter = splitter
        self.end_ids = end_ids
        self.problem_column = problem_column
        self.guards = guards or Guards(reward=0.0 if unit == "probability" else -1.0)
        self.unit = unit
        self.monitor = monitor or StepMonitor()
        self.figures: dict[str, float] = {}
        self.__name__ = "prm_step_reward"  # what logs call it

    def __call__(
        self,
        *,
        prompts: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        log_metric: Any = None,
        **columns: Any,
    ) -> list[list[tuple[int, float | None]] | None]:
        """Reward the steps of completions.

        Returns:
            For each completion, pairs of the index of a step's last token and its reward; None for one without steps.

        Raises:
            DataError: the problem's column is missing.
        """
        problems = self._problems(prompts, columns)
        spans = [token_steps(ids, self.tokenizer, self.splitter, end_ids=self.end_ids) for ids in completion_ids]
        whole = [[span for span in found if not span.truncated] for found in spans]
        solutions = [
            Solution(row, problem, tuple(span.text for span in found))
            for row, (problem, found) in enumerate(zip(problems, whole, strict=True))
        ]
        rewards: list[list[tuple[int, float | None]] | None] = []
        shapes, counts = [], dict.fromkeys(Guard, 0)
        for (solution, scores), found, ids in zip(
            judge_solutions(self.scorer, solutions, on_bad="skip"), whole, completion_ids, strict=True
        ):
            guarded = self.guards.check(solution.steps)
            if scores.error:
                guarded = [guard or Guard.REFUSED for guard in guarded]
            values = [
                self._reward(guard, score) for guard, score in zip(guarded, _filled(scores.scores, found), strict=True)
            ]
            rewards.append([(span.last_token, value) for span, value in zip(found, values, strict=True)] or None)
            for guard in guarded:
                if guard is not None:
                    counts[guard] += 1
            stopped = sum(guard is not None for guard in guarded)
            unscored = sum(value is None for value in values)
            shapes.append(Shape(len(found), len(ids), stopped, unscored))
        self._log(shapes, counts, rewards, log_metric)
        return rewards

    def _reward(self, guard: Guard | None, score: float | None) -> float | None:
        if guard is not None:
            return self.guards.reward
        if score is None:
            return None
        return score if self.unit == "probability" else 2 * score - 1

    def _problems(self, prompts: Sequence[Any], columns: Mapping[str, Any]) -> list[str]:
        if self.problem_column is None:
            return [_text(prompt) for prompt in prompts]
        if self.problem_column not in columns:
            given = sorted(set(columns) - _TRLS)
            raise DataError(
                f"the data set has no column {self.problem_column!r} (columns: "
                f"{', '.join(given) or 'none'}); pass problem_column= one that holds the problem's text"
            )
        return [str(problem) for problem in columns[self.problem_column]]

    def _log(
        self,
        shapes: Sequence[Shape],
        counts: Mapping[Guard, int],
        rewards: Sequence[list[tuple[int, float | None]] | None],
        log: Any,
    ) -> None:
        steps = max(sum(shape.steps for shape in shapes), 1)
        known = [value for found in rewards for _, value in found or () if value is not None]
        own = {f"steps/{guard.value}": count / steps for guard, count in counts.items()}
        if known:
            own["steps/reward"] = sum(known) / len(known)
        for name, value in own.items():
            if log is not None:
                log(name, value)
        self.figures = {**self.monitor.watch(shapes, log), **own}


def _said(text: str) -> str:
    """What a step says: its heading, case and white space left out."""
    return "".join(unicodedata.normalize("NFKC", _HEADING.sub("", text)).casefold().split())


def _text(prompt: Any) -> str:
    """A prompt's problem: its text, or the last user's message of a conversation."""
    if isinstance(prompt, str):
        return prompt
    asked = [message["content"] for message in prompt if message["role"] == "user"]
    content = asked[-1] if asked else prompt[-1]["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content if isinstance(part, Mapping))


def _filled(scores: Sequence[float | None], found: Sequence[StepSpan]) -> list[float | None]:
    """A score for each step: None for those that the judge left out at the end."""
    return [*scores, *[None] * (len(found) - len(scores))]
