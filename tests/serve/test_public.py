"""What the package exports, and what importing it loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import markscheme.serve


def test_what_is_exported_is_there() -> None:
    pytest.importorskip("fastapi", reason="needs FastAPI: pip install markscheme[serve]")
    assert markscheme.serve.__all__ == sorted(markscheme.serve.__all__) == dir(markscheme.serve)
    for name in markscheme.serve.__all__:
        assert getattr(markscheme.serve, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = markscheme.serve.nothing


def test_the_command_line_loads_no_server_until_it_is_asked() -> None:
    code = (
        "import sys, markscheme.cli.main, markscheme.serve\n"
        "print([one for one in ('fastapi', 'uvicorn', 'sympy', 'jinja2') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
