"""What every reward function shares: golds read at first sight, verdicts, a second try at BROKEN ones, the alarm."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Literal, get_args

from markscheme.verifiers.errors import GoldError
from markscheme.verifiers.golds import GoldReading, load_golds
from markscheme.verifiers.math.verifier import MathVerifier
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.protocol import Verifier
from markscheme.verifiers.reading import Reading
from markscheme.verifiers.rewards.ahead import Ahead
from markscheme.verifiers.rewards.alarm import BrokenVerifierAlarm
from markscheme.verifiers.verdict import Outcome, Verdict

Undecided = Literal["none", "zero"]

_WHERE = "the row is counted within this batch; `load_golds` reads a whole column and lists every such row"
_FIX = "Mend them, or leave these rows out of the data set."


class Scorer:
    """Judges batches of completions for a reward function.

    Args:
        gold_reading: how the gold column's text holds the answer. Ignored when ``verifier`` is not a MathVerifier:
            another verifier gets the gold text as it stands.
        reading: the contract by which a completion states its answer.
        undecided: the reward of an UNDECIDED completion: None ("none") or 0.0 ("zero").
        policy: the conventions of equality.
        deadline: seconds of CPU that computer algebra may take for one verdict.
        thinking: the prompt's template opened a ``<think>`` block.
        verifier: any Verifier, in place of the MathVerifier that the arguments before describe.
        workers: processes that judge a batch; passed to ``verify_many``.
        alarm: warns when the rewards look broken; None for no alarm.

    Raises:
        ValueError: a setting that there is not.
    """

    def __init__(
        self,
        *,
        gold_reading: GoldReading = "auto",
        reading: Reading = "boxed",
        undecided: Undecided = "none",
        policy: Policy | None = None,
        deadline: float = 5.0,
        thinking: bool = False,
        verifier: Verifier | None = None,
        workers: int | None = None,
        alarm: BrokenVerifierAlarm | None = None,
    ) -> None:
        if undecided not in ("none", "zero"):
            raise ValueError(f'undecided must be "none" or "zero", not {undecided!r}')
        if gold_reading not in get_args(GoldReading):
            raise ValueError(f"gold_reading must be one of {', '.join(get_args(GoldReading))}, not {gold_reading!r}")
        self.gold_reading: GoldReading = gold_reading
        self.undecided: Undecided = undecided
        self.workers = workers
        self.alarm = alarm
        self._settings: dict[str, Any] = {
            "reading": reading,
            "deadline": deadline,
            "policy": policy,
            "thinking": thinking,
        }
        self._plugged_in = verifier
        self._verifier: Verifier | None = None
        if verifier is None:
            MathVerifier(**self._settings)  # so that a wrong setting is told here, not in the first batch
        self._golds: dict[str, str] = {}
        # One after the other, as in a batch: nothing says that another's verifier can give two verdicts at a time; and
        # of ours the second would start an algebra worker, whose start counts against its deadline.
        self._ahead: Ahead[Verdict] = Ahead(alone=True)

    def __getstate__(self) -> dict[str, Any]:
        # Our own verifier may hold a worker process: a copy makes its own.
        return {**self.__dict__, "_verifier": None, "_golds": {}}

    @property
    def verifier(self) -> Verifier:
        """The verifier in use; our own is made on first use."""
        if self._plugged_in is not None:
            return self._plugged_in
        if self._verifier is None:
            self._verifier = MathVerifier(**self._settings)
        return self._verifier

    def begin(self, completions: Sequence[str], golds: Sequence[object]) -> list[Future[Verdict]]:
        """Start to judge completions whose batch is not whole yet; `judge` takes these verdicts.

        Golds that cannot be read are left to `judge`, which knows their rows.
        """
        if type(self).judge is not Scorer.judge or type(self)._verify is not Scorer._verify:
            return []  # what a subclass makes of a whole batch is its own
        try:
            answers = self._read_golds(golds)
        except GoldError:
            return []
        pairs = zip(completions, answers, strict=True)
        begun = [self._ahead.begin(pair, functools.partial(self._verify_one, *pair)) for pair in pairs]
        return [one for one in begun if one is not None]

    def judge(self, completions: Sequence[str], golds: Sequence[object]) -> list[Verdict]:
        """Judge a batch, one verdict a completion, and let the alarm see it.

        Raises:
            GoldError: golds that cannot be read: a fault of the data set, so it is told at once.
            ValueError: not one gold a completion.
        """
        if len(completions) != len(golds):
            raise ValueError(f"{len(completions)} completions came with {len(golds)} golds; expected one gold for each")
        answers = self._read_golds(golds)
        verdicts = self._ahead.complete(
            list(zip(completions, answers, strict=True)),
            lambda rows: self._verify([completions[row] for row in rows], [answers[row] for row in rows]),
        )
        broken = [row for row, verdict in enumerate(verdicts) if verdict.outcome is Outcome.BROKEN]
        if broken:
            again = self._verify([completions[row] for row in broken], [answers[row] for row in broken])
            for row, verdict in zip(broken, again, strict=True):
                verdicts[row] = verdict
        if self.alarm is not None:
            self.alarm.observe(verdicts, completions, [str(gold) for gold in golds], self.rewards(verdicts))
        return verdicts

    def rewards(self, verdicts: Sequence[Verdict]) -> list[float | None]:
        """Return each verdict's reward: its score, or what ``undecided`` says. BROKEN never has one."""
        zero = self.undecided == "zero"
        return [0.0 if zero and v.outcome is Outcome.UNDECIDED else v.score for v in verdicts]

    def check(self, golds: Sequence[object]) -> None:
        """Read the golds of a data set. Raises GoldError for those that cannot be read, with their rows in it."""
        self._read_golds(golds, "")

    def _verify_one(self, completion: str, gold: str) -> Verdict:
        """As `_verify` does, but always in this process."""
        verifier = self.verifier
        if isinstance(verifier, MathVerifier):
            return verifier.verify_many([completion], [gold])[0]
        return verifier.verify(completion, gold)

    def _verify(self, completions: Sequence[str], golds: Sequence[str]) -> list[Verdict]:
        verifier = self.verifier
        if isinstance(verifier, MathVerifier):
            return list(verifier.verify_many(completions, golds, self.workers))
        return [verifier.verify(completion, gold) for completion, gold in zip(completions, golds, strict=True)]

    def _read_golds(self, golds: Sequence[object], where: str = f" ({_WHERE})") -> list[str]:
        if not isinstance(self.verifier, MathVerifier):
            return [gold if isinstance(gold, str) else str(gold) for gold in golds]
        bad: list[tuple[int, str, str]] = []
        answers: list[str] = []
        for row, gold in enumerate(golds):
            text = "" if gold is None else str(gold)
            if isinstance(gold, bool | list | tuple | dict | set):
                bad.append((row, text, f"expected a string or a number, found {type(gold).__name__}{where}"))
                continue
            try:
                answers.append(self._read_gold(text))
            except GoldError as error:
                bad.extend((row, text, f"{why}{where}") for _, _, why in error.rows)
        if bad:
            raise GoldError(bad, _FIX)
        return answers

    def _read_gold(self, text: str) -> str:
        if not text.strip():
            raise GoldError([(0, text, "it is empty")])
        if text not in self._golds:
            self._golds[text] = load_golds([text], reading=self.gold_reading)[0].answer
        return self._golds[text]
