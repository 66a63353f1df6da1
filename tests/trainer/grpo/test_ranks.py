"""Two processes do what one does, groups that span them included."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tinytraining import MARKS

import tinyranks  # isort: skip

torch = pytest.importorskip("torch")
pytestmark = MARKS

SCRIPT = Path(tinyranks.__file__)
LOSSES = ["grpo", "dapo", "dr_grpo", "bnpo"]


def under_torchrun(policy: Path, folder: Path, ranks: int) -> dict[str, Any]:
    output = folder / f"{ranks}.pt"
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)]
    environment = {
        **os.environ,
        "ACCELERATE_USE_CPU": "1",  # `accelerate launch` would start one process, silently
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(SCRIPT.parent), *filter(None, sys.path)]),
    }
    command = [sys.executable, *launcher, str(SCRIPT), str(policy), str(output), str(ranks)]
    with (folder / f"{ranks}.log").open("w+") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait(timeout=600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # torchrun's workers too
            code = process.wait()
        assert code == 0, Path(log.name).read_text()[-4000:]
    return torch.load(output, weights_only=True)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def both(policy: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("ranks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
        one = tinyranks.alone(policy, folder / "alone")
    return one, under_torchrun(policy, folder, 2)


def test_there_are_two_ranks(both: Any) -> None:
    assert [{arm["world"] for arm in of.values()} for of in both] == [{1}, {2}]


@pytest.mark.parametrize("arm", ["process", "both", "first_error", "overlapped", "refilled"])
def test_groups_that_span_ranks_get_the_advantages_of_one_process(both: Any, arm: str) -> None:
    one, two = (of[arm] for of in both)
    assert len(one["advantages"]) == 24 and one["advantages"] == two["advantages"]
    assert two["logged"] == pytest.approx(one["logged"], abs=1e-6) and len(set(one["logged"])) > 12
    assert one["count"] == two["count"] > 1
    assert one["change"].abs().max() > 1e-3
    assert float((one["change"] - two["change"]).abs().max()) < 1e-6


def test_overlap_changes_nothing(both: Any) -> None:
    for of in both:
        assert of["overlapped"]["advantages"] == of["both"]["advantages"]
        assert torch.equal(of["overlapped"]["change"], of["both"]["change"])


def test_ranks_refill_in_as_many_rounds_from_the_same_prompts(both: Any) -> None:
    one, two = (of["refilled"] for of in both)
    for key in ("prompts", "numbers", "refilled", "generated"):
        assert one[key] == two[key], key
    assert one["refilled"]["refill/rounds"] == 3 and one["refilled"]["refill/live_frac"] == 1.0
    assert [f"{int(n)}+{int(n)}=" for n in one["numbers"]] == one["prompts"]
    assert not {0, 1, 4, 6} & {*one["numbers"]} and one["numbers"][16:] == [2] * 8


@pytest.mark.parametrize("loss", LOSSES)
def test_unequal_dead_groups_leave_the_gradient_as_trls(both: Any, loss: str) -> None:
    culled, whole = both[1][f"culled {loss}"], both[1][f"culled {loss}, not culled"]
    assert culled["advantages"] == whole["advantages"] and whole["culled"] is None
    assert whole["change"].abs().max() > 1e-3
    assert float((culled["change"] - whole["change"]).abs().max()) <= 1e-6
    live = [advantage != 0 for advantage in culled["advantages"]]
    # All live rows are the first rank's; the second keeps as many of its dead ones.
    assert 2 < sum(live) <= 8 and not any(live[12:])
    assert culled["culled"] == pytest.approx(1 - sum(live) / 12)


def test_a_run_is_taken_up_between_two_generations(both: Any) -> None:
    run = both[1]["taken up"]
    assert len(set(run["whole"])) == 4
    assert run["again"] == pytest.approx(run["whole"], abs=1e-6)
