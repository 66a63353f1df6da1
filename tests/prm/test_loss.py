"""The losses against torch's own and plain arithmetic."""

from __future__ import annotations

import math

import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch.nn import functional  # noqa: E402

from markscheme.prm.loss import IGNORED, StepLoss, balanced_weights, mask_after_error  # noqa: E402
from markscheme.prm.model.pooling import soft_min  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402

Z = [[1.5, -0.3, 2.0], [-4.0, 0.0, 9.0]]
Y = [[1.0, 0.0, 0.25], [0.0, 0.75, IGNORED]]
KNOWN = [(z, y) for row, targets in zip(Z, Y, strict=True) for z, y in zip(row, targets, strict=True) if y != IGNORED]


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def entropy(z: float, y: float) -> float:
    return -(y * math.log(sigmoid(z)) + (1 - y) * math.log(1 - sigmoid(z)))


def by_hand(name: str, weights: tuple[float, float], above: float, gamma: float) -> float:
    total = weight = 0.0
    for z, target in KNOWN:
        y = target if name in ("soft_ce", "mse") else float(target > above)
        w = y * weights[1] + (1 - y) * weights[0]
        if name == "mse":
            each = (sigmoid(z) - y) ** 2
        elif name == "focal":
            p = sigmoid(z) if y else 1 - sigmoid(z)
            each = -((1 - p) ** gamma) * math.log(p)
        else:
            each = entropy(z, y)
        total, weight = total + w * each, weight + w
    return total / weight


@pytest.mark.parametrize("name", ["bce", "soft_ce", "mse", "focal"])
@pytest.mark.parametrize(("weights", "above"), [((1.0, 1.0), 0.5), ((3.0, 0.5), 0.5), ((2.0, 1.0), 0.0)])
def test_each_loss_is_its_formula(name, weights, above):
    loss = StepLoss(name, weights, gamma=1.5, right_above=above)
    assert float(loss(torch.tensor(Z), torch.tensor(Y))) == pytest.approx(by_hand(name, weights, above, 1.5), rel=1e-5)


def test_two_classes_of_softmax_are_one_logit():
    """The cross-entropy of a head of two outputs is that of their difference."""
    logits = torch.randn(7, 2)
    labels = torch.tensor([0, 1, 1, 0, 1, 0, 1])
    found = StepLoss("bce")(logits[:, 1] - logits[:, 0], labels.float())
    assert float(found) == pytest.approx(float(functional.cross_entropy(logits, labels)), rel=1e-6)
    soft = torch.rand(7)
    found = StepLoss("soft_ce")(logits[:, 1] - logits[:, 0], soft)
    expected = functional.cross_entropy(logits, torch.stack([1 - soft, soft], dim=1))
    assert float(found) == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize("name", ["bce", "soft_ce", "mse", "focal"])
def test_unlabelled_steps_have_no_gradient(name):
    z = torch.tensor(Z, requires_grad=True)
    StepLoss(name)(z, torch.tensor(Y)).backward()
    assert z.grad[1, 2] == 0
    assert (z.grad != 0).sum() == 5
    z.grad = None
    StepLoss(name)(z, torch.full((2, 3), IGNORED)).backward()
    assert z.grad.abs().max() == 0, "a batch without labels still takes part in every process's backward pass"


@pytest.mark.parametrize("name", ["bce", "focal"])
def test_sure_logits_neither_overflow_nor_lose_their_gradient(name):
    z = torch.tensor([200.0, -200.0, 200.0, -200.0], requires_grad=True)
    loss = StepLoss(name)(z, torch.tensor([1.0, 0.0, 0.0, 1.0]))
    loss.backward()
    assert loss.item() == pytest.approx(100.0)
    assert z.grad.isfinite().all()
    assert z.grad.tolist() == pytest.approx([0.0, 0.0, 0.25, -0.25])


@given(st.integers(1, 5), st.data())
def test_shares_of_a_step_add_up_to_its_mean(parts, data):
    """The mean over a whole optimiser step, from batches that know only the sum of its weights."""
    loss = StepLoss("bce", (2.0, 1.0))
    values = st.lists(st.tuples(st.floats(-5, 5), st.sampled_from([0.0, 1.0, IGNORED])), min_size=1, max_size=4)
    batches = [data.draw(values) for _ in range(parts)]
    tensors = [(torch.tensor([z for z, _ in b]), torch.tensor([y for _, y in b])) for b in batches]
    items = sum(loss.weight_of(y) for _, y in tensors)
    spread = sum(float(loss(z, y, items=items)) for z, y in tensors)
    whole = float(loss(torch.cat([z for z, _ in tensors]), torch.cat([y for _, y in tensors])))
    assert spread == pytest.approx(whole, rel=1e-5, abs=1e-7)


def test_masking_keeps_the_first_wrong_step():
    assert mask_after_error([1.0, None, 0.0, 1.0, 0.0]) == [1.0, None, 0.0, None, None]
    assert mask_after_error([1.0, 0.5, 1.0]) == [1.0, 0.5, None], "one half does not exceed one half"
    assert mask_after_error([0.3, 0.0, 1.0], right_above=0.0) == [0.3, 0.0, None]
    assert mask_after_error([1.0, None]) == [1.0, None]


def test_balanced_weights_make_the_classes_count_alike():
    wrong, right = balanced_weights([[1.0, 1.0, None], [0.0, 1.0]])
    assert (wrong * 1, right * 3) == pytest.approx((2.0, 2.0))
    with pytest.raises(
        DataError, match=r"of 2 labelled steps 2 are right and 0 wrong; give weights, or data with both"
    ):
        balanced_weights([[1.0, 1.0]])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "hinge"}, "loss: expected bce, soft_ce, mse or focal, got 'hinge'"),
        ({"class_weights": (1.0, -1.0)}, r"class_weights: expected two weights \(wrong, right\)"),
        ({"class_weights": (0.0, 0.0)}, "one above 0"),
    ],
)
def test_settings_that_make_no_loss_are_refused(fields, message):
    with pytest.raises(DataError, match=message):
        StepLoss(**fields)


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=6), st.floats(0.05, 5))
def test_the_soft_minimum_lies_between_minimum_and_mean(values, temperature):
    found = float(
        soft_min(torch.tensor(values, dtype=torch.float64), torch.ones(len(values), dtype=torch.bool), temperature)
    )
    assert min(values) - 1e-9 <= found <= sum(values) / len(values) + 1e-9


def test_the_soft_minimum_leaves_out_what_does_not_count():
    values, mask = torch.tensor([[3.0, -9.0, 1.0], [5.0, 5.0, 5.0]]), torch.tensor([[1, 0, 1], [0, 0, 0]]).bool()
    kept = torch.tensor([3.0, 1.0])
    expected = float((torch.softmax(-kept / 0.7, 0) * kept).sum())
    assert soft_min(values, mask, 0.7).tolist() == pytest.approx([expected, 0.0])
