from __future__ import annotations

from pathlib import Path

import pytest

from fakes import write_jsonl
from markscheme.prm.load import LabelCounts, SkippedRowsWarning, load_samples, require_both, samples_from_rows
from markscheme.verifiers.errors import DataError, StepDataError

GOOD = {"problem": "p", "steps": ["a", "b"], "labels": [1, 0]}


def test_a_file_of_plain_rows(tmp_path: Path) -> None:
    loaded = load_samples(write_jsonl(tmp_path / "a.jsonl", [GOOD, {**GOOD, "labels": [0.25, None]}]))
    assert [sample.targets for sample in loaded.samples] == [(1.0, 0.0), (0.25, None)]
    assert (loaded.name, loaded.format, loaded.zero, loaded.rows) == ("a.jsonl", "steps", "wrong", 2)
    assert loaded.counts == LabelCounts(right=1, wrong=2, unlabelled=1)


def test_one_minus_one_in_a_file_says_what_all_its_zeros_are(tmp_path: Path) -> None:
    rows = [GOOD, {**GOOD, "labels": [0, -1]}]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    loaded = load_samples(path)
    assert loaded.zero == "right"
    assert [sample.targets for sample in loaded.samples] == [(1.0, 1.0), (1.0, 0.0)]
    assert load_samples(path, zero="unlabelled").samples[0].targets == (1.0, None)
    assert load_samples(path, zero="wrong").samples[0].targets == (1.0, 0.0)


BAD = [
    {**GOOD, "labels": [1, 0, 1], "id": "long"},
    {**GOOD, "steps": ["a", " "], "id": "blank"},
    {**GOOD, "labels": [1, 3], "id": "range"},
    {"problem": "p", "labels": [1], "id": "none"},
    {**GOOD, "first_error_index": 0, "id": "contradiction"},
    {**GOOD, "problem": "", "id": "no problem"},
]


def test_every_bad_row_is_named(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [GOOD, *BAD])
    with pytest.raises(StepDataError) as caught:
        load_samples(path)
    lines = str(caught.value).splitlines()
    assert lines == [
        f"{path}: 6 row(s) cannot be used (rows are counted from 0):",
        "  row 1 (long): expected one label a step: 2 steps, 3 labels; None labels a step as unknown",
        "  row 2 (blank): step 1 is empty: take it out, and its label with it",
        "  row 3 (range): label 1 is 3: expected -1, 0, 1 or a probability in [0, 1]",
        "  row 4 (none): no 'steps' or 'completions'; the row has problem, labels, id",
        "  row 5 (contradiction): label 0 is 1, but the row says that the first error is step 0",
        "  row 6 (no problem): the problem is empty",
        'Mend them, or pass on_bad="skip" to leave these rows out.',
    ]
    assert [row for row, _, _ in caught.value.rows] == [1, 2, 3, 4, 5, 6]


def test_a_bad_first_row_is_a_bad_row_like_any_other(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"problem": "p"}, GOOD])
    with pytest.raises(StepDataError, match=r"\n  row 0: no 'steps' or 'completions'; the row has problem\n"):
        load_samples(path)
    with pytest.warns(SkippedRowsWarning, match="left out 1 of 2 rows: row 0: no 'steps' or 'completions'"):
        loaded = load_samples(path, on_bad="skip")
    assert (loaded.format, len(loaded.samples), loaded.samples[0].place) == ("steps", 1, "a.jsonl row 1")


def test_or_left_out_counted_and_shown(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [GOOD, *BAD])
    with pytest.warns(SkippedRowsWarning) as shown:
        loaded = load_samples(path, on_bad="skip")
    assert len(loaded.samples) == 1
    assert [row for row, _, _ in loaded.skipped] == [1, 2, 3, 4, 5, 6]
    text = str(shown[0].message)
    assert text.startswith(f"{path}: left out 6 of 7 rows: row 1: expected one label a step")
    assert text.endswith("…")


