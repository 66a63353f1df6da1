from __future__ import annotations

import json
import subprocess
import sys

from markscheme.prm import labels


def test_all_is_alphabetical_and_every_name_is_there() -> None:
    assert labels.__all__ == sorted(labels.__all__, key=str) == dir(labels)
    for name in labels.__all__:
        assert getattr(labels, name) is not None
    assert callable(labels.audit)


def test_labelers_need_no_torch() -> None:
    script = "from markscheme.prm.labels import *\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)).isdisjoint({"torch", "transformers", "numpy", "sympy"})
