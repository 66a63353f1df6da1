"""What users may plug in wherever markscheme takes a verifier."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from markscheme.verifiers.verdict import Verdict


@runtime_checkable
class Verifier(Protocol):
    """Anything that judges one completion against one gold answer."""

    def verify(self, completion: str, gold: str) -> Verdict:
        """Judge ``completion`` against ``gold``. Never raises on what a model wrote: that is data, not an error."""
        ...
