"""A reward function for OpenRLHF.

Give ``--remote_rm_url reward.py``, where that file of yours holds one line::

    from markscheme.verifiers.rewards.openrlhf import reward_func

or, for other settings, ``reward_func = OpenRLHFReward(reading="auto")``. OpenRLHF knows no missing reward: UNDECIDED
and BROKEN get 0.0 here, and stand apart in ``extra_logs``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from markscheme.verifiers.errors import DataError, MissingExtraError
from markscheme.verifiers.golds import GoldReading
from markscheme.verifiers.policy import Policy
from markscheme.verifiers.protocol import Verifier
from markscheme.verifiers.reading import Reading
from markscheme.verifiers.rewards.alarm import BrokenVerifierAlarm
from markscheme.verifiers.rewards.scoring import Scorer
from markscheme.verifiers.rewards.trl import Judge
from markscheme.verifiers.verdict import Outcome

# Queries are decoded with their special tokens: those before the prompt and after the completion belong to neither.
_SPECIAL = r"(?:<\|[A-Za-z0-9_]{1,32}\|>|<｜[^｜<>]{1,32}｜>|</?s>|<bos>|<eos>|<pad>|<end_of_turn>|\[PAD\])"
_LEAD = re.compile(rf"(?:\s|{_SPECIAL})*")
_END = re.compile(rf"{_SPECIAL}\Z")
_LONGEST = 36  # characters of a special token
_ANCHOR = 16  # characters, white space left out, that a prompt cut off on its left must share with its query


class OpenRLHFReward:
    """Rewards completions by their final answers, with OpenRLHF's calling convention.

    Args:
        reading: the contract by which a completion states its answer.
        gold_reading: how the labels hold the gold answers.
        policy: the conventions of equality.
        deadline: seconds of CPU that computer algebra may take for one verdict.
        thinking: the prompt's template opened a ``<think>`` block.
        verifier: any Verifier, in place of the MathVerifier that the arguments before describe.
    """

    def __init__(
        self,
        reading: Reading = "boxed",
        gold_reading: GoldReading = "auto",
        *,
        policy: Policy | None = None,
        deadline: float = 5.0,
        thinking: bool = False,
        verifier: Verifier | None = None,
    ) -> None:
        told = reading if verifier is None else None
        self.scorer: Judge = Scorer(
            gold_reading=gold_reading,
            reading=reading,
            policy=policy,
            deadline=deadline,
            thinking=thinking,
            verifier=verifier,
            alarm=BrokenVerifierAlarm(reading=told, thinking=thinking, name="reward_func"),
        )

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[object], **_unused: object
    ) -> dict[str, Any]:
        """Return ``rewards`` and ``scores`` (equal; the latter serves dynamic filtering) and ``extra_logs``.

        Args:
            queries: prompt and completion in one text each, special tokens included.
            prompts: the prompts.
            labels: the gold answers' texts.
            _unused: what other versions add.

        Returns:
            Float tensors of shape (B,), ``extra_logs`` a dict of such (``correct``, ``unreadable``, ``undecided``,
            ``broken``, 1.0 or 0.0 a completion).

        Raises:
            DataError: a query does not begin with its prompt.
            GoldError: labels that cannot be read.
            MissingExtraError: torch is not installed.
        """
        del _unused
        try:
            import torch  # noqa: PLC0415 - the core does without torch
        except ImportError as error:
            raise MissingExtraError("OpenRLHF's rewards are tensors: install torch, or markscheme[train]") from error
        completions = [strip_prompt(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
        verdicts = self.scorer.judge(completions, labels)
        rewards = torch.tensor([verdict.score or 0.0 for verdict in verdicts], dtype=torch.float32)  # (B,)
        logs = {
            str(outcome): torch.tensor([float(verdict.outcome is outcome) for verdict in verdicts])
            for outcome in (Outcome.CORRECT, Outcome.UNREADABLE, Outcome.UNDECIDED, Outcome.BROKEN)
        }
        return {"rewards": rewards, "scores": rewards.clone(), "extra_logs": logs}


def strip_prompt(query: str, prompt: str) -> str:
    """Return the completion in a query: what follows its prompt, without the special tokens at its end.

    Padding and start tokens may stand before the prompt, its beginning may be cut off (OpenRLHF truncates long prompts
    on the left), and decoding may have changed its white space.

    Raises:
        DataError: the prompt is not found. The whole query is never judged: a prompt may hold answers of its own.
    """
    at = query.find(prompt)
    end = at + len(prompt) if at >= 0 and _LEAD.fullmatch(query, 0, at) else _end_of_damaged_prompt(query, prompt)
    if end is None:
        raise DataError(
            f"a query does not begin with its prompt: expected {prompt[-60:]!r} in {query[:120]!r}. "
            "Check that queries, prompts and labels belong together."
        )
    return _without_end_tokens(query[end:])


def _without_end_tokens(completion: str) -> str:
    end = len(completion)
    while True:
        inked = end
        while inked and completion[inked - 1].isspace():
            inked -= 1
        special = _END.search(completion, max(0, inked - _LONGEST), inked)
        if special is None:
            return completion[:end]
        end = special.start()


def _end_of_damaged_prompt(query: str, prompt: str) -> int | None:
    """Return where a prompt ends that was cut off on its left or whose white space was changed."""
    inked = "".join(prompt.split())
    for lead in (0, _lead(query)):
        places = [place for place in range(lead, len(query)) if not query[place].isspace()]
        shared = _overlap(inked, "".join(query[place] for place in places))
        if shared:
            return places[shared - 1] + 1
    return None


def _lead(query: str) -> int:
    found = _LEAD.match(query)
    return found.end() if found else 0


def _overlap(prompt: str, query: str) -> int:
    """Return the length of the longest tail of ``prompt`` that ``query`` begins with; 0 when too short to tell."""
    if query.startswith(prompt):
        return len(prompt)
    anchor = query[:_ANCHOR]
    at = prompt.find(anchor) if len(anchor) == _ANCHOR else -1
    while at >= 0 and not query.startswith(prompt[at:]):
        at = prompt.find(anchor, at + 1)
    return len(prompt) - at if at >= 0 else 0


@functools.lru_cache(maxsize=1)
def _default() -> OpenRLHFReward:
    return OpenRLHFReward()


def reward_func(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[object], **kwargs: object
) -> dict[str, Any]:
    """Judge a batch for OpenRLHF with the default settings. See ``OpenRLHFReward``."""
    return _default()(queries, prompts, labels, **kwargs)
