"""The likely cause of rewards that look broken, told from the completions themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markscheme.verifiers.verdict import Outcome, Reason, Verdict

_OTHER_FORM = re.compile(r"####|\banswer(?: is\b|\W{0,4}:)|<answer>|^[ \t*]*A:", re.IGNORECASE | re.MULTILINE)
_BOX = re.compile(r"\\f?boxed\s*\{")
_KEEP = 10_000  # characters kept of each end of a completion; the signs looked for stand at its ends


@dataclass(frozen=True, slots=True)
class Seen:
    """One reward as the alarm remembers it."""

    verdict: Verdict
    reward: float | None
    completion: str
    gold: str


def shorten(completion: str) -> str:
    """Return a completion small enough to remember: its first and last 10,000 characters."""
    return completion if len(completion) <= 2 * _KEEP else f"{completion[:_KEEP]}\n…\n{completion[-_KEEP:]}"


def sample(text: str, head: int = 100, tail: int = 240) -> str:
    """Return ``text`` fit for a terminal: escaped (control and escape characters too), shortened in the middle."""
    if len(text) > head + tail:
        return f"{text[:head]!r} … {text[-tail:]!r}"
    return repr(text)


def box_cut_off(completion: str) -> bool:
    """Whether the last box is opened and never closed."""
    opened = [box.end() for box in _BOX.finditer(completion)]
    if not opened:
        return False
    inside = re.sub(r"\\.", "", completion[opened[-1] :], flags=re.DOTALL)
    depth = 1
    for brace in re.findall(r"[{}]", inside):
        depth += 1 if brace == "{" else -1
        if depth == 0:
            return False
    return True


def think_open(completion: str) -> bool:
    """Whether a ``<think>`` block is opened and never closed."""
    return completion.rfind("<think>") > completion.rfind("</think>")


def why_unreadable(seen: Sequence[Seen], reading: str | None, *, thinking: bool) -> str:
    """Return the likely cause of completions that state no readable answer (``seen`` holds those alone)."""

    def mostly(sign: Callable[[str], object]) -> bool:
        return 2 * sum(bool(sign(one.completion)) for one in seen) > len(seen)

    if mostly(lambda text: not text.strip()):
        return "the completions are empty: the model ends at once, or the chat template or the stop tokens are wrong"
    if mostly(think_open):
        return (
            "the thinking block never closes, and what stands in it is no answer: raise max_completion_length, "
            "or turn the model's thinking off"
        )
    if thinking and mostly(lambda text: "</think>" not in text):
        return (
            "thinking=True says that the prompt opens a <think> block, and no </think> follows: raise "
            "max_completion_length, or set thinking=False if the chat template opens none"
        )
    if reading == "code":
        if _mostly_reason(seen, Reason.CUT_OFF):
            return "the completions end inside the block that would hold the program: raise max_completion_length"
        return (
            "the completions hold no fenced block of the language: ask for one in the prompt, or raise "
            "max_completion_length if they end in the middle"
        )
    if mostly(box_cut_off) or _mostly_reason(seen, Reason.CUT_OFF):
        return "the completions end inside the box that would hold the answer: raise max_completion_length"
    if reading != "auto" and mostly(lambda text: _OTHER_FORM.search(text) and not _BOX.search(text)):
        return (
            f'the completions state an answer, but not in the form that reading="{reading}" wants: set reading="auto", '
            "or ask for that form in the prompt"
        )
    if _mostly_reason(seen, Reason.NOT_GRAMMATICAL):
        return "an answer is found but is no mathematics (words, or several things at once): look at the sample"
    form = "\\boxed{}" if reading in (None, "boxed") else f'the form of reading="{reading}"'
    return (
        f"the completions state no answer in {form}: ask for it in the prompt, or raise max_completion_length "
        "if they end in the middle"
    )


def why_undecided(seen: Sequence[Seen]) -> str:
    """Return the likely cause of UNDECIDED verdicts (``seen`` holds those alone)."""
    reason, count = _commonest(seen)
    if reason in (Reason.TIMEOUT, Reason.BUDGET):
        return f"{count} of {len(seen)} ran out of time or budget ({reason}): raise deadline, or ease the host's load"
    return (
        f"{count} of {len(seen)} have the reason {reason}: the golds may be of a kind that the verifier cannot decide"
    )


def why_broken(seen: Sequence[Seen]) -> str:
    """Return the likely cause of BROKEN verdicts (``seen`` holds those alone)."""
    reason, count = _commonest(seen)
    if reason is Reason.UNREADABLE_GOLD:
        return f"{count} of {len(seen)} golds cannot be read: check the gold column and gold_reading"
    return (
        f"{count} of {len(seen)} have the reason {reason}: the verifier itself failed; look at the host's memory, "
        f"process limit and logs ({sample(seen[-1].verdict.detail)})"
    )


def why_constant(reward: float, seen: Sequence[Seen], reading: str | None, *, thinking: bool) -> str:
    """Return the likely cause of a reward that never changes (``seen`` holds the completions that got it)."""
    if reward == 1.0:
        return "the gold answer leaks into the prompt, or the set is too easy for this model"
    unreadable = [one for one in seen if one.verdict.outcome is Outcome.UNREADABLE]
    if 2 * len(unreadable) > len(seen):
        return why_unreadable(unreadable, reading, thinking=thinking)
    if reading == "code":
        reason, count = _commonest(seen)
        return (
            f"no program passes; {count} of {len(seen)} have the reason {reason}: run known solutions on the cases "
            "(a wrong cases column, form or limit fails every one); or the set is too hard for this model"
        )
    if len({one.gold for one in seen}) == 1 and len(seen) > 1:
        return "every gold is the same text: check gold_column"
    if _mostly_reason(seen, Reason.TYPE_MISMATCH):
        return (
            "answers and golds are of different types: check that gold_column holds the final answer, and gold_reading"
        )
    return (
        "answers are read and none equals its gold: check that gold_column holds the final answers, in the rows' order "
        "and in a form that gold_reading reads; or the set is too hard for this model"
    )


def _commonest(seen: Sequence[Seen]) -> tuple[Reason, int]:
    return Counter(one.verdict.reason for one in seen).most_common(1)[0]


def _mostly_reason(seen: Sequence[Seen], reason: Reason) -> bool:
    return 2 * sum(one.verdict.reason is reason for one in seen) > len(seen)
