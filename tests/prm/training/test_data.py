"""Data and settings that cannot be used: named, or counted and shown when asked to skip."""

from __future__ import annotations

import json
import warnings

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

from transformers import AutoModelForCausalLM  # noqa: E402

import tiny_judges as tiny  # noqa: E402
from markscheme.prm import LostStepsWarning, StepSample  # noqa: E402
from markscheme.prm.load import SkippedRowsWarning  # noqa: E402
from markscheme.prm.training import PRMTrainer  # noqa: E402
from markscheme.prm.training.card import table  # noqa: E402
from markscheme.verifiers.errors import DataError, StepDataError  # noqa: E402

GOOD = {"prompt": "What?", "completions": ["Right.", "Wrong."], "labels": [True, False]}
BAD = {
    "labels longer than steps": ({**GOOD, "labels": [1, 0, 1]}, "expected one label a step: 2 steps, 3 labels"),
    "an empty step": ({**GOOD, "completions": ["Right.", " "]}, "step 1 is empty"),
    "a label out of range": ({**GOOD, "labels": [1, 7]}, "label 1 is 7: expected -1, 0, 1 or a probability"),
    "the separator in a step": ({**GOOD, "completions": ["One.\n\nTwo.", "x"]}, "step 0 holds the separator"),
    "a problem that fills the length": ({**GOOD, "prompt": "word " * 300}, "no step fits: the problem alone takes"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_named_or_left_out_and_counted(backbone_folder, settings, name):
    row, why = BAD[name]
    rows = [GOOD, row, GOOD]
    with pytest.raises(StepDataError, match=rf"1 row\(s\) cannot be used \(rows .* 0\):\n  row 1: .*{why}"):
        PRMTrainer(backbone_folder, settings(), train_dataset=rows)
    with pytest.warns((SkippedRowsWarning, LostStepsWarning), match=f"row 1: .*{why}"):
        trainer = PRMTrainer(backbone_folder, settings(on_bad="skip"), train_dataset=rows)
    assert len(trainer.train_dataset) == 2
    assert trainer.file().training["rows left out"] == 1


@pytest.mark.parametrize(("label", "missing"), [(True, "wrong"), (False, "right")])
def test_labels_that_are_all_alike_teach_nothing(backbone_folder, settings, label, missing):
    rows = [{**GOOD, "labels": [label, None]}] * 3
    with pytest.raises(DataError, match=f"training data: no step is labelled {missing}"):
        PRMTrainer(backbone_folder, settings(), train_dataset=rows)


@pytest.mark.filterwarnings("ignore::markscheme.prm.LostStepsWarning")
def test_a_row_that_loses_steps_is_a_bad_one_when_strict(backbone_folder, settings):
    long = {**GOOD, "completions": ["Right."] * 60, "labels": [True] * 59 + [False]}
    rows = [GOOD, long]
    with pytest.raises(
        StepDataError, match=r"row 1: \d+ of 60 steps do not fit; raise max_length, or pass strict=False"
    ):
        PRMTrainer(backbone_folder, settings(strict=True), train_dataset=rows)
    trainer = PRMTrainer(backbone_folder, settings(strict=True, on_bad="skip"), train_dataset=rows)
    assert (len(trainer.train_dataset), trainer.file().training["lost steps"]) == (1, 0)


def test_which_labels_are_right_is_said_by_right_above(backbone_folder, settings):
    """Monte-Carlo shares below one half are right as soon as any rollout comes right."""
    shares = [{**GOOD, "labels": [0.25, 0.0]}] * 3
    trainer = PRMTrainer(backbone_folder, settings(right_above=0.0), train_dataset=shares)
    held = trainer.file().training
    assert (held["right steps"], held["wrong steps"]) == (3, 3)
    with pytest.raises(DataError, match="training data: no step is labelled wrong"):
        PRMTrainer(backbone_folder, settings(right_above=0.0), train_dataset=[{**GOOD, "labels": [0.25, 0.75]}] * 3)


@pytest.mark.filterwarnings("ignore::markscheme.prm.LostStepsWarning")
def test_labels_of_lost_steps_teach_nothing(backbone_folder, settings):
    long = {**GOOD, "completions": ["Right."] * 60, "labels": [True] * 59 + [False]}
    with pytest.raises(DataError, match="training data: no step is labelled wrong"):
        PRMTrainer(backbone_folder, settings(), train_dataset=[long])


def test_a_row_of_a_file_is_found_by_its_own_number(backbone_folder, settings, tmp_path):
    """The bad row is the third of the file, and the second of those that were read."""
    path = tmp_path / "train.jsonl"
    inside = {**GOOD, "completions": ["One.\n\nTwo.", "x"]}
    path.write_text("\n".join(map(json.dumps, [{**GOOD, "labels": [1]}, GOOD, inside, GOOD])))
    with (
        pytest.warns(SkippedRowsWarning),
        pytest.warns(
            LostStepsWarning,
            match=r"training data: 1 rows were left out: train\.jsonl row 2: step 0 holds the separator",
        ),
    ):
        trainer = PRMTrainer(backbone_folder, settings(on_bad="skip"), train_dataset=str(path))
    assert trainer.file().training["rows left out"] == 2
    path.write_text("\n".join(map(json.dumps, [GOOD, inside])))
    with pytest.raises(StepDataError, match=r"\n  train\.jsonl row 1: step 0 holds the separator '\\n\\n'"):
        PRMTrainer(backbone_folder, settings(), train_dataset=str(path))


def test_a_separator_in_a_step_is_allowed_and_counted_where_that_is_asked(backbone_folder, settings):
    rows = [GOOD, {**GOOD, "completions": ["One.\n\nTwo.", "x"]}]
    with pytest.warns(LostStepsWarning, match="training data: 1 of 4 steps hold the separator"):
        trainer = PRMTrainer(backbone_folder, settings(separator_in_step="allow"), train_dataset=rows)
    assert trainer.file().encoder.separator_in_step == "allow"


def test_steps_that_do_not_fit_are_counted_shown_and_written_down(backbone_folder, settings):
    long = {**GOOD, "completions": ["Right."] * 60, "labels": [True] * 59 + [False]}
    with pytest.warns(LostStepsWarning, match=r"training data: \d+ of 64 steps, in 1 of 3 rows, are beyond max_length"):
        trainer = PRMTrainer(backbone_folder, settings(), train_dataset=[GOOD, long, GOOD])
    lost = trainer.train_report.lost
    assert 0 < lost < 60
    assert trainer.file().training["lost steps"] == lost
    assert len(trainer.train_dataset.one(1).labels) == 60 - lost


def test_a_file_rows_and_samples_train_alike(backbone_folder, settings, tmp_path):
    rows = tiny.toy_rows(6)
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    datasets = pytest.importorskip("datasets")
    forms = [
        rows,
        tmp_path / "rows.jsonl",
        [StepSample.model_validate(row) for row in rows],
        datasets.Dataset.from_list(rows),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = [PRMTrainer(backbone_folder, settings(), train_dataset=form).train_dataset for form in forms]
    for one in made[1:]:
        assert [one.one(place) for place in range(6)] == [made[0].one(place) for place in range(6)]
    with pytest.raises(DataError, match="1 of 2 rows are StepSamples, the others are not"):
        PRMTrainer(backbone_folder, settings(), train_dataset=[rows[0], StepSample.model_validate(rows[1])])


@pytest.mark.parametrize("zero", [0, None])
def test_ternary_labels_train_as_prm800k_means_them(backbone_folder, settings, zero):
    rows = [{**GOOD, "labels": [zero, -1]}, {**GOOD, "labels": [1, zero]}]
    trainer = PRMTrainer(backbone_folder, settings(), train_dataset=rows)
    neutral = -100.0 if zero is None else 1.0
    batch = trainer.data_collator([trainer.train_dataset[0], trainer.train_dataset[1]])
    assert batch["labels"].tolist() == [[neutral, 0.0], [1.0, neutral]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"head": "tree"}, "head: expected one of linear, mlp, lm, pair, got 'tree'"),
        ({"layout": "turns"}, 'layout="turns" is read from the language model: pass head="lm"'),
        ({"packing": True, "max_length": None}, "packing needs max_length"),
        ({"state_cache": "x"}, 'state_cache is for a frozen backbone: pass head="pair"'),
        ({"state_cache": "x", "head": "pair", "packing": True}, "packing and state_cache do not go together"),
        ({"class_weights": [1.0, 2.0], "balance_classes": True}, "pass one of the two"),
        ({"class_weights": [1.0]}, "expected two weights"),
        ({"loss": "hinge"}, "loss: expected bce, soft_ce, mse or focal, got 'hinge'"),
        ({"on_bad": "ignore"}, "on_bad: expected one of error, skip"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, fields, message):
    with pytest.raises(DataError, match=message):
        settings(**fields)


def test_a_model_that_ends_in_another_head_is_refused(backbone_folder, settings):
    model = AutoModelForCausalLM.from_pretrained(backbone_folder)
    tokenizer = tiny.small_tokenizer()
    with pytest.raises(DataError, match=r"the model given ends in a head of kind 'lm', but args\.head is 'linear'"):
        PRMTrainer(model, settings(), train_dataset=tiny.toy_rows(4), processing_class=tokenizer)
    PRMTrainer(model, settings(head="lm"), train_dataset=tiny.toy_rows(4), processing_class=tokenizer)


def test_a_table_shows_what_has_no_meaning_as_nothing():
    shown = table({"dev": {"auc": None, "processbench_f1": 44.4, "solutions": 400.0, "ece": 0.123}})
    assert shown.splitlines()[-1] == "| dev | 400 | 44.4 | – | – | – | – | 0.123 |"
    assert table({}) == "Nothing was measured."
