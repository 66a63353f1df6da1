"""The trainer: every head, the same figures as the scorer's, and the loss's mean over whatever it is spread over."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
transformers = pytest.importorskip("transformers", reason=NEEDED)

from transformers import AutoModelForTokenClassification  # noqa: E402

import tiny_judges as tiny  # noqa: E402
from markscheme.prm.checkpoints.own import read_file  # noqa: E402
from markscheme.prm.metrics import process_bench, step_metrics  # noqa: E402
from markscheme.prm.scoring import PRMScorer  # noqa: E402
from markscheme.prm.training import PRMConfig, PRMTrainer  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402

RECOMPUTE = next(name for name in ("activation_checkpointing", "gradient_checkpointing") if hasattr(PRMConfig, name))
HEADS = [
    {"head": "linear"},
    {"head": "mlp"},
    {"head": "lm"},
    {"head": "lm", "layout": "turns"},
    {"head": "lm", "layout": "numbered", "separator": "<extra_0>"},
    {"head": "pair"},
]


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters() if value.requires_grad}


def furthest(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> float:
    assert one.keys() == two.keys()
    return max(float((one[name] - two[name]).abs().max()) for name in one)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: "-".join(head.values()))
def test_a_checkpoint_scores_as_the_trainer_measured(backbone_folder, settings, head):
    args = settings(**head)
    trainer = PRMTrainer(
        backbone_folder, args, train_dataset=tiny.toy_rows(16), eval_dataset={"toy": tiny.toy_rows(9, 1)}
    )
    before = weights(trainer.model)
    trainer.train()
    assert furthest(before, weights(trainer.model)) > 1e-4
    found = trainer.evaluate()
    trainer.save_model()

    scorer = PRMScorer.from_pretrained(args.output_dir)
    samples = trainer.eval_dataset["toy"].samples
    scores = scorer.score_many((sample.problem, sample.completions) for sample in samples)
    bench, steps = process_bench(samples, scores), step_metrics(samples, scores)
    assert found["eval_toy_processbench_f1"] == pytest.approx(bench.f1)
    assert found["eval_toy_auc"] == pytest.approx(steps.auc)
    assert found["eval_toy_ece"] == pytest.approx(steps.ece, abs=1e-6)
    targets = [target for sample in samples for target in sample.targets]
    entropy = [-math.log(s if t else 1 - s) for t, s in zip(targets, [s for row in scores for s in row], strict=True)]
    assert found["eval_toy_loss"] == pytest.approx(sum(entropy) / len(entropy), abs=1e-5)


def test_training_learns_and_lowers_the_loss(backbone_folder, settings):
    rows = tiny.toy_rows(24)
    trainer = PRMTrainer(
        backbone_folder, settings(max_steps=60, learning_rate=5e-3), train_dataset=rows, eval_dataset=rows
    )
    before = trainer.evaluate()
    trainer.train()
    after = trainer.evaluate()
    assert after["eval_loss"] < before["eval_loss"] - 0.1
    assert after["eval_auc"] > 0.8


def test_a_linear_head_is_a_token_classifier_of_transformers(backbone_folder, settings):
    trainer = PRMTrainer(backbone_folder, settings(max_steps=1), train_dataset=tiny.toy_rows(8))
    trainer.train()
    trainer.save_model()
    folder = Path(trainer.args.output_dir)
    loaded = AutoModelForTokenClassification.from_pretrained(folder)
    assert loaded.config.id2label == {0: "wrong", 1: "right"}
    encoded = trainer.train_dataset.one(0)
    probabilities = loaded.eval()(torch.tensor([encoded.ids])).logits[0, list(encoded.positions)].softmax(-1)[:, 1]
    sample = trainer.train_dataset.samples[0]
    scores = PRMScorer.from_pretrained(folder).score(sample.problem, sample.completions)
    assert scores == pytest.approx(probabilities.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    "spread",
    [
        {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 4, "class_weights": [3.0, 0.5]},
        {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2},
        {"per_device_train_batch_size": 4, RECOMPUTE: True},
    ],
    ids=["one by one, weighed", "two by two", "recomputed"],
)
def test_the_step_does_not_depend_on_how_its_batch_is_spread(backbone_folder, settings, spread):
    """Rows hold one to four labels, some none: a mean of batches' means would be another gradient."""
    rows = tiny.toy_rows(8)
    rows[2]["labels"] = [None] * len(rows[2]["labels"])
    whole = {"class_weights": spread.get("class_weights")}
    found = []
    for how in (whole, spread):
        trainer = PRMTrainer(backbone_folder, settings(max_steps=2, optim="sgd", **how), train_dataset=rows)
        trainer.train()
        found.append(weights(trainer.model))
    assert furthest(*found) < 1e-6


def test_the_loss_is_the_mean_over_labelled_steps_alone(backbone_folder, settings):
    rows = tiny.toy_rows(6)
    unlabelled = [{**row, "labels": [None, *row["labels"][1:]]} for row in rows]
    trainer = PRMTrainer(backbone_folder, settings(loss="mse"), train_dataset=rows, eval_dataset=unlabelled)
    scores = PRMTrainer(backbone_folder, settings(), train_dataset=rows, eval_dataset=unlabelled).evaluate()
    errors = []
    trainer.save_model()
    scorer = PRMScorer.from_pretrained(trainer.args.output_dir)
    for row in unlabelled:
        for score, label in zip(scorer.score(row["prompt"], row["completions"]), row["labels"], strict=True):
            errors += [] if label is None else [(score - label) ** 2]
    assert trainer.evaluate()["eval_loss"] == pytest.approx(sum(errors) / len(errors), abs=1e-5)
    assert scores["eval_loss"] != trainer.evaluate()["eval_loss"]