def test_a_file_with_nothing_left_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StepDataError, match="1 row"):
        load_samples(write_jsonl(tmp_path / "a.jsonl", BAD[:1]), on_bad="skip")
    controls = [{"question": {"problem": "p"}, "label": {"steps": [], "finish_reason": "bad_problem"}}]
    with pytest.raises(DataError, match="no labelled solutions"):
        load_samples(write_jsonl(tmp_path / "b.jsonl", controls))


def test_a_file_of_another_kind_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 0: no known format of labelled steps"):
        load_samples(write_jsonl(tmp_path / "a.jsonl", [{"gold": "1"}]))
    with pytest.raises(DataError, match="format: expected one of steps, prm800k"):
        load_samples(write_jsonl(tmp_path / "a.jsonl", [GOOD]), format="csv")  # type: ignore[arg-type]


def test_rows_of_another_format_than_the_one_given(tmp_path: Path) -> None:
    with pytest.raises(StepDataError, match=r"row 0: not of the format prm800k \(AttributeError"):
        load_samples(write_jsonl(tmp_path / "a.jsonl", [{"question": "q", "label": "l"}]), format="prm800k")


def test_passed_rows_are_counted(tmp_path: Path) -> None:
    completion = {"text": "a", "rating": 0}
    step = {"completions": [completion], "chosen_completion": 0, "human_completion": None}
    row = {"question": {"problem": "p"}, "label": {"steps": [step], "finish_reason": "solution"}}
    broken = {"question": {"problem": "p"}, "label": {"steps": [step], "finish_reason": "bad_problem"}}
    loaded = load_samples(write_jsonl(tmp_path / "a.jsonl", [row, broken]))
    assert (len(loaded.samples), loaded.rows, loaded.passed, loaded.zero) == (1, 2, 1, "right")
    assert loaded.samples[0].targets == (1.0,)


@pytest.mark.parametrize(("labels", "missing"), [([1, 1], "wrong"), ([0, 0], "right"), ([None, None], "right")])
def test_labels_of_one_class_are_refused(tmp_path: Path, labels: list[object], missing: str) -> None:
    loaded = load_samples(write_jsonl(tmp_path / "a.jsonl", [{**GOOD, "labels": labels}]))
    with pytest.raises(DataError, match=rf"training data \(a.jsonl\): no step is labelled {missing} \("):
        require_both(loaded.samples, "training data (a.jsonl)")


def test_both_classes(tmp_path: Path) -> None:
    loaded = load_samples(write_jsonl(tmp_path / "a.jsonl", [GOOD]))
    assert require_both(loaded.samples, "x") == LabelCounts(right=1, wrong=1, unlabelled=0)


def test_rows_in_memory_are_read_as_a_file_is(tmp_path: Path) -> None:
    rows = [GOOD, {**GOOD, "labels": [0, -1]}]
    loaded = samples_from_rows(rows, name="train")
    assert loaded.samples == load_samples(write_jsonl(tmp_path / "a.jsonl", rows)).samples
    assert (loaded.name, loaded.zero, loaded.rows) == ("train", "right", 2)
    trl = [{"prompt": "p", "completions": ["a"], "labels": [True]}, {"prompt": "p", "completions": [], "labels": []}]
    with pytest.raises(StepDataError, match=r"train: 1 row.*\n  row 1: the steps: expected at least one"):
        samples_from_rows(trl, name="train")
    with pytest.raises(DataError, match="rows: there are no rows"):
        samples_from_rows([])


def test_the_public_sets(data: Path) -> None:
    folder = data / "prm"
    if not folder.is_dir():
        pytest.skip("no prm/ in the evaluation data")
    assert load_samples(folder / "processbench_gsm8k.jsonl").counts == LabelCounts(1361, 207, 514)
    assert {sample.subset for sample in load_samples(folder / "processbench_math.jsonl").samples} == {"math"}
    with pytest.raises(StepDataError, match=r"row 342 .*step 15 is empty"):
        load_samples(folder / "prmbench.jsonl")
