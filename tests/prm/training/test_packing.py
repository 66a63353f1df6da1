"""Packed solutions do not see each other, and train as they would alone."""

from __future__ import annotations

import itertools

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from transformers import AutoConfig  # noqa: E402

import tiny_judges as tiny  # noqa: E402
from markscheme.prm import Encoded  # noqa: E402
from markscheme.prm.model.batching import pack_plan, packed, padded  # noqa: E402
from markscheme.prm.model.readout import TokenReadout  # noqa: E402
from markscheme.prm.model.token import StepClassifier  # noqa: E402
from markscheme.prm.training import PRMTrainer  # noqa: E402
from markscheme.prm.training.data import StepCollator  # noqa: E402
from markscheme.prm.training.packing import check_packing  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402

SIZES = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "num_labels": 2,
}
ROWS = [
    Encoded(
        tuple(3 + (seed * place) % 90 for place in range(length)), (length // 2, length - 1), (1, length // 2 + 1), 1
    )
    for seed, length in ((7, 9), (11, 14), (13, 6))
]


def backbone(kind: str, attention: str, **more: object) -> StepClassifier:
    torch.manual_seed(0)
    model = StepClassifier(AutoConfig.for_model(kind, attn_implementation=attention, **{**SIZES, **more})).eval()
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.data.normal_(0, 0.3)
    return model


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(
    ("kind", "more"),
    [("llama", {}), ("qwen2", {}), ("mistral", {"sliding_window": 4}), ("gpt_neox", {})],
    ids=["llama", "qwen2", "mistral, sliding window", "gpt_neox"],
)
@torch.no_grad()
def test_packed_logits_equal_unpacked(kind, more, attention):
    model, readout = backbone(kind, attention, **more), TokenReadout()
    alone = readout(model, padded(ROWS, 1))
    together = readout(model, packed([ROWS, ROWS[:1]], 1))
    flat = alone.flatten()
    assert together[0] == pytest.approx(flat, abs=1e-5)
    assert together[1, :2] == pytest.approx(alone[0], abs=1e-5)
    assert together[1, 2:].tolist() == [0.0] * 4, "padding has no steps"
    assert flat.max() - flat.min() > 0.1


@pytest.mark.parametrize(("kind", "more"), [("opt", {"ffn_dim": 64, "word_embed_proj_dim": 32}), ("mamba", {})])
def test_a_model_that_lets_packed_solutions_see_each_other_is_refused(kind, more):
    model = backbone(kind, "eager", **more)
    with pytest.raises(
        DataError, match=rf"with this model \({kind}\) a packed solution sees its neighbours.*packing=False"
    ):
        check_packing(model, TokenReadout(), ROWS, StepCollator())


def test_the_check_gives_the_difference_that_it_found():
    assert 0 <= check_packing(backbone("llama", "sdpa"), TokenReadout(), ROWS, StepCollator()) < 1e-4


@pytest.mark.parametrize("head", ["linear", "lm", "pair"])
def test_packing_changes_no_gradient(backbone_folder, settings, head):
    """All solutions in one step, packed and alone: the weights after it are the same."""
    rows = tiny.toy_rows(8)
    found = []
    for packing, size in ((False, 8), (True, 4)):
        args = settings(
            head=head, packing=packing, max_length=200, max_steps=1, per_device_train_batch_size=size, optim="sgd"
        )
        trainer = PRMTrainer(backbone_folder, args, train_dataset=rows)
        if packing:
            assert len(trainer.train_dataset) <= 4, "all rows fit into one step"
            assert max(len(row.encoded) for row in trainer.train_dataset) > 1
        trainer.train()
        found.append({name: weight.detach() for name, weight in trainer.model.named_parameters()})
    assert max(float((found[0][name] - found[1][name]).abs().max()) for name in found[0]) < 1e-6


@given(st.lists(st.integers(1, 60), max_size=40), st.integers(20, 60))
def test_a_plan_holds_each_solution_once_within_its_capacity(lengths, capacity):
    plan = pack_plan(lengths, capacity)
    assert sorted(place for row in plan for place in row) == list(range(len(lengths)))
    for row in plan:
        assert sum(lengths[place] for place in row) <= capacity or len(row) == 1
    loads = sorted(sum(lengths[place] for place in row) for row in plan if len(row) > 0)
    assert all(one + two > capacity for one, two in itertools.pairwise(loads)), "two rows would fit into one"
