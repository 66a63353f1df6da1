"""Two processes by torchrun and gloo train as one does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.train
NEEDED = "needs torch and transformers: pip install markscheme[train]"
torch = pytest.importorskip("torch", reason=NEEDED)
pytest.importorskip("transformers", reason=NEEDED)

import prm_processes  # noqa: E402
from markscheme.verifiers.errors import DataError  # noqa: E402


@pytest.fixture(scope="module")
def together(backbone_folder, tmp_path_factory) -> Path:
    """What two processes found and trained."""
    out = tmp_path_factory.mktemp("two")
    script = Path(prm_processes.__file__)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.Popen(
        [*launch, str(script), str(backbone_folder), str(out), "2"],
        env={
            **os.environ,
            "ACCELERATE_USE_CPU": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(script.parent), *filter(None, sys.path)]),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = done.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGKILL)
        raise
    assert done.returncode == 0, said[-3000:]
    return out


@pytest.mark.parametrize("how", ["padded", "packed"])
@pytest.mark.filterwarnings("ignore::markscheme.prm.LostStepsWarning")
def test_two_processes_train_and_measure_as_one(backbone_folder, together, tmp_path, how):
    alone, weights = prm_processes.train(str(backbone_folder), tmp_path, 1, packing=how == "packed")
    assert alone.pop("world") == 1
    assert alone["lost"] > 0
    for rank in range(2):
        found, held = torch.load(together / f"{how}-{rank}.pt")
        assert found.pop("world") == 2
        assert max(float((held[name] - weights[name]).abs().max()) for name in weights) < 1e-6
        assert found == pytest.approx(alone, abs=1e-5)
    assert alone["eval_toy_solutions"] == 7, "an odd number: the row that fills the last batch counts once"
    assert (together / how / "prm_config.json").exists()


def test_a_process_that_trains_alone_by_mistake_is_told(settings):
    with pytest.raises(
        DataError, match="expected 2 processes to train together, found 1; on CPUs launch with `ACCELERATE"
    ):
        settings(processes=2)
