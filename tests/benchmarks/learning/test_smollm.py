"""The run on word problems: rewards, going on, cutting short, and the whole of it in its quick form."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs TRL: pip install markscheme[train]")
pytest.importorskip("matplotlib", reason="needs matplotlib: pip install markscheme[bench]")

from markscheme.benchmarks.learning.campaign import Log
from markscheme.benchmarks.learning.smollm import main
from markscheme.benchmarks.learning.units import Unit
from markscheme.benchmarks.learning.words.draw import evaluation
from markscheme.benchmarks.learning.words.figures import moving
from markscheme.benchmarks.learning.words.model import example, load_tokenizer, model_folder, prompt_ids
from markscheme.benchmarks.learning.words.report import named, report, share
from markscheme.benchmarks.learning.words.settings import ARMS, FULL, QUICK
from markscheme.benchmarks.learning.words.training import Marker, checkpoint, pool, reinforce
from markscheme.benchmarks.learning.words.units import SFT, arm_folder, base_folder, units_of
from markscheme.benchmarks.statistics import wilson
from markscheme.verifiers.errors import DataError

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished quick run."""
    folder = tmp_path_factory.mktemp("smollm")
    assert main(["--quick", "--work", str(folder)]) == 0
    return folder


def test_rewards_stand_at_the_lines_last_tokens(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(model_folder("random", tmp_path))
    (asked,) = [one for one in evaluation(14, templates="seen") if one.source == "boxes_lost"]
    (_, a), (_, b), (_, c) = asked.givens
    lines = [f"The boxes hold {a} * {b} = {a * b + 1}.", "So far.", f"{a * b + 1} - {c} = {a * b + 1 - c}", "#### 1"]
    _, ids = example(asked, "\n".join(lines), tokenizer)
    marker = Marker(tokenizer, [asked], tmp_path / "updates.jsonl", updates=0)
    (steps,) = marker.steps([ids], [0])
    assert [value for _, value in steps] == [0.0, None, 1.0, 0.0]
    ends = [len("\n".join(lines[: n + 1])) for n in range(3)]
    assert [end for end, _ in steps] == [*ends, len(ids) - 1], "a byte is a token; the line feed is its line's"
    right = "\n".join([f"{a} * {b} = {a * b}", f"{a * b} - {c} = {a * b - c}", f"#### {a * b - c}"])
    assert marker.outcome([ids, example(asked, right, tokenizer)[1]], [0, 0]) == [0.0, 1.0]
    assert (tmp_path / "updates.jsonl").read_text() == "", "an update is noted when it has ended"
    marker.close()
    (row,) = [json.loads(line) for line in (tmp_path / "updates.jsonl").read_text().splitlines()]
    assert row["accuracy"] == 0.5
    assert row["tokens"] == marker.tokens == len(ids) + len(right) + 1


def test_the_prompt_opens_the_assistants_turn(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(model_folder("random", tmp_path))
    (asked, *_) = evaluation(1, templates="new")
    assert tokenizer.decode(prompt_ids(asked, tokenizer)) == f"<|user|>{asked.text}<|end|><|assistant|>"


def test_a_larger_pool_begins_with_a_smaller_one(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "answer": f"<<1+{n}={n + 1}>>\n#### {n + 1}"} for n in range(20)]
    file = tmp_path / "gsm8k.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for settings in (QUICK, dataclasses.replace(QUICK, gsm8k=str(file))):
        small, large = (pool(settings, random.Random(1), count) for count in (5, 12))
        assert large[:5] == small
    assert [one.source == "gsm8k" for one, _ in large] == [False, True] * 6


def test_arms_meet_the_same_problems_and_the_same_first_generation(work: Path) -> None:
    done = Log(work / "units.jsonl", QUICK).done
    assert set(done) == {SFT.key, *(unit.key for unit in units_of(QUICK))}
    arms = [one for one in done.values() if one["arm"] != "sft"]
    first = [{**one["curve"][0], "wall_s": 0, "cpu_s": 0} for one in arms]
    assert all(row == first[0] for row in first)
    assert all(one["tokens"] >= QUICK.tokens and not one["cut"] for one in arms)
    assert all(one["updates"] == len(one["curve"]) for one in arms)


def test_the_files_hold_the_figures_of_the_units(work: Path) -> None:
    figures = json.loads((work / "smollm.json").read_text())
    assert figures["command"] == "python -m markscheme.benchmarks.learning.smollm --quick"
    assert list(figures["arms"]) == ["sft", *ARMS]
    assert figures["demonstration"] is True
    both = figures["arms"]["both"]
    assert both["greedy"]["all"]["n"] == 2 * QUICK.evaluated
    assert set(both["greedy"]["all"]["minus"]) == {"sft", "outcome"}
    assert both["greedy"]["kinds"]["new"]["n"] == QUICK.evaluated
    page = (work / "smollm.md").read_text()
    assert "- A demonstration: with one seed an arm nothing is said of what other seeds would give." in page
    assert "Cut short" not in page
    assert "Not ended" not in page
    assert (work / "smollm.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_was_cut_short_says_so_and_can_go_on(work: Path, tmp_path: Path) -> None:
    shutil.copytree(work, tmp_path / "cut")
    cut = tmp_path / "cut"
    for unit in units_of(QUICK):
        shutil.rmtree(arm_folder(cut, unit, QUICK))
    assert main(["--quick", "--steps", "1", "--work", str(cut)]) == 0
    page = (cut / "smollm.md").read_text()
    assert "Cut short at 1 updates by --steps, before the budget of 300 tokens: both, outcome, process." in page
    whole, short = (Log(cut / "units.jsonl", dataclasses.replace(QUICK, steps=n)).done for n in (None, 1))
    unit = units_of(QUICK)[0]
    assert short[unit.key]["updates"] == 1
    assert short[unit.key]["curve"][0]["tokens"] == whole[unit.key]["curve"][0]["tokens"]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # transformers 5 deprecates what TRL 1.16 still sets
def test_an_arm_goes_on_from_its_last_checkpoint(work: Path, tmp_path: Path) -> None:
    unit = Unit("process", 1, QUICK.rate)
    base = base_folder(work, QUICK)
    straight = Log(work / "units.jsonl", QUICK).done[unit.key]
    short = dataclasses.replace(QUICK, steps=1)
    _, first = reinforce(base, "process", 1, short, tmp_path)
    assert (first["updates"], first["cut"]) == (1, True)
    assert checkpoint(tmp_path, QUICK)[1] == 1
    with (tmp_path / "updates.jsonl").open("a") as file:
        file.write(json.dumps({**first["curve"][0], "tokens": 200}) + "\n")  # an update that no checkpoint holds
    _, rest = reinforce(base, "process", 1, QUICK, tmp_path)
    assert rest["updates"] == straight["updates"] > 1
    assert rest["curve"][0] == first["curve"][0]
    assert rest["curve"][1]["tokens"] != 200
    assert checkpoint(tmp_path, short) == (None, 0), "only the last is kept, and it is beyond one update"
    model, again = reinforce(base, "process", 1, QUICK, tmp_path)
    assert again == rest, "an arm that had ended is not trained again"
    assert sum(one.numel() for one in model.parameters()) > 0


def test_what_has_not_ended_is_reported_as_such(work: Path, tmp_path: Path) -> None:
    done = dict(Log(work / "units.jsonl", QUICK).done)
    unit = Unit("both", 1, QUICK.rate)
    done.pop(unit.key)
    figures = report(done, QUICK, "c", work)
    rows = (arm_folder(work, unit, QUICK) / "updates.jsonl").read_text().splitlines()
    assert figures["unfinished"] == {unit.key: {"updates": len(rows), "tokens": json.loads(rows[-1])["tokens"]}}
    assert "both" not in figures["arms"]
    with pytest.raises(DataError, match="the supervised training has not ended"):
        report({}, QUICK, "c", tmp_path)


def test_a_finished_run_is_reported_without_running(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (work / "units.jsonl").read_bytes()
    assert main(["--quick", "--work", str(work), "--out", str(work / "again")]) == 0
    assert (work / "units.jsonl").read_bytes() == before
    assert (work / "again" / "smollm.md").read_bytes() == (work / "smollm.md").read_bytes()
    assert "Right answers on held-out problems" in capsys.readouterr().out


def test_intervals_are_wilsons_for_one_seed_and_over_problems_for_more() -> None:
    assert share([1.0, 0.0, 0.0, 1.0, 1.0], 1)[1:] == wilson(3, 5)
    mean, low, high = share([1.0, 0.5, 0.5, 1.0] * 10, 2)
    assert low < mean == 0.75 < high


def test_moving_means_leave_out_what_is_not_there() -> None:
    assert moving([1.0, None, 3.0, 5.0], 2) == [1.0, 1.0, 3.0, 4.0]
    assert moving([None], 2) == [None]


def test_settings_that_matter_make_another_run() -> None:
    other: dict[str, Any] = {"rate": 1.0, "credit": "min", "steps": 3, "tokens": 7, "seeds": (1, 2), "save_every": 9}
    changed = {name: dataclasses.replace(FULL, **{name: value}) for name, value in other.items()}
    digests = {name: one.digest("process") != FULL.digest("process") for name, one in changed.items()}
    assert digests == {"rate": True, "credit": True, "steps": True, "tokens": True, "seeds": False, "save_every": False}
    assert all(one.digest("sft") == FULL.digest("sft") for one in changed.values())
    paths = {name for name, one in changed.items() if one.path("process") != FULL.path("process")}
    assert paths == {"rate", "credit"}, "a longer run goes on from a shorter one"
    assert changed["credit"].digest("outcome") == FULL.digest("outcome")


def test_a_report_names_files_without_their_folders(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.touch()
    assert [named(value) for value in (str(file), "organisation/model", None, 5)] == [
        "rows.jsonl",
        "organisation/model",
        None,
        5,
    ]


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, said in (
        (["--steps", "0"], "--steps must be above 0, not 0"),
        (["--rate", "-1"], "--rate must be above 0, not -1.0"),
        (["--group", "1"], "--group must be at least 2, not 1"),
        (["--evaluated", "1"], "--evaluated must be at least 2, not 1"),
    ):
        with pytest.raises(SystemExit):
            main(options)
        assert said in capsys.readouterr().err
    assert main(["--quick", "--gsm8k", str(tmp_path / "none.jsonl"), "--work", str(tmp_path)]) == 2
    assert "none.jsonl" in capsys.readouterr().err
    assert main(["--quick", "--report-only", "--work", str(tmp_path)]) == 2
    assert "the supervised training has not ended" in capsys.readouterr().err
