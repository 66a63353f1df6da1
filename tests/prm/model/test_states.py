"""The cache of a frozen backbone's states: exact, resumable, and of one backbone alone."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

import tiny_judges as tiny  # noqa: E402
from markscheme.prm.model.pair import pair_model  # noqa: E402
from markscheme.prm.model.states import StateCache  # noqa: E402
from markscheme.prm.training import PRMTrainer  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402

SEQUENCES = [tuple(range(3, 3 + length)) for length in (9, 4, 17, 12, 6)]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    return tiny.save_causal(tmp_path_factory.mktemp("states") / "backbone", "small")


@pytest.fixture
def model(backbone):
    return pair_model(backbone).eval()


@pytest.mark.parametrize(("kept", "near"), [("float32", 1e-6), ("float16", 2e-3)])
def test_states_come_back(model, tmp_path, kept, near):
    cache = StateCache(tmp_path, model, kept)
    told = []
    assert cache.fill(SEQUENCES, batch_size=2, batch_tokens=24, done=told.append) == 5
    assert sum(told) == sum(map(len, SEQUENCES))
    assert len(cache) == 5
    for ids in SEQUENCES:
        expected = model.states(torch.tensor([ids]))[0]
        assert cache.get(ids).dtype == torch.float32
        assert float((cache.get(ids) - expected).abs().max()) <= near * float(expected.abs().max())
    assert cache.fill([*SEQUENCES, SEQUENCES[0]]) == 0


def test_a_stopped_run_goes_on(model, tmp_path):
    """Stopped between states and index, and in the middle of a line: what the index does not name is done again."""
    cache = StateCache(tmp_path, model, "float32")
    cache.fill(SEQUENCES[:3])
    with (tmp_path / "states.bin").open("ab") as data:
        data.write(b"\1" * 999)
    with (tmp_path / "index.jsonl").open("a") as index:
        index.write('{"key": "half of a li')
    again = StateCache(tmp_path, model, "float32")
    assert len(again) == 3
    assert [ids in again for ids in SEQUENCES] == [True] * 3 + [False] * 2
    assert again.fill(SEQUENCES) == 2
    once_more = StateCache(tmp_path, model, "float32")
    for ids in SEQUENCES:
        assert torch.allclose(once_more.get(ids), model.states(torch.tensor([ids]))[0], atol=1e-5)


def test_an_index_that_is_not_written_to_its_end_leaves_the_old_one(model, tmp_path, monkeypatch):
    """It is written anew when a cache is opened: a run that is stopped there must not lose what is in it."""
    StateCache(tmp_path, model, "float32").fill(SEQUENCES)
    held = (tmp_path / "index.jsonl").read_text()

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("markscheme.prm.model.states._entry", stopped)
    with pytest.raises(KeyboardInterrupt):
        StateCache(tmp_path, model, "float32")
    assert (tmp_path / "index.jsonl").read_text() == held


def test_another_backbones_states_are_refused(model, backbone, tmp_path):
    StateCache(tmp_path, model).fill(SEQUENCES[:1])
    other = pair_model(backbone)
    with torch.no_grad():
        other.model.layers[0].self_attn.q_proj.weight[0, 0] += 1
    with pytest.raises(DataError, match=r"meta\.json: backbone is '\w+', this run's is '\w+'; name another folder"):
        StateCache(tmp_path, other)
    with pytest.raises(DataError, match="kept is 'float16', this run's is 'float32'"):
        StateCache(tmp_path, model, "float32")


def test_what_is_missing_or_damaged_is_said(model, tmp_path):
    cache = StateCache(tmp_path, model)
    with pytest.raises(DataError, match="the states of a sequence of 4 tokens are not in"):
        cache.get(SEQUENCES[1])
    cache.fill(SEQUENCES)
    with (tmp_path / "states.bin").open("ab") as data:
        data.truncate(100)
    with pytest.raises(DataError, match="shorter than its index says"):
        StateCache(tmp_path, model)


def test_states_that_half_precision_cannot_hold_are_refused(model, tmp_path):
    with torch.no_grad():
        model.model.norm.weight.fill_(1e6)
    with pytest.raises(DataError, match='states do not fit into float16: pass kept="float32"'):
        StateCache(tmp_path, model).fill(SEQUENCES)


def test_training_on_cached_states_is_training_on_the_backbone(backbone, tmp_path, monkeypatch):
    from markscheme.prm.training import PRMConfig  # noqa: PLC0415

    found = []
    for cache in (None, str(tmp_path / "states")):
        args = PRMConfig(
            output_dir=str(tmp_path / "judge"),
            head="pair",
            state_cache=cache,
            max_steps=6,
            per_device_train_batch_size=4,
            learning_rate=0.01,
            save_strategy="no",
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
        )
        rows = tiny.toy_rows(12)
        trainer = PRMTrainer(backbone, args, train_dataset=rows, eval_dataset=tiny.toy_rows(4, 1))
        if cache:
            monkeypatch.setattr(type(trainer.model), "states", None)  # nothing is computed again
        trainer.train()
        found.append((trainer.evaluate()["eval_loss"], trainer.model.pair[0].weight.detach().clone()))
    assert found[0][0] == pytest.approx(found[1][0], abs=5e-3), "the cache rounds to float16"
    assert float((found[0][1] - found[1][1]).abs().max()) < 0.02
    lines = (tmp_path / "states" / "index.jsonl").read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == 16


def test_states_of_a_set_that_comes_later_are_computed(backbone, tmp_path):
    from markscheme.prm.training import PRMConfig  # noqa: PLC0415

    fields = {"head": "pair", "use_cpu": True, "report_to": "none", "disable_tqdm": True, "save_strategy": "no"}
    args = PRMConfig(output_dir=str(tmp_path / "judge"), state_cache=str(tmp_path / "states"), **fields)
    trainer = PRMTrainer(backbone, args, train_dataset=tiny.toy_rows(6))
    plain = PRMTrainer(
        backbone, PRMConfig(output_dir=str(tmp_path / "other"), **fields), train_dataset=tiny.toy_rows(6)
    )
    for later in (tiny.toy_rows(5, 3), {"named": tiny.toy_rows(5, 4)}):
        found, expected = trainer.evaluate(later), plain.evaluate(later)
        losses = [name for name in expected if name.endswith("_loss")]
        assert losses
        assert [found[name] for name in losses] == pytest.approx([expected[name] for name in losses], abs=5e-3)
