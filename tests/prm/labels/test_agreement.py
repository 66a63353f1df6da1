from __future__ import annotations

import pytest

from markscheme.prm.labels import StepLabels, consensus
from markscheme.prm.labels.result import up_to
from markscheme.verifiers.errors import DataError, StepDataError


def said(first: int | None, prompt: str = "p", **more: object) -> StepLabels:
    return StepLabels.model_validate(
        {
            "prompt": prompt,
            "completions": ("a", "b", "c"),
            "labels": up_to(first, 3),
            "source": "x",
            "first_error": first,
        }
        | more
    )


def test_only_where_both_name_the_same_first_error() -> None:
    one = [said(1, rollouts=8, final_answer_correct=False), said(-1), said(1), said(0), said(None), said(None)]
    two = [said(1, requests=2, unparsed=1), said(-1), said(-1), said(2), said(2), said(None)]
    found, counts = consensus(one, two)
    assert [None if labels is None else labels.labels for labels in found] == [
        (1, 0, None),
        (1, 1, 1),
        None,
        None,
        None,
        None,
    ]
    assert counts.summary() == {"n": 6, "kept": 2, "clean": 1, "one_clean": 1, "elsewhere": 1, "unknown": 2}
    assert found[0] is not None
    kept = found[0]
    assert (kept.source, kept.rollouts, kept.requests, kept.unparsed) == ("consensus", 8, 2, 1)
    assert kept.final_answer_correct is False
    wrong, _ = consensus(one[:1], two[:1], after="wrong")
    assert wrong[0] is not None and wrong[0].labels == (1, 0, 0)


def test_labels_of_other_solutions() -> None:
    with pytest.raises(DataError, match="1 of one labeler, 2 of the other"):
        consensus([said(0)], [said(0), said(0)])
    with pytest.raises(StepDataError, match="row 1: the two labelers were given different solutions"):
        consensus([said(0), said(0)], [said(0), said(0, prompt="q")])
