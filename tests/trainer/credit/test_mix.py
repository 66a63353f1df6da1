"""Outcome and process advantages together."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from markscheme.trainer.credit import mix_advantages  # noqa: E402
from markscheme.verifiers.errors import CreditError  # noqa: E402

OUTCOME = torch.tensor([1.0, -2.0])
PROCESS = torch.tensor([[0.5, 0.25, 9.0], [4.0, 9.0, 9.0]])
MASK = torch.tensor([[1, 1, 0], [1, 0, 0]])


def test_each_part_has_its_weight_and_padding_gets_nothing() -> None:
    mixed = mix_advantages(OUTCOME, PROCESS, MASK, outcome_weight=2.0, process_weight=4.0)
    assert mixed.tolist() == [[4.0, 3.0, 0.0], [12.0, 0.0, 0.0]]


def test_weights_are_one_by_default_and_a_mask_may_be_boolean() -> None:
    assert torch.equal(mix_advantages(OUTCOME, PROCESS, MASK.bool()), mix_advantages(OUTCOME, PROCESS, MASK))
    assert mix_advantages(OUTCOME, PROCESS, MASK)[0].tolist() == [1.5, 1.25, 0.0]


@pytest.mark.parametrize(
    ("outcome", "process", "mask"),
    [
        pytest.param(torch.zeros(3), PROCESS, MASK, id="another number of completions"),
        pytest.param(OUTCOME, PROCESS, MASK[:, :2], id="a mask of another length"),
        pytest.param(OUTCOME, OUTCOME, MASK, id="no tokens"),
    ],
)
def test_shapes_must_fit(outcome: object, process: object, mask: object) -> None:
    with pytest.raises(CreditError, match=r"expected \(B,\), \(B, T\) and \(B, T\)"):
        mix_advantages(outcome, process, mask)
