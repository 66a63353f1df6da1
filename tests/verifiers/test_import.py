from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

import markscheme.verifiers


def loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_no_library() -> None:
    loaded = loaded_by("import markscheme.verifiers")
    assert loaded.isdisjoint({"sympy", "torch", "pydantic", "mpmath", "transformers", "rich", "latex2sympy2_extended"})


def test_a_verdict_on_plain_numbers_loads_no_algebra() -> None:
    loaded = loaded_by("from markscheme.verifiers import MathVerifier\nMathVerifier().verify_answer('58,500', '58500')")
    assert "pydantic" in loaded
    assert loaded.isdisjoint({"sympy", "torch", "mpmath"})


def test_all_is_alphabetical_and_what_is_exported() -> None:
    exported = markscheme.verifiers.__all__
    assert exported == sorted(exported)
    assert dir(markscheme.verifiers) == exported
    fresh = importlib.import_module("markscheme.verifiers")
    for name in exported:
        assert getattr(fresh, name) is not None
    assert set(markscheme.verifiers._HOMES) == set(exported)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = fresh.no_such_name
