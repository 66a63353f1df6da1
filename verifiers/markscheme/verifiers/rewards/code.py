"""Reward functions for programs: TRL's ``CodeReward``, and functions for verl and OpenRLHF.

verl: ``custom_reward_function.path=…/markscheme/verifiers/rewards/code.py`` and ``.name=compute_score``, with the cases
as ``ground_truth``. OpenRLHF: a file of yours for ``--remote_rm_url`` that holds ``from
markscheme.verifiers.rewards.code import reward_func``, with the cases as labels. Neither knows a missing reward: BROKEN
scores 0.0 there, and the extras say so.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from markscheme.verifiers.code.cases import Cases, parse_cases
from markscheme.verifiers.code.compare import Comparator
from markscheme.verifiers.code.outcomes import Limits
from markscheme.verifiers.code.results import ProgramVerdict
from markscheme.verifiers.code.sandbox.pool import Level
from markscheme.verifiers.code.verifier import CodeVerifier, Score
from markscheme.verifiers.errors import DataError
from markscheme.verifiers.rewards.ahead import Ahead
from markscheme.verifiers.rewards.alarm import BrokenVerifierAlarm
from markscheme.verifiers.rewards.openrlhf import OpenRLHFReward
from markscheme.verifiers.rewards.trl import TRLReward
from markscheme.verifiers.verdict import Outcome, Verdict

_REMEMBERED = 4096  # rows whose cases stay parsed
_SHOWN = 1000  # characters of a row's cases that the alarm remembers


class CodeScorer:
    """Judges batches of programs for a reward function.

    Args:
        verifier: a CodeVerifier.
        alarm: warns when the rewards look broken; None for no alarm.
    """

    def __init__(self, verifier: CodeVerifier, alarm: BrokenVerifierAlarm | None = None) -> None:
        self.verifier = verifier
        self.alarm = alarm
        self._parsed: dict[str, Cases] = {}
        self._ahead: Ahead[ProgramVerdict] = Ahead()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parsed": {}}

    def begin(self, completions: Sequence[str], golds: Sequence[Any]) -> list[Future[ProgramVerdict]]:
        """Start to judge completions whose batch is not whole yet; `judge` takes these verdicts.

        Cases that cannot be read are left to `judge`, which knows their rows.
        """
        if type(self).judge is not CodeScorer.judge:
            return []  # what a subclass makes of a whole batch is its own
        try:
            cases = [self._read(gold, "a row") for gold in golds]
        except DataError:
            return []
        begun = [
            self._ahead.begin(key, functools.partial(self._verify_one, key[0], one))
            for key, one in zip(_keys(completions, golds), cases, strict=True)
        ]
        return [one for one in begun if one is not None]

    def judge(self, completions: Sequence[str], golds: Sequence[Any]) -> list[ProgramVerdict]:
        """Judge a batch, one verdict a completion, and let the alarm see it.

        Raises:
            DataError: cases that cannot be read: a fault of the data set, so it is told at once.
            ValueError: not one set of cases a completion.
        """
        if len(completions) != len(golds):
            raise ValueError(f"{len(completions)} completions came with {len(golds)} sets of cases; expected one each")
        cases = [self._read(gold, f"row {row} of this batch") for row, gold in enumerate(golds)]
        verdicts = self._ahead.complete(
            _keys(completions, golds),
            lambda rows: self.verifier.verify_many([completions[row] for row in rows], [cases[row] for row in rows]),
        )
        broken = [row for row, verdict in enumerate(verdicts) if verdict.outcome is Outcome.BROKEN]
        if broken:
            again = self.verifier.verify_many([completions[row] for row in broken], [cases[row] for row in broken])
            for row, verdict in zip(broken, again, strict=True):
                verdicts[row] = verdict
        if self.alarm is not None:
            self.alarm.observe(verdicts, completions, [str(gold)[:_SHOWN] for gold in golds])
        return verdicts

    def check(self, golds: Sequence[Any]) -> None:
        """Read the cases of a data set. Raises DataError for the first that cannot be read, with its row in it."""
        for row, gold in enumerate(golds):
            self._read(gold, f"row {row} of the data set")

    def rewards(self, verdicts: Sequence[Verdict]) -> list[float | None]:
        """Return each verdict's reward: its score. BROKEN never has one."""
        return [verdict.score for verdict in verdicts]

    def _verify_one(self, completion: str, cases: Cases) -> ProgramVerdict:
        return self.verifier.verify_many([completion], [cases])[0]

    def _read(self, gold: object, where: str) -> Cases:
        if not isinstance(gold, str):
            return parse_cases(gold, where)
        if gold not in self._parsed:
            if len(self._parsed) >= _REMEMBERED:
                self._parsed.clear()
            self._parsed[gold] = parse_cases(gold, where)
        return self._parsed[gold]


