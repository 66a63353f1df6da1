"""A reward function for TRL: ``GRPOTrainer(reward_funcs=[MathReward()])``.

TRL 1.14 to 1.16 call ``f(prompts=…, completions=…, completion_ids=…, **columns, trainer_state=…, log_extra=…,
log_metric=…)`` and want one float, or None for "no reward", a completion. ``log_extra(column, values)`` adds a column
to the table of completions; ``log_metric(name, value)`` a scalar that is averaged over processes and logging steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from markscheme.verifiers.errors import DataError
from markscheme.verifiers.golds import GoldReading
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.protocol import Verifier
from markscheme.verifiers.reading import Reading
from markscheme.verifiers.rewards.alarm import BrokenVerifierAlarm
from markscheme.verifiers.rewards.scoring import Scorer, Undecided
from markscheme.verifiers.verdict import Outcome, Verdict

Completion = str | Sequence[Mapping[str, Any]]
LogExtra = Callable[[str, list[Any]], None]
LogMetric = Callable[[str, float], None]

_DEFAULT_COLUMN = "answer"
_TRL_COLUMN = "solution"
_SHOWN = 200  # characters of an answer in the table of completions


class Judge(Protocol):
    """What judges batches for a reward function."""

    def judge(self, completions: Sequence[str], golds: Sequence[Any]) -> Sequence[Verdict]:
        """Judge a batch, one verdict a completion."""
        ...

    def rewards(self, verdicts: Sequence[Verdict]) -> list[float | None]:
        """Return each verdict's reward."""
        ...

    def check(self, golds: Sequence[Any]) -> None:
        """Raise what `judge` would for golds that cannot be read."""
        ...


