"""What comparing two answers comes to."""

from __future__ import annotations

from typing import NamedTuple

from markscheme.verifiers.outcomes import Reason


class Comparison(NamedTuple):
    """``equal`` is True, False, or None for "not decided"; ``heavy`` asks for the algebra worker."""

    equal: bool | None
    reason: Reason
    detail: str = ""
    heavy: bool = False


EQUAL = Comparison(equal=True, reason=Reason.EQUAL, detail="the same value")
DIFFERENT = Comparison(equal=False, reason=Reason.DIFFERENT, detail="different values")
UNKNOWN = Comparison(None, Reason.BEYOND_KNOWLEDGE, "no method decides this pair", heavy=True)