def test_resuming_goes_on_exactly(backbone_folder, settings, tmp_path):
    rows = tiny.toy_rows(20)
    whole = PRMTrainer(backbone_folder, settings(max_steps=4), train_dataset=rows)
    whole.train()
    where = {"output_dir": str(tmp_path / "stopped"), "save_strategy": "steps", "save_steps": 2}
    PRMTrainer(backbone_folder, settings(max_steps=2, **where), train_dataset=rows).train()
    again = PRMTrainer(backbone_folder, settings(max_steps=4, **where), train_dataset=rows)
    again.train(resume_from_checkpoint=True)
    assert furthest(weights(whole.model), weights(again.model)) == 0


def test_the_threshold_is_chosen_on_the_named_set_and_kept(backbone_folder, settings):
    sets = {"test": tiny.toy_rows(12, 2), "dev": tiny.toy_rows(12, 3)}
    trainer = PRMTrainer(
        backbone_folder, settings(threshold_set="dev"), train_dataset=tiny.toy_rows(8), eval_dataset=sets
    )
    found = trainer.evaluate()
    assert found["eval_test_threshold"] == found["eval_dev_threshold"] == trainer.threshold != 0.5
    trainer.save_model()
    file = read_file(trainer.args.output_dir)
    assert (file.threshold, file.threshold_source) == (trainer.threshold, "dev")
    assert PRMScorer.from_pretrained(trainer.args.output_dir).threshold == trainer.threshold
    card = (Path(trainer.args.output_dir) / "README.md").read_text()
    assert "| dev (chose the threshold) | 12 |" in card
    assert "| test | 12 |" in card


def test_a_threshold_that_no_set_has_chosen_names_none(backbone_folder, settings):
    rows = tiny.toy_rows(8)
    with pytest.raises(DataError, match=r"threshold_set: expected the name of an evaluation set \(dev\), got 'dve'"):
        PRMTrainer(backbone_folder, settings(threshold_set="dve"), train_dataset=rows, eval_dataset={"dev": rows})
    trainer = PRMTrainer(backbone_folder, settings(threshold_set="dev"), train_dataset=rows, eval_dataset={"dev": rows})
    assert (trainer.file().threshold, trainer.file().threshold_source) == (0.5, "")
    trainer.evaluate()
    assert trainer.file().threshold_source == "dev"
    plain = PRMTrainer(backbone_folder, settings(threshold_set="eval"), train_dataset=rows, eval_dataset=rows)
    plain.evaluate()
    assert plain.file().threshold_source == "eval"


def test_mask_after_error_leaves_later_steps_out_of_training_alone(backbone_folder, settings):
    rows = [{"prompt": "p", "completions": ["a", "b", "c"], "labels": [True, False, True]}, *tiny.toy_rows(3)]
    trainer = PRMTrainer(backbone_folder, settings(mask_after_error=True), train_dataset=rows, eval_dataset=rows)
    batch = trainer.data_collator([trainer.train_dataset[0]])
    assert batch["labels"].tolist() == [[1.0, 0.0, -100.0]]
    batch = next(iter(trainer.get_eval_dataloader()))
    assert batch["labels"][0, :3].tolist() == [1.0, 0.0, 1.0]


def test_balanced_classes_weigh_by_the_counts(backbone_folder, settings):
    rows = [{"prompt": "p", "completions": ["a", "b", "c", "d"], "labels": [True, True, True, False]}]
    trainer = PRMTrainer(backbone_folder, settings(balance_classes=True), train_dataset=rows)
    assert trainer.step_loss.class_weights == pytest.approx((2.0, 2 / 3))


def test_balanced_classes_weigh_by_what_is_trained_on(backbone_folder, settings):
    """The steps after an error are masked, so that they weigh nothing."""
    rows = [{"prompt": "p", "completions": ["a", "b", "c", "d"], "labels": [True, True, False, False]}]
    args = settings(balance_classes=True, mask_after_error=True)
    trainer = PRMTrainer(backbone_folder, args, train_dataset=rows)
    assert trainer.step_loss.class_weights == pytest.approx((1.5, 0.75))


def test_push_to_hub_sends_the_folder_with_its_card(backbone_folder, settings, monkeypatch):
    sent = {}

    def upload(_, **given):
        folder = Path(given["folder_path"])
        sent.update(given, files={path.name: path.read_text(errors="ignore") for path in folder.iterdir()})

    class Repository:
        repo_id = "someone/judge"

    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", lambda *_, **__: Repository())
    monkeypatch.setattr("huggingface_hub.HfApi.upload_folder", upload)
    if hasattr(transformers.trainer, "upload_folder"):  # before transformers 5
        monkeypatch.setattr("transformers.trainer.create_repo", lambda *_, **__: Repository())
        monkeypatch.setattr("transformers.trainer.upload_folder", lambda **given: upload(None, **given))
    args = settings(hub_model_id="someone/judge", max_steps=1)
    trainer = PRMTrainer(
        backbone_folder, args, train_dataset=tiny.toy_rows(8), eval_dataset={"toy": tiny.toy_rows(8, 1)}
    )
    trainer.train()
    trainer.evaluate()
    trainer.push_to_hub(token="hf_none")
    assert sent["repo_id"] == "someone/judge"
    assert {"config.json", "model.safetensors", "prm_config.json", "README.md", "tokenizer.json"} <= sent[
        "files"
    ].keys()
    assert "| toy | 8 |" in sent["files"]["README.md"]
    assert 'PRMScorer.from_pretrained("someone/judge")' in sent["files"]["README.md"]
    assert json.loads(sent["files"]["prm_config.json"])["metrics"]["toy"]["solutions"] == 8
