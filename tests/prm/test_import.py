from __future__ import annotations

import json
import subprocess
import sys

import pytest

import markscheme.prm


def loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_no_library() -> None:
    assert loaded_by("import markscheme.prm").isdisjoint({"torch", "transformers", "pydantic", "numpy", "tokenizers"})


def test_data_metrics_and_calibration_need_neither_torch_nor_numpy() -> None:
    used = "from markscheme.prm import StepEncoder, StepSample, choose_threshold, fit_isotonic, load_samples\n"
    used += "import markscheme.prm.evaluation, markscheme.prm.judging, markscheme.prm.metrics.bestofn"
    assert loaded_by(used).isdisjoint({"torch", "transformers", "numpy", "matplotlib", "sympy"})


def test_all_is_alphabetical_and_what_is_exported() -> None:
    exported = markscheme.prm.__all__
    assert exported == sorted(exported)
    assert dir(markscheme.prm) == exported
    assert set(markscheme.prm._HOMES) == set(exported)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = markscheme.prm.no_such_name


def test_every_name_is_there() -> None:
    pytest.importorskip("torch", reason="needs torch: pip install markscheme[train]")
    for name in markscheme.prm.__all__:
        assert getattr(markscheme.prm, name) is not None