class TRLReward:
    """A reward function as TRL calls it, over anything that judges batches.

    Args:
        scorer: judges a batch.
        columns: the names of the data set's column that the judge needs; the first that is there counts.
        name: ``__name__``.
        any_thread: whether it may be called from another thread than the main one. `ProcessGRPOTrainer` then starts it
            as soon as completions exist.
    """

    __name__: str
    scorer: Judge
    _what = "gold"

    def __init__(self, scorer: Judge, columns: Sequence[str], name: str, *, any_thread: bool = True) -> None:
        self.__name__ = name
        self.scorer = scorer
        self.any_thread = any_thread
        self._columns = tuple(columns)

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Completion] = (),
        completion_ids: Sequence[Sequence[int]] | None = None,
        *,
        trainer_state: object = None,
        log_extra: LogExtra | None = None,
        log_metric: LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return one reward a completion.

        Args:
            prompts: not used.
            completions: plain text, or conversations whose last assistant message counts.
            completion_ids: not used.
            trainer_state: not used.
            log_extra: TRL's; gets each completion's outcome, reason and answer.
            log_metric: TRL's; gets the batch's rates.
            columns: the data set's other columns, one value a completion.

        Raises:
            DataError: the gold column is not among ``columns``, or a completion is neither text nor a conversation.
            GoldError: golds that cannot be read, with their rows in this batch; a DataError where the golds are cases.
        """
        del prompts, completion_ids, trainer_state
        golds = self._golds(columns)
        verdicts = self.scorer.judge([completion_text(completion) for completion in completions], golds)
        if log_extra is not None:
            self._log_columns(verdicts, log_extra)
        if log_metric is not None and verdicts:
            self._log_rates(verdicts, log_metric)
        return self.scorer.rewards(verdicts)

    def begin(self, *, completions: Sequence[Completion], **columns: Any) -> Sequence[Future[Any]]:
        """Start to judge completions while others of their batch are still generated.

        The call with the whole batch takes these verdicts, and judges what was not begun. ``ProcessGRPOTrainer`` calls
        this for each completion that is finished, where it can know.

        Args:
            completions: of the next batch, as in the call.
            columns: all else that the call will be given but what logs, one value a completion.

        Returns:
            What was started, so that its time can be told.

        Raises:
            DataError: as the call does; golds that cannot be read are left to it.
        """
        begin = getattr(self.scorer, "begin", None)
        if begin is None:
            return []
        begun: Sequence[Future[Any]] = begin([completion_text(one) for one in completions], self._golds(columns))
        return begun

    def check(self, columns: Mapping[str, Sequence[object]]) -> None:
        """Read every gold of a data set, before anything is generated for it.

        Args:
            columns: the data set's columns by their names; of a ``datasets.Dataset`` these are ``rows[:]``.

        Raises:
            DataError: the gold column is not there, or these are no columns.
            GoldError: golds that cannot be read, all with their rows; a DataError where the golds are cases.
        """
        if not isinstance(columns, Mapping):
            raise DataError(f"expected columns by their names, as rows[:] of a data set, not {type(columns).__name__}")
        self.scorer.check(self._golds(columns))

    def _golds(self, columns: Mapping[str, Sequence[object]]) -> Sequence[object]:
        for name in self._columns:
            if name in columns:
                return columns[name]
        wanted = " or ".join(repr(name) for name in self._columns)
        came = ", ".join(repr(name) for name in sorted(columns)) or "none"
        raise DataError(
            f"no {self._what} column: expected {wanted} in the data set; the columns that came: {came}. "
            f"Name the right one: {type(self).__name__}({self._what}_column=…)."
        )

    def _log_columns(self, verdicts: Sequence[Verdict], log_extra: LogExtra) -> None:
        log_extra(f"{self.__name__}/outcome", [str(verdict.outcome) for verdict in verdicts])
        log_extra(f"{self.__name__}/reason", [str(verdict.reason) for verdict in verdicts])
        log_extra(f"{self.__name__}/answer", [_shown(verdict.answer) for verdict in verdicts])

    def _log_rates(self, verdicts: Sequence[Verdict], log_metric: LogMetric) -> None:
        for outcome in (Outcome.CORRECT, Outcome.UNREADABLE, Outcome.UNDECIDED, Outcome.BROKEN):
            rate = sum(verdict.outcome is outcome for verdict in verdicts) / len(verdicts)
            log_metric(f"{self.__name__}/{outcome}", rate)


class MathReward(TRLReward):
    """Rewards a completion by its final answer: 1.0 when correct, 0.0 when not, None when that cannot be said.

    UNREADABLE completions get 0.0. UNDECIDED ones get None (TRL leaves them out of the group's statistics) unless
    ``undecided="zero"``. BROKEN ones are judged a second time, then get None. Can be pickled and copied.

    Args:
        gold_column: the data set's column that holds the gold answers. When there is no column ``answer``, TRL's own
            name ``solution`` is taken too; any other name must be there.
        gold_reading: how that column holds them: "auto", "bare", "boxed" or "gsm8k".
        reading: the contract by which a completion states its answer; "boxed" is the strict one for training.
        undecided: the reward of an UNDECIDED completion: "none" or "zero".
        policy: the conventions of equality.
        deadline: seconds of CPU that computer algebra may take for one verdict.
        thinking: the prompt's template opened a ``<think>`` block.
        verifier: any Verifier, in place of the MathVerifier that ``reading``, ``policy``, ``deadline`` and ``thinking``
            describe. It gets the gold column's text as it stands. With ``any_thread = True`` it may be called from
            other threads than the main one, and its verdicts must depend on the completion and the gold alone.
        workers: processes that judge a batch; as in ``MathVerifier.verify_many``. What `begin` starts is judged in this
            process.
        alarm: warns when the rewards look broken. True for the default alarm, False for none, or one of your own.
        name: ``__name__``, under which TRL logs the reward (``rewards/<name>/mean``) and this function its own columns
            (``<name>/outcome``, ``<name>/reason``, ``<name>/answer``) and rates (``<name>/correct``,
            ``<name>/unreadable``, ``<name>/undecided``, ``<name>/broken``).
    """

    scorer: Scorer

    def __init__(
        self,
        gold_column: str = _DEFAULT_COLUMN,
        gold_reading: GoldReading = "auto",
        reading: Reading = "boxed",
        *,
        undecided: Undecided = "none",
        policy: Policy | None = None,
        deadline: float = 5.0,
        thinking: bool = False,
        verifier: Verifier | None = None,
        workers: int | None = None,
        alarm: BrokenVerifierAlarm | bool = True,
        name: str = "math_reward",
    ) -> None:
        self.gold_column = gold_column
        if isinstance(alarm, bool):
            told = reading if verifier is None else None
            watch = BrokenVerifierAlarm(reading=told, thinking=thinking, name=name) if alarm else None
        else:
            watch = alarm
        scorer = Scorer(
            gold_reading=gold_reading,
            reading=reading,
            undecided=undecided,
            policy=policy,
            deadline=deadline,
            thinking=thinking,
            verifier=verifier,
            workers=workers,
            alarm=watch,
        )
        names = [gold_column] + [_TRL_COLUMN] * (gold_column == _DEFAULT_COLUMN)
        super().__init__(scorer, names, name, any_thread=bool(getattr(verifier, "any_thread", verifier is None)))


def completion_text(completion: Completion) -> str:
    """Return the text of a completion: itself, or the last assistant message of a conversation ("" when none).

    A message's content may be a list of parts, of which those of type "text" count. Tool calls and reasoning kept in
    fields of their own do not count.

    Raises:
        DataError: it is neither text nor a list of messages.
    """
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence):
        messages = [message for message in completion if isinstance(message, Mapping)]
        if len(messages) == len(completion):
            said = [message for message in messages if message.get("role", "assistant") == "assistant"]
            return _content_text(said[-1].get("content")) if said else ""
    raise DataError(
        f"expected a completion as text or as a list of messages with role and content, not {type(completion).__name__}"
    )


def _content_text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "".join(str(part.get("text") or "") for part in parts)
    raise DataError(f"expected a message's content as text or as a list of parts, not {type(content).__name__}")


def _shown(answer: str | None) -> str:
    """Return an answer fit for a table in a terminal: control characters escaped, shortened."""
    if answer is None:
        return ""
    short = answer if len(answer) <= _SHOWN else answer[: _SHOWN - 1] + "…"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in short)