def _keys(completions: Sequence[str], golds: Sequence[Any]) -> list[tuple[str, Hashable]]:
    return [
        (text, gold if isinstance(gold, str) else repr(gold)) for text, gold in zip(completions, golds, strict=True)
    ]


class CodeReward(TRLReward):
    """Rewards a completion by its program: 1.0 when it passes every case, 0.0 when not, None when that cannot be said.

    UNREADABLE completions (no program, or one that is cut off) get 0.0. BROKEN ones, where the sandbox itself failed,
    are judged a second time, then get None. Can be pickled and copied.

    Args:
        cases_column: the data set's column that holds each row's cases: JSON text or what it stands for, see
            ``markscheme.verifiers.code.parse_cases``. Where rows hold tests, ``tests_column`` serves.
        tests_column: in place of ``cases_column``: the column that holds test code or a list of assertions.
        entry_point_column: with ``tests_column``: the column that names the function under test, where there is one.
        prompt_column: with ``tests_column``: the column that holds the code to complete, for completions that go on
            where it ends.
        score: "all", or "fraction" for the share of the cases that pass.
        level: of the sandbox; this and the next six as in ``CodeVerifier``.
        workers: zygotes, and programs that are judged at once.
        limits: of each case.
        budget_seconds: for all cases of a program.
        comparator: how outputs are compared.
        language: of the programs.
        thinking: the prompt's template opened a think block.
        verifier: a CodeVerifier in place of the one that the arguments before describe.
        alarm: warns when the rewards look broken. True for the default alarm, False for none, or one of your own.
        name: ``__name__``, under which TRL logs the reward and this function its columns and rates; as in MathReward.
    """

    scorer: CodeScorer
    _what = "cases"

    def __init__(
        self,
        cases_column: str = "cases",
        *,
        tests_column: str | None = None,
        entry_point_column: str | None = None,
        prompt_column: str | None = None,
        score: Score = "all",
        level: Level = "strongest",
        workers: int | None = None,
        limits: Limits | None = None,
        budget_seconds: float | None = 60.0,
        comparator: Comparator | None = None,
        language: str = "python",
        thinking: bool = False,
        verifier: CodeVerifier | None = None,
        alarm: BrokenVerifierAlarm | bool = True,
        name: str = "code_reward",
    ) -> None:
        self.verifier = verifier or CodeVerifier(
            level=level,
            workers=workers,
            limits=limits,
            budget_seconds=budget_seconds,
            comparator=comparator,
            score=score,
            language=language,
            thinking=thinking,
        )
        if isinstance(alarm, bool):
            thinks = self.verifier.thinking
            watch = BrokenVerifierAlarm(reading="code", thinking=thinks, name=name) if alarm else None
        else:
            watch = alarm
        self._row = {"entry_point": entry_point_column, "prompt": prompt_column}
        self._tests = tests_column is not None
        super().__init__(CodeScorer(self.verifier, watch), (tests_column or cases_column,), name)

    def _golds(self, columns: Mapping[str, Sequence[object]]) -> Sequence[object]:
        found = super()._golds(columns)
        if not self._tests:
            return found
        rows: list[dict[str, object]] = [{"tests": tests} for tests in found]
        for field, column in self._row.items():
            if column is not None:
                if column not in columns:
                    came = ", ".join(repr(name) for name in sorted(columns))
                    raise DataError(f"no column {column!r} in the data set; the columns that came: {came}")
                for row, value in zip(rows, columns[column], strict=True):
                    row[field] = value
        return [json.dumps(row) if _is_text(row) else row for row in rows]


