"""LoRA beside a head that is trained whole."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.train,
    # peft uses names that transformers 5.24 calls deprecated.
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.* is deprecated:FutureWarning"),
]
NEEDED = "needs torch, transformers and peft: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)
peft = pytest.importorskip("peft", reason=NEEDED)

import tiny_judges as tiny  # noqa: E402
from markscheme.prm.scoring import PRMScorer  # noqa: E402
from markscheme.prm.training import PRMConfig, PRMTrainer  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402

RECOMPUTE = next(name for name in ("activation_checkpointing", "gradient_checkpointing") if hasattr(PRMConfig, name))


def lora(**more: object) -> object:
    return peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_alpha=8, **more)


@pytest.mark.parametrize(("head", "task"), [("linear", None), ("mlp", "TOKEN_CLS"), ("lm", None)])
def test_an_adapter_is_trained_saved_and_scored(backbone_folder, settings, head, task):
    rows, args = tiny.toy_rows(12), settings(head=head, max_steps=6, learning_rate=0.02)
    trainer = PRMTrainer(backbone_folder, args, train_dataset=rows, eval_dataset=rows, peft_config=lora(task_type=task))
    trained = {name for name, weight in trainer.model.named_parameters() if weight.requires_grad}
    assert {name for name in trained if "lora_" not in name and "score" not in name} == set()
    assert any("lora_" in name for name in trained)
    assert head == "lm" or any("score" in name for name in trained)
    before = trainer.evaluate()
    trainer.train()
    after = trainer.evaluate()
    assert after["eval_loss"] < before["eval_loss"]
    trainer.save_model()
    folder = Path(args.output_dir)
    assert (folder / "adapter_config.json").exists()
    assert not (folder / "model.safetensors").exists()
    scorer = PRMScorer.from_pretrained(folder)
    sample = trainer.eval_dataset.samples[0]
    model = trainer.model.eval()
    with torch.no_grad():
        batch = trainer._plain([trainer.eval_dataset[0]])
        _, z = trainer.compute_loss(model, batch, return_outputs=True)
    assert scorer.score(sample.problem, sample.completions) == pytest.approx(z[0].sigmoid().tolist(), abs=1e-5)


def test_recomputed_activations_give_an_adapter_the_same_gradient(backbone_folder, settings):
    found = []
    for recomputed in (False, True):
        args = settings(**{RECOMPUTE: recomputed}, max_steps=2, optim="sgd")
        trainer = PRMTrainer(backbone_folder, args, train_dataset=tiny.toy_rows(8), peft_config=lora())
        before = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
        trainer.train()
        found.append({name: weight.detach() for name, weight in trainer.model.named_parameters()})
        moved = [name for name in before if not torch.equal(before[name], found[-1][name])]
        assert any("lora_B" in name for name in moved)
    assert max(float((found[0][name] - found[1][name]).abs().max()) for name in found[0]) < 1e-6


def test_a_frozen_backbone_takes_no_adapter(backbone_folder, settings):
    with pytest.raises(DataError, match="the pair head's backbone is frozen"):
        PRMTrainer(backbone_folder, settings(head="pair"), train_dataset=tiny.toy_rows(4), peft_config=lora())
