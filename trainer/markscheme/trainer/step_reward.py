"""Steps judged by a rule, as the source of step rewards."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from markscheme.prm.segment import StepSplitter, token_steps
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.rewards.ahead import Ahead
from markscheme.verifiers.steps import StepOutcome, StepVerdict

if TYPE_CHECKING:
    from markscheme.prm.alignment import Decoder
    from markscheme.prm.segment import StepSpan

StepFunction = Callable[[list[str]], Sequence[float | None]]


class StepVerifier(Protocol):
    """A rule for steps, such as `EquationStepVerifier`."""

    def verify_steps(self, steps: list[str]) -> list[StepVerdict]:
        """Judge the steps of one completion, in order."""
        ...


class _Judged(NamedTuple):
    """A completion's steps with their rewards, and the verdicts of a verifier."""

    steps: list[tuple[int, float | None]]
    verdicts: list[StepVerdict]


class StepReward:
    """Step rewards by a rule: pass it as ``step_reward_func``.

    Each completion is parted into steps by its tokens, and each step's reward stands at its last token. A step that was
    cut off by the length limit gets none. Logs the rates ``<name>/right``, ``<name>/wrong`` and ``<name>/no_claim`` of
    the steps, and the first wrong claim of each completion as a column of the table of completions.

    Args:
        verifier_or_callable: a verifier of steps, or a function from the steps of one completion (texts) to a reward,
            or None, for each.
        tokenizer: the policy's.
        splitter: what parts steps; text stands for ``StepSplitter(text)``.
        end_ids: the ids that end a completion, so that its last step counts as whole; as in ``token_steps``.
        right: the reward of a step whose claims hold.
        wrong: the reward of a step that makes a false claim.
        no_claim: the reward of a step that makes no claim that can be checked; None leaves it out. A number pays for
            steps without content: prefer None.
        name: ``__name__``.

    Raises:
        TypeError: the first argument is neither.
    """

    __name__: str

    def __init__(
        self,
        verifier_or_callable: StepVerifier | StepFunction,
        *,
        tokenizer: Decoder,
        splitter: StepSplitter | str = "\n\n",
        end_ids: Collection[int] | None = None,
        right: float = 1.0,
        wrong: float = 0.0,
        no_claim: float | None = None,
        name: str = "step_reward",
    ) -> None:
        if not hasattr(verifier_or_callable, "verify_steps") and not callable(verifier_or_callable):
            came = type(verifier_or_callable).__name__
            raise TypeError(f"expected a verifier with verify_steps, or a function of steps, not {came}")
        self.__name__ = name
        self.any_thread = bool(getattr(verifier_or_callable, "any_thread", False))
        self._judge = verifier_or_callable
        self.tokenizer = tokenizer
        self.splitter = StepSplitter(splitter) if isinstance(splitter, str) else splitter
        self.end_ids = end_ids
        self.rewards = {StepOutcome.RIGHT: right, StepOutcome.WRONG: wrong, StepOutcome.NO_CLAIM: no_claim}
        self._ahead: Ahead[_Judged] = Ahead(alone=True)  # nothing says that a function can be called twice at a time

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] | None = None,
        completion_ids: Sequence[Sequence[int]] = (),
        *,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[list[tuple[int, float | None]]]:
        """Return each completion's steps as ``[(index of the step's last token, reward or None), …]``.

        Raises:
            DataError: a function returned another number of rewards than there are steps.
        """
        del prompts, completions, columns
        keys = [tuple(ids) for ids in completion_ids]
        judged = self._ahead.complete(keys, lambda rows: [self._judged(completion_ids[row], row) for row in rows])
        if hasattr(self._judge, "verify_steps"):
            self._log([one.verdicts for one in judged], log_extra, log_metric)
        return [list(one.steps) for one in judged]

    def begin(self, *, completion_ids: Sequence[Sequence[int]], **columns: Any) -> list[Future[Any]]:
        """Start to judge completions while others of their batch are generated; see ``MathReward.begin``."""
        del columns
        keys = [tuple(ids) for ids in completion_ids]
        begun = [self._ahead.begin(key, functools.partial(self._judged, key, 0)) for key in keys]
        return [one for one in begun if one is not None]

    def _judged(self, ids: Sequence[int], row: int) -> _Judged:
        spans = token_steps(ids, self.tokenizer, self.splitter, end_ids=self.end_ids)
        verdicts: list[StepVerdict] = []
        if hasattr(self._judge, "verify_steps"):
            verdicts = self._judge.verify_steps([span.text for span in spans])
            rewards = [self.rewards[verdict.outcome] for verdict in verdicts]
        else:
            rewards = _called(self._judge, spans, row)
        pairs = zip(spans, rewards, strict=True)
        return _Judged([(span.last_token, None if span.truncated else reward) for span, reward in pairs], verdicts)

    def _log(self, verdicts: Sequence[Sequence[StepVerdict]], log_extra: Any, log_metric: Any) -> None:
        if log_extra is not None:
            log_extra(f"{self.__name__}/first_wrong", [_first_wrong(row) for row in verdicts])
        total = sum(map(len, verdicts))
        if log_metric is not None and total:
            for outcome in StepOutcome:
                count = sum(verdict.outcome is outcome for row in verdicts for verdict in row)
                log_metric(f"{self.__name__}/{outcome}", count / total)


def _called(judge: StepFunction, spans: Sequence[StepSpan], row: int) -> list[float | None]:
    rewards = list(judge([span.text for span in spans]))
    if len(rewards) != len(spans):
        raise DataError(
            f"completion {row}: the step function gave {len(rewards)} rewards for {len(spans)} steps; "
            "expected one, or None, for each"
        )
    return rewards


def _first_wrong(row: Sequence[StepVerdict]) -> str:
    claim = next((claim for verdict in row if (claim := verdict.first_wrong) is not None), None)
    return "" if claim is None else claim.text


__all__ = ["StepReward"]