def _is_text(row: Mapping[str, object]) -> bool:
    """Whether a row can be remembered as JSON text."""
    return all(value is None or isinstance(value, str) for value in row.values())


class OpenRLHFCodeReward(OpenRLHFReward):
    """Rewards completions by their programs, with OpenRLHF's calling convention; labels hold the cases.

    Args:
        verifier: a CodeVerifier; None for one with the default settings.
    """

    def __init__(self, verifier: CodeVerifier | None = None) -> None:
        judge = verifier or CodeVerifier()
        alarm = BrokenVerifierAlarm(reading="code", thinking=judge.thinking, name="reward_func")
        self.scorer = CodeScorer(judge, alarm)


@functools.lru_cache(maxsize=1)
def _default() -> OpenRLHFCodeReward:
    return OpenRLHFCodeReward()


def reward_func(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[object], **kwargs: object
) -> dict[str, Any]:
    """Judge a batch for OpenRLHF with the default settings. See ``OpenRLHFCodeReward``."""
    return _default()(queries, prompts, labels, **kwargs)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    score: Score = "all",
    level: Level = "strongest",
    cpu_seconds: float | None = None,
    memory_bytes: int | None = None,
    thinking: bool = False,
    **_unused: object,
) -> dict[str, float | str]:
    """Judge one program for verl.

    Args:
        data_source: verl's name of the data set; not used.
        solution_str: the completion, without its prompt.
        ground_truth: the cases, as JSON text or what it stands for.
        extra_info: verl's; its ``index``, when there is one, names the row in an error.
        score: "all", or "fraction" for the share of the cases that pass.
        level: the sandbox's.
        cpu_seconds: CPU time of each run; None for the default.
        memory_bytes: memory of each run; None for the default.
        thinking: the prompt's template opened a ``<think>`` block.
        _unused: what verl adds for reward models.

    Returns:
        ``score``; ``acc``, 1.0 when every case passes; ``unreadable``, ``undecided``, ``broken`` and ``low_trust``, 1.0
        or 0.0; ``pred``, the program as read; ``outcome`` and ``reason``, text. Every result has every key.

    Raises:
        DataError: the cases cannot be read.
    """
    del data_source, _unused
    row = (extra_info or {}).get("index")
    scorer = _scorer(score, level, cpu_seconds, memory_bytes, thinking)
    try:
        (verdict,) = scorer.judge([solution_str], [ground_truth])
    except DataError as error:
        if row is None:
            raise
        raise DataError(f"index {row}: {error}") from None
    return {
        "score": verdict.score or 0.0,
        "acc": float(verdict.outcome is Outcome.CORRECT),
        "unreadable": float(verdict.outcome is Outcome.UNREADABLE),
        "undecided": float(verdict.outcome is Outcome.UNDECIDED),
        "broken": float(verdict.outcome is Outcome.BROKEN),
        "low_trust": float(verdict.trust == "low"),
        "pred": verdict.answer or "",
        "outcome": str(verdict.outcome),
        "reason": str(verdict.reason),
    }


@functools.lru_cache(maxsize=16)
def _scorer(
    score: Score,
    level: Level,
    cpu_seconds: float | None,
    memory_bytes: int | None,
    thinking: bool,  # noqa: FBT001 - a cached function's key
) -> CodeScorer:
    """Return this process's scorer for these settings: verl calls once a completion, the sandbox and alarm stay."""
    given = {"cpu_seconds": cpu_seconds, "memory_bytes": memory_bytes}
    limits = Limits.model_validate({key: value for key, value in given.items() if value is not None})
    verifier = CodeVerifier(level=level, limits=limits, score=score, thinking=thinking)
    return CodeScorer(verifier, BrokenVerifierAlarm(reading="code", thinking=thinking, name="compute_score"))
